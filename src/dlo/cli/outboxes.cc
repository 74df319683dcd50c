#include "dlo/cli/outboxes.h"

#include <map>
#include <ostream>
#include <utility>

#ifdef DLO_WITH_POSTGRES
#include "dlo/outbox/relay.h"
#include "dlo/postgres/connection.h"
#include "dlo/regex/re2_compiler.h"
#include "dlo/store/postgres/escorts.h"
#endif
#ifdef DLO_WITH_RABBITMQ
#include "dlo/broker/rabbitmq/rabbit_outlet.h"
#include "dlo/broker/rabbitmq/rabbit_publisher.h"
#include "dlo/cli/rabbitmq.h"
#endif

namespace dlo::cli {

#ifdef DLO_WITH_POSTGRES

namespace {

using outbox::Post;
using Outcomes = std::vector<std::optional<Error>>;

bool is_on_rabbitmq(const OutboxSettings& settings) {
  return settings.to.starts_with("amqp:");
}

Result<outbox::Shape> shape_of(const OutboxSettings& settings) {
  auto shape = outbox::find_shape(settings.shape);
  if (!shape) return shape.error();
  if (!settings.table.empty()) {
    if (auto fine = outbox::set_table(*shape, settings.table); !fine) return fine.error();
  }
  for (const auto& [role, column] : settings.columns) {
    if (auto fine = outbox::set_column(*shape, role, column); !fine) return fine.error();
  }
  return shape;
}

/// Where its table is: in a database of its own, or in that of the office.
std::string address_of(const Config& config, const OutboxSettings& settings) {
  return settings.address.empty() ? config.text("office") : settings.address;
}

bool is_with_office(const Config& config, const OutboxSettings& settings) {
  return address_of(config, settings) == config.text("office");
}

Result<void> check(const Config& config, const OutboxSettings& settings) {
  if (auto shape = shape_of(settings); !shape) return shape.error();
  const std::string address = address_of(config, settings);
  if (address.empty()) {
    return Error{Code::invalid_argument, "cli.outboxes",
                 "must say in which database its table is: `postgres: "
                 "postgresql://user@host:5432/database`. It may be left out only where the office "
                 "is in that database (`office`)."};
  }
  if (auto fine = postgres::check_address(address); !fine) return fine.error();
#ifdef DLO_WITH_RABBITMQ
  if (is_on_rabbitmq(settings)) {
    if (auto place = parse_rabbit_target(settings.to); !place) return place.error();
  }
#endif
  return {};
}

/// Rules by message: what differs for sources and event types is worked in, once for each.
outbox::RulesFor rules_for(const ProfileBook& book, const std::string& profile,
                           std::shared_ptr<const RuleBook> usual) {
  auto made = std::make_shared<std::map<std::string, std::shared_ptr<const RuleBook>>>();
  return [book, profile, usual = std::move(usual), made](const Message& message) {
    const std::string key = book.override_key(message);
    if (key.empty()) return usual;
    auto& rules = (*made)[key];
    if (rules != nullptr) return rules;
    rules = usual;
    if (auto found = book.find(profile, message)) {
      if (auto built = RuleBook::build(std::move(*found), re2_compiler())) {
        rules = std::make_shared<const RuleBook>(std::move(*built));
      }
    }
    return rules;
  };
}

Result<outbox::RulesFor> rules_of(const ProfileBook& book, const OutboxSettings& settings) {
  auto profile = book.find(settings.profile);
  if (!profile) return profile.error();
  auto rules = RuleBook::build(std::move(*profile), re2_compiler());
  if (!rules) return rules.error();
  return rules_for(book, settings.profile, std::make_shared<const RuleBook>(std::move(*rules)));
}

#ifdef DLO_WITH_RABBITMQ
outbox::Send rabbit_sender(const RabbitServer& server, const std::string& name) {
  const auto publisher = std::make_shared<RabbitPublisher>(server, "dlo outbox " + name);
  return [publisher](std::span<const Post> posts, Instant) -> Result<Outcomes> {
    Outcomes outcomes(posts.size());
    std::vector<RabbitPost> on_their_way;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < posts.size(); ++i) {
      auto place = parse_rabbit_target(posts[i].target);
      if (!place) {
        outcomes[i] = place.error();
        continue;
      }
      on_their_way.push_back(
          {std::move(place->exchange), std::move(place->routing_key), posts[i].message});
      places.push_back(i);
    }
    if (on_their_way.empty()) return outcomes;
    auto sent = publisher->send(on_their_way);
    if (!sent) return sent.error();
    for (std::size_t i = 0; i < places.size(); ++i) outcomes[places[i]] = std::move((*sent)[i]);
    return outcomes;
  };
}
#endif

/// Into queues of this server. Of one wave no two have a key in common: they may go in any order.
outbox::Send queue_sender(decltype(Outboxes::Parts::send) send, const std::string& name) {
  return [send = std::move(send), who = "outbox " + name](std::span<const Post> posts,
                                                          Instant now) -> Result<Outcomes> {
    Outcomes outcomes(posts.size());
    std::map<std::string, std::vector<std::size_t>> by_queue;
    for (std::size_t i = 0; i < posts.size(); ++i) by_queue[posts[i].target].push_back(i);
    for (const auto& [queue, places] : by_queue) {
      std::vector<Publication> messages;
      for (const std::size_t i : places) {
        auto message = std::make_shared<Message>(*posts[i].message);
        message->source = queue;
        message->enqueued_at = now.wall;
        Publication publication;
        publication.dedupe_id = message->id;
        publication.message = std::move(message);
        messages.push_back(std::move(publication));
      }
      const auto sent = send(queue, messages, who);
      if (!sent && is_retryable(sent.error().code)) return sent.error();
      for (const std::size_t i : places) {
        if (!sent) outcomes[i] = sent.error();
      }
    }
    return outcomes;
  };
}

std::string log_line(const std::string& name, const RelayStatus& status) {
  const std::string start = "dlo: Outbox " + name + ": ";
  switch (status.state) {
    case RelayState::starting:
    case RelayState::stopped:
      return {};
    case RelayState::standby:
      return start + "another relay sends its rows; this one takes over when that is gone.\n";
    case RelayState::database_down:
    case RelayState::broker_down:
      return start + status.trouble + ". It goes on by itself; the office is served meanwhile.\n";
    case RelayState::office_down:
      return start + "the office does not take a dead letter, so its row stays: " + status.trouble +
             "\n";
    case RelayState::relaying:
      break;
  }
  return start + "relaying.\n";
}

}  // namespace

