#include "dlo/cli/consumers.h"

#include <ostream>
#include <utility>

#ifdef DLO_WITH_RABBITMQ
#include "dlo/broker/rabbitmq/rabbit_broker.h"
#include "dlo/broker/rabbitmq/rabbit_publisher.h"
#include "dlo/broker/rabbitmq/rabbit_rights.h"
#include "dlo/cli/done_line.h"
#include "dlo/cli/rabbitmq.h"
#include "dlo/cli/retry_settings.h"
#include "dlo/cli/source_log.h"
#include "dlo/consumer/counting_broker.h"
#include "dlo/consumer/queue_consumer.h"
#include "dlo/consumer/start_marks.h"
#include "dlo/core/malformed.h"
#include "dlo/engine/handlers/validators.h"
#include "dlo/regex/re2_compiler.h"
#endif

namespace dlo::cli {

SourceTimers::SourceTimers(Office& office, const Clock& clock, std::size_t count) : top_(&office) {
  for (std::size_t i = 0; i < count; ++i) {
    timers_.emplace_back(clock);
    top_ = &watching_.emplace_back(*top_, timers_.back());
  }
}

#ifdef DLO_WITH_RABBITMQ

namespace {

constexpr Millis usual_timeout = std::chrono::minutes{5};
constexpr std::size_t usual_at_once = 8;

Error named(const ConsumerSettings& settings, const Error& error) {
  return {error.code, error.where, "sources." + settings.source + ": " + error.detail};
}

Result<Validators> validators_of(const ConsumerSettings& settings) {
  Validators all;
  if (settings.json || !settings.required.empty()) {
    auto json = require_json({});
    if (!json) return json.error();
    all.push_back(std::move(*json));
  }
  if (settings.required.empty()) return all;
  std::vector<FieldRule> rules;
  for (const std::string& path : settings.required) rules.push_back({path, FieldType::any, ""});
  auto fields = require_fields(std::move(rules));
  if (!fields) return fields.error();
  all.push_back(std::move(*fields));
  return all;
}

Result<std::shared_ptr<const RuleBook>> rules_of(const ProfileBook& book,
                                                 const ConsumerSettings& settings) {
  auto profile = book.find(settings.profile, settings.source);
  if (!profile) return profile.error();
  if (settings.inner.retries > 0) profile->inner = settings.inner;
  profile->invalid = invalid_at(profile->invalid, settings.drops_invalid);
  auto rules = RuleBook::build(std::move(*profile), re2_compiler());
  if (!rules) return rules.error();
  return std::make_shared<const RuleBook>(std::move(*rules));
}

Result<HandlerTable> handlers_of(const ConsumerSettings& settings) {
  auto handler = make_handler(settings.handler, settings.handler.timeout.value_or(usual_timeout));
  if (!handler) return handler.error();
  HandlerOptions guarded;
  guarded.name = settings.handler.name;
  guarded.breaker = settings.handler.circuit;
  guarded.timeout = settings.handler.timeout;
  guarded.at_once = settings.handler.at_once;
  HandlerTable table;
  table.set_default(std::move(*handler), std::move(guarded));
  return table;
}

std::string log_line(const std::string& source, const ConsumerStatus& status) {
  const std::string start = "dlo: Source " + source + ": ";
  switch (status.state) {
    case ConsumerState::starting:
    case ConsumerState::stopped:
      return {};
    case ConsumerState::paused:
      return start + "paused; its messages stay in their queue.\n";
    case ConsumerState::broker_down:
      return start + status.trouble + ". It goes on by itself; the office is served meanwhile.\n";
    case ConsumerState::office_down:
      return start +
             "the office takes nothing, so what failed stays in its queue and nothing more is "
             "taken: " +
             status.trouble + "\n";
    case ConsumerState::copies_refused:
      return start + "its dead-letter queue takes nothing, so what died stays in its queue: " +
             status.trouble + "\n";
    case ConsumerState::working:
      break;
  }
  return start + "working.\n";
}

/// Whether somebody paused it, perhaps while another server ran.
Result<bool> was_paused(Office& office, const std::string& source) {
  Ledger* const ledger = office.extras().ledger;
  if (ledger == nullptr) return false;
  const auto found = ledger->document(api::paused_kind, source);
  if (!found) return found.error();
  return found->has_value();
}

}  // namespace

std::vector<ConfigProblem> consumer_problems(const Config& config) {
  std::vector<ConfigProblem> problems;
  for (const ConsumerSettings& each : config.consumers) {
    const auto line = config.sections.find("sources." + each.source);
    const auto complain = [&](const Error& error) {
      problems.push_back(
          {line == config.sections.end() ? 0 : line->second, named(each, error).detail});
    };
    if (const auto handlers = handlers_of(each); !handlers) complain(handlers.error());
    if (const auto validators = validators_of(each); !validators) complain(validators.error());
    if (const auto done = done_line(each.log_done); !done) complain(done.error());
    if (const auto rules = rules_of(config.rules, each); !rules) complain(rules.error());
  }
  return problems;
}

class Consumers::Running {
 public:
  Running() = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Result<void> start(Context& context, const Config& config, const Parts& parts) {
    auto server = rabbit_server(config);
    if (!server) return server.error();
    server_ = std::move(*server);
    grace_ = config.duration("server.drain");
    log_ = std::make_unique<SourceLog>(context.err);
    for (std::size_t i = 0; i < config.consumers.size(); ++i) {
      const ConsumerSettings& settings = config.consumers[i];
      if (auto made = make(config, settings, parts, parts.timers.timer(i)); !made) {
        return named(settings, made.error());
      }
    }
    for (const auto& each : all_) {
      const auto paused = was_paused(parts.office, each->settings.source);
      if (!paused) return paused.error();
      if (auto started = each->consumer->start(*paused); !started) return started;
    }
    return {};
  }

