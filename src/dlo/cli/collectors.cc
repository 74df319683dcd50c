#include "dlo/cli/collectors.h"

#include <ostream>
#include <utility>

#ifdef DLO_WITH_RABBITMQ
#include <fstream>

#include "dlo/broker/rabbitmq/rabbit_broker.h"
#include "dlo/broker/rabbitmq/rabbit_outlet.h"
#include "dlo/cli/rabbitmq.h"
#include "dlo/collector/collector.h"
#include "dlo/collector/letter.h"
#include "dlo/regex/re2_compiler.h"
#endif

namespace dlo::cli {

#ifdef DLO_WITH_RABBITMQ

namespace {

/// As it may stand in an address.
std::string escaped(const std::string& text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    const auto byte = static_cast<unsigned char>(c);
    if (plain) out += c;
    if (!plain) out += {'%', digits[byte >> 4U], digits[byte & 0xFU]};
  }
  return out;
}

Result<std::string> password_in(const std::string& path) {
  std::ifstream file(path);
  std::string password;
  std::getline(file, password);
  if (password.ends_with('\r')) password.pop_back();
  if (!file.bad() && !password.empty()) return password;
  return Error{Code::invalid_argument, "cli.rabbitmq",
               "rabbitmq.password_file \"" + path +
                   "\" cannot be read or is empty. Its first line is the password; it must be "
                   "readable by this server."};
}

Result<std::shared_ptr<const RuleBook>> rules_for(const ProfileBook& book, const std::string& name,
                                                  const std::string& source) {
  auto profile = book.find(name, source);
  if (!profile) return profile.error();
  auto rules = RuleBook::build(std::move(*profile), re2_compiler());
  if (!rules) return rules.error();
  return std::make_shared<const RuleBook>(std::move(*rules));
}

std::string log_line(const std::string& name, const CollectorStatus& status) {
  const std::string start = "dlo: Collector " + name + ": ";
  switch (status.state) {
    case CollectorState::starting:
    case CollectorState::stopped:
      return {};
    case CollectorState::broker_down:
      return start + status.trouble + ". It goes on by itself; the office is served meanwhile.\n";
    case CollectorState::office_down:
      return start +
             "the office does not take what was read, so it stays in its queue: " + status.trouble +
             "\n";
    case CollectorState::collecting:
      break;
  }
  return start + (status.trouble.empty() ? "collecting." : status.trouble) + "\n";
}

}  // namespace

Result<RabbitServer> rabbit_server(const Config& config) {
  RabbitServer server;
  server.address = config.text("rabbitmq.address");
  server.heartbeat =
      std::chrono::duration_cast<std::chrono::seconds>(config.duration("rabbitmq.heartbeat"));
  server.confirm_within = config.duration("rabbitmq.confirm_within");
  server.tls = {config.text("rabbitmq.ca_file"), config.text("rabbitmq.certificate_file"),
                config.text("rabbitmq.key_file"), config.flag("rabbitmq.verify")};
  if (const std::string& file = config.text("rabbitmq.password_file"); !file.empty()) {
    const auto place = rabbitmq::parse_address(server.address);
    if (!place) return place.error();
    const auto password = password_in(file);
    if (!password) return password.error();
    const bool is_ipv6 = place->host.find(':') != std::string::npos;
    server.address = (place->secure ? "amqps://" : "amqp://") + escaped(place->user) + ":" +
                     escaped(*password) + "@" + (is_ipv6 ? "[" + place->host + "]" : place->host) +
                     ":" + std::to_string(place->port) + "/" + escaped(place->vhost);
  }
  if (auto fine = check(server); !fine) return fine.error();
  return server;
}

std::vector<ConfigProblem> rabbitmq_problems(const Config& config) {
  if (config.text("rabbitmq.address").empty()) return {};
  const auto server = rabbit_server(config);
  if (server) return {};
  return {{config.origin("rabbitmq.address").line, "rabbitmq.address: " + server.error().detail}};
}

Result<OutsideTargets> rabbitmq_targets(const Config& config) {
  if (config.text("rabbitmq.address").empty()) return OutsideTargets{};
  auto server = rabbit_server(config);
  if (!server) return server.error();
  RabbitSources sources;
  for (const CollectorSettings& each : config.collectors) {
    sources.sources.insert(each.source);
    sources.dead_letters.insert(each.queue);
  }
  for (const ConsumerSettings& each : config.consumers) sources.queues[each.source] = each.queue;
  const auto outlet = std::make_shared<RabbitOutlet>(std::move(*server), std::move(sources));
  OutsideTargets targets;
  targets.covers = [outlet](const std::string& target) { return outlet->covers(target); };
  targets.check = [outlet](const std::string& target) { return outlet->check(target); };
  targets.send = [outlet](const std::string& target, std::span<const Publication> messages,
                          TimePoint) { return outlet->send(target, messages); };
  targets.strip = collector::death_headers();
  return targets;
}