std::vector<ConfigProblem> outbox_problems(const Config& config) {
  std::vector<ConfigProblem> problems;
  for (const OutboxSettings& each : config.outboxes) {
    const auto fine = check(config, each);
    if (fine) continue;
    const std::string path = "outboxes." + each.name;
    const auto section = config.sections.find(path);
    const std::size_t line = section == config.sections.end() ? 0 : section->second;
    problems.push_back({line, path + ": " + fine.error().detail});
  }
  return problems;
}

std::shared_ptr<postgres::Escorts> outbox_escorts(const Config& config) {
  for (const OutboxSettings& each : config.outboxes) {
    if (is_with_office(config, each)) return std::make_shared<postgres::Escorts>();
  }
  return nullptr;
}

class Outboxes::Running {
 public:
  Result<void> start(Context& context, const Config& config, const Parts& parts) {
    for (const OutboxSettings& each : config.outboxes) {
      if (auto made = make(context, config, each, parts); !made) return made;
    }
    for (const auto& each : all_) each.relay->start();
    return {};
  }

  Result<void> use(const ProfileBook& book) {
    std::vector<outbox::RulesFor> rules;
    for (const auto& each : all_) {
      auto found = rules_of(book, each.settings);
      if (!found) {
        return Error{found.error().code, found.error().where,
                     "outboxes." + each.settings.name + ": " + found.error().detail};
      }
      rules.push_back(std::move(*found));
    }
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].relay->use(std::move(rules[i]));
    return {};
  }

  [[nodiscard]] std::vector<api::RelayedSource> list() const {
    std::vector<api::RelayedSource> listed;
    for (const auto& [settings, relay] : all_) {
      RelayStatus status = relay->status();
      const outbox::Shape& shape = relay->options().shape;
      listed.push_back({settings.name, shape.schema + "." + shape.table, shape.name, settings.to,
                        settings.profile, std::string(name_of(status.state)), status.published,
                        status.failures, status.dead, status.waiting, status.share, status.last_at,
                        std::move(status.trouble)});
    }
    return listed;
  }

  void stop() {
    for (const auto& each : all_) each.relay->stop();
  }

 private:
  struct One {
    OutboxSettings settings;
    std::unique_ptr<Relay> relay;
  };

  static Result<outbox::Send> sender_of(const Config& config, const OutboxSettings& settings,
                                        const Parts& parts) {
    if (!is_on_rabbitmq(settings)) return queue_sender(parts.send, settings.name);
#ifdef DLO_WITH_RABBITMQ
    const auto server = rabbit_server(config);
    if (!server) return server.error();
    return rabbit_sender(*server, settings.name);
#else
    (void)config;
    return Error{Code::refused, "cli.outboxes",
                 "This dlo was built without RabbitMQ (DLO_WITH_RABBITMQ)"};
#endif
  }

  Result<void> make(Context& context, const Config& config, const OutboxSettings& settings,
                    const Parts& parts) {
    auto rules = rules_of(config.rules, settings);
    if (!rules) return rules.error();
    auto shape = shape_of(settings);
    if (!shape) return shape.error();
    auto send = sender_of(config, settings, parts);
    if (!send) return send.error();
    RelayOptions options;
    options.name = settings.name;
    options.address = address_of(config, settings);
    options.shape = std::move(*shape);
    options.to = settings.to;
    options.batch = settings.batch;
    options.poll = settings.poll;
    Relay::Parts of_it{parts.office,
                       parts.clock,
                       parts.origin,
                       std::move(*rules),
                       std::move(*send),
                       is_with_office(config, settings) ? parts.escorts : nullptr,
                       {}};
    of_it.told = [&context, name = settings.name](const RelayStatus& status) {
      context.err << log_line(name, status) << std::flush;
    };
    all_.push_back({settings, std::make_unique<Relay>(std::move(options), std::move(of_it))});
    return {};
  }

  std::vector<One> all_;
};