  Result<void> use(const ProfileBook& book) {
    std::vector<std::shared_ptr<const RuleBook>> rules;
    for (const auto& each : all_) {
      auto found = rules_of(book, each->settings);
      if (!found) return named(each->settings, found.error());
      rules.push_back(std::move(*found));
    }
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->consumer->use(std::move(rules[i]));
    return {};
  }

  [[nodiscard]] std::vector<api::ConsumedSource> list() const {
    std::vector<api::ConsumedSource> listed;
    for (const auto& each : all_) {
      const ConsumerSettings& settings = each->settings;
      ConsumerStatus status = each->consumer->status();
      listed.push_back({settings.source, "rabbitmq", settings.queue,
                        settings.handler.kind + " " + settings.handler.name, settings.profile,
                        settings.dead_letter_queue, std::string(name_of(status.state)),
                        status.paused, status.received, status.succeeded, status.retried,
                        status.dead, status.repeated, status.dropped, status.in_flight,
                        std::move(status.trouble)});
    }
    return listed;
  }

  void pause(const std::string& source, bool paused) {
    for (const auto& each : all_) {
      if (each->settings.source == source) each->consumer->pause(paused);
    }
  }
  void look_for_owed() {
    for (const auto& each : all_) each->consumer->look_for_owed();
  }
  void ask_to_stop() {
    for (const auto& each : all_) each->consumer->ask_to_stop();
  }
  void stop() {
    ask_to_stop();
    for (const auto& each : all_) each->consumer->stop();
    for (const auto& each : all_) {
      if (each->copies) each->copies->close();
    }
  }

  ~Running() { stop(); }

 private:
  struct One {
    ConsumerSettings settings;
    std::unique_ptr<RabbitPublisher> copies;  // null: it has no dead-letter queue
    std::unique_ptr<QueueConsumer> consumer;  // last: it uses the others
  };

  [[nodiscard]] RabbitOptions options_of(const ConsumerSettings& settings) const {
    RabbitOptions options;
    options.server = server_;
    options.queue = settings.queue;
    options.source = settings.source;
    options.event_type = settings.event_type;
    options.prefetch = static_cast<std::uint16_t>(settings.prefetch);
    options.requeues = true;  // the office keeps the counts
    return options;
  }

  static Result<std::unique_ptr<Broker>> opened(const RabbitOptions& options, Office& office,
                                                const Clock& clock,
                                                const consumer::Starts& starts) {
    auto broker = RabbitBroker::open(options);
    if (!broker) return broker.error();
    auto counting =
        std::make_unique<CountingBroker>(std::move(*broker), office, options.source, starts);
    if (const auto swept = counting->sweep(clock.now()); !swept) return swept.error();
    return std::unique_ptr<Broker>(std::move(counting));
  }

  /// Without its marks a source works, and a message that kills the server is not found out here.
  [[nodiscard]] consumer::Starts starts_of(const ConsumerSettings& settings, const Parts& parts) {
    consumer::Starts starts{nullptr, parts.shared};
    if (parts.data.empty()) return starts;
    auto marks =
        consumer::StartMarks::open_in(parts.data + "/running", settings.source, parts.clock.now());
    if (marks) {
      starts.marks = std::move(*marks);
    } else {
      log_->write("dlo: Source " + settings.source +
                  ": what runs is not marked, so a message that kills this server is not "
                  "recognised by the next one: " +
                  marks.error().detail + "\n");
    }
    return starts;
  }

  static SendCopies sender_to(RabbitPublisher& publisher, const std::string& queue) {
    return [&publisher, queue](std::span<const MessagePtr> copies) {
      std::vector<RabbitPost> posts;
      posts.reserve(copies.size());
      for (const MessagePtr& each : copies) posts.push_back({"", queue, each, nullptr});
      return publisher.send(posts);
    };
  }