class Collectors::Running {
 public:
  Result<void> start(Context& context, const Config& config, const Parts& parts) {
    const auto server = rabbit_server(config);
    if (!server) return server.error();
    for (const CollectorSettings& each : config.collectors) {
      if (auto made = make(context, config, *server, each, parts); !made) return made;
    }
    for (const auto& each : all_) each->collector->start();
    return {};
  }

  Result<void> use(const ProfileBook& book) {
    std::vector<std::shared_ptr<const RuleBook>> rules;
    for (const auto& each : all_) {
      auto found = rules_for(book, each->settings.profile, each->settings.source);
      if (!found) {
        return Error{found.error().code, found.error().where,
                     "collectors." + each->settings.name + ": " + found.error().detail};
      }
      rules.push_back(std::move(*found));
    }
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->collector->use(std::move(rules[i]));
    return {};
  }

  [[nodiscard]] std::vector<api::CollectedSource> list() const {
    std::vector<api::CollectedSource> listed;
    for (const auto& each : all_) {
      const CollectorSettings& settings = each->settings;
      CollectorStatus status = each->collector->status();
      listed.push_back({settings.source, settings.name, "rabbitmq", settings.queue,
                        settings.profile, std::string(name_of(status.state)), status.collected,
                        status.repeats, status.refused, status.last_at, std::move(status.trouble)});
    }
    return listed;
  }

  void stop() {
    for (const auto& each : all_) each->collector->stop();
  }

 private:
  struct One {
    CollectorSettings settings;
    std::unique_ptr<RabbitBroker> broker;
    std::unique_ptr<Collector> collector;  // last: it uses the broker
  };

  Result<void> make(Context& context, const Config& config, const RabbitServer& server,
                    const CollectorSettings& settings, const Parts& parts) {
    auto rules = rules_for(config.rules, settings.profile, settings.source);
    if (!rules) return rules.error();
    RabbitOptions options;
    options.server = server;
    options.queue = settings.queue;
    options.source = settings.source;
    options.prefetch = static_cast<std::uint16_t>(config.count("rabbitmq.prefetch"));
    auto broker = RabbitBroker::open(options);
    if (!broker) return broker.error();
    auto one = std::make_unique<One>();
    one->settings = settings;
    one->broker = std::move(*broker);
    CollectorOptions wanted;
    wanted.name = settings.name;
    wanted.queue = settings.queue;
    wanted.source = settings.source;
    wanted.origin = settings.origin;
    wanted.batch = std::max<std::size_t>(1, options.prefetch / 2);
    Collector::Parts of_it{*one->broker, parts.office,      parts.clock,
                           parts.origin, std::move(*rules), {}};
    of_it.told = [&context, name = settings.name](const CollectorStatus& status) {
      context.err << log_line(name, status) << std::flush;
    };
    one->collector = std::make_unique<Collector>(std::move(wanted), std::move(of_it));
    all_.push_back(std::move(one));
    return {};
  }

  std::vector<std::unique_ptr<One>> all_;
};

#else

std::vector<ConfigProblem> rabbitmq_problems(const Config& config) {
  if (config.text("rabbitmq.address").empty()) return {};
  return {
      {config.origin("rabbitmq.address").line,
       "rabbitmq.address: this dlo was built without RabbitMQ (DLO_WITH_RABBITMQ). Take it out, "
       "or use one that has it."}};
}

Result<OutsideTargets> rabbitmq_targets(const Config&) {
  return OutsideTargets{};
}

class Collectors::Running {
 public:
  static Result<void> start(Context&, const Config&, const Parts&) {
    return Error{
        Code::refused, "cli.collectors",
        "This dlo was built without RabbitMQ (DLO_WITH_RABBITMQ); nothing can be collected"};
  }
  static Result<void> use(const ProfileBook&) { return {}; }
  [[nodiscard]] static std::vector<api::CollectedSource> list() { return {}; }
  static void stop() {}
};

#endif

Collectors::Collectors() = default;
Collectors::~Collectors() {
  stop();
}

Result<void> Collectors::start(Context& context, const Config& config, Parts parts) {
  if (config.collectors.empty()) return {};
  auto running = std::make_unique<Running>();
  if (auto started = running->start(context, config, parts); !started) return started;
  running_ = std::move(running);
  return {};
}

Result<void> Collectors::use(const ProfileBook& rules) {
  return running_ == nullptr ? Result<void>{} : running_->use(rules);
}

std::vector<api::CollectedSource> Collectors::list() const {
  return running_ == nullptr ? std::vector<api::CollectedSource>{} : running_->list();
}

void Collectors::stop() {
  if (running_ != nullptr) running_->stop();
}

}  // namespace dlo::cli