#else

std::vector<ConfigProblem> outbox_problems(const Config& config) {
  std::vector<ConfigProblem> problems;
  for (const OutboxSettings& each : config.outboxes) {
    problems.push_back({config.sections.at("outboxes." + each.name),
                        "outboxes: this dlo was built without PostgreSQL (DLO_WITH_POSTGRES). Take "
                        "it out, or use one that has it."});
  }
  return problems;
}

std::shared_ptr<postgres::Escorts> outbox_escorts(const Config&) {
  return nullptr;
}

class Outboxes::Running {
 public:
  static Result<void> start(Context&, const Config&, const Parts&) {
    return Error{Code::refused, "cli.outboxes",
                 "This dlo was built without PostgreSQL (DLO_WITH_POSTGRES); it has no outboxes"};
  }
  static Result<void> use(const ProfileBook&) { return {}; }
  [[nodiscard]] static std::vector<api::RelayedSource> list() { return {}; }
  static void stop() {}
};

#endif

Outboxes::Outboxes() = default;
Outboxes::~Outboxes() {
  stop();
}

Result<void> Outboxes::start(Context& context, const Config& config, Parts parts) {
  if (config.outboxes.empty()) return {};
  auto running = std::make_unique<Running>();
  if (auto started = running->start(context, config, parts); !started) return started;
  running_ = std::move(running);
  return {};
}

Result<void> Outboxes::use(const ProfileBook& rules) {
  return running_ == nullptr ? Result<void>{} : running_->use(rules);
}

std::vector<api::RelayedSource> Outboxes::list() const {
  return running_ == nullptr ? std::vector<api::RelayedSource>{} : running_->list();
}

void Outboxes::stop() {
  if (running_ != nullptr) running_->stop();
}

}  // namespace dlo::cli