  Result<void> make(const Config& config, const ConsumerSettings& settings, const Parts& parts,
                    DueTimer& timer) {
    auto rules = rules_of(config.rules, settings);
    if (!rules) return rules.error();
    auto handlers = handlers_of(settings);
    if (!handlers) return handlers.error();
    auto validators = validators_of(settings);
    if (!validators) return validators.error();
    auto done = done_line(settings.log_done);
    if (!done) return done.error();
    const RabbitOptions options = options_of(settings);
    if (auto fine = check(options); !fine) return fine;
    auto one = std::make_unique<One>();
    one->settings = settings;
    ConsumerOptions wanted;
    wanted.source = settings.source;
    wanted.origin = parts.origin;
    wanted.at_once = settings.handler.at_once == 0 ? usual_at_once : settings.handler.at_once;
    wanted.in_flight = settings.prefetch;
    wanted.timeout = settings.handler.timeout.value_or(usual_timeout);
    wanted.grace = grace_;
    consumer::CopyForm form{settings.queue, (*rules)->profile().form == "booking"};
    QueueConsumer::Parts of_it{
        [options, &office = parts.office, &clock = parts.clock,
         starts = starts_of(settings, parts)] { return opened(options, office, clock, starts); },
        parts.office,
        timer,
        parts.clock,
        std::move(*handlers),
        std::move(*validators),
        std::move(*rules),
        {},
        std::move(form),
        {},
        {},
        std::move(*done)};
    if (!settings.dead_letter_queue.empty()) {
      one->copies = std::make_unique<RabbitPublisher>(
          server_, "dlo copies to queue \"" + settings.dead_letter_queue + "\"");
      of_it.copies = sender_to(*one->copies, settings.dead_letter_queue);
    }
    of_it.told = [this, source = settings.source](const ConsumerStatus& status) {
      log_->write(log_line(source, status));
    };
    of_it.log = [this, source = settings.source](const std::string& line) {
      log_->write_some("dlo: Source " + source + ": " + line + "\n");
    };
    one->consumer = std::make_unique<QueueConsumer>(std::move(wanted), std::move(of_it));
    all_.push_back(std::move(one));
    return {};
  }

  RabbitServer server_;
  Millis grace_{0};
  std::unique_ptr<SourceLog> log_;
  std::vector<std::unique_ptr<One>> all_;
};

#else

std::vector<ConfigProblem> consumer_problems(const Config&) {
  return {};
}

class Consumers::Running {
 public:
  static Result<void> start(Context&, const Config&, const Parts&) {
    return Error{Code::refused, "cli.consumers",
                 "This dlo was built without RabbitMQ (DLO_WITH_RABBITMQ); nothing can be handled"};
  }
  static Result<void> use(const ProfileBook&) { return {}; }
  [[nodiscard]] static std::vector<api::ConsumedSource> list() { return {}; }
  static void pause(const std::string&, bool) {}
  static void look_for_owed() {}
  static void ask_to_stop() {}
  static void stop() {}
};

#endif

Consumers::Consumers() = default;
Consumers::~Consumers() {
  stop();
}

Result<void> Consumers::start(Context& context, const Config& config, Parts parts) {
  if (config.consumers.empty()) return {};
  running_ = std::make_unique<Running>();
  auto started = running_->start(context, config, parts);
  if (!started) running_.reset();  // what it uses may be gone before this is
  return started;
}

Result<void> Consumers::use(const ProfileBook& rules) {
  return running_ == nullptr ? Result<void>{} : running_->use(rules);
}

std::vector<api::ConsumedSource> Consumers::list() const {
  return running_ == nullptr ? std::vector<api::ConsumedSource>{} : running_->list();
}

void Consumers::pause(const std::string& source, bool paused) {
  if (running_ != nullptr) running_->pause(source, paused);
}

void Consumers::look_for_owed() {
  if (running_ != nullptr) running_->look_for_owed();
}

void Consumers::ask_to_stop() {
  if (running_ != nullptr) running_->ask_to_stop();
}

void Consumers::stop() {
  if (running_ != nullptr) running_->stop();
}

api::ConsumedSources consumed_sources(const Config& config, Consumers& consumers) {
  api::ConsumedSources sources;
  if (config.consumers.empty()) return sources;
  for (const ConsumerSettings& each : config.consumers) sources.names.push_back(each.source);
  sources.list = [&consumers] { return consumers.list(); };
#ifdef DLO_WITH_RABBITMQ
  sources.may_send = [&config]() -> Result<void> {
    const auto server = rabbit_server(config);
    if (!server) return server.error();
    return may_send_to_queues(*server);
  };
#endif
  sources.pause = [&consumers](const std::string& source, bool paused) {
    consumers.pause(source, paused);
  };
  return sources;
}

}  // namespace dlo::cli
