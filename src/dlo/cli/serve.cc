#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <ostream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "dlo/access/token_book.h"
#include "dlo/api/service.h"
#include "dlo/cli/audit_head.h"
#include "dlo/cli/collectors.h"
#include "dlo/cli/config_file.h"
#include "dlo/cli/consumers.h"
#include "dlo/cli/entity_effects.h"
#include "dlo/cli/last_look.h"
#include "dlo/cli/membership.h"
#include "dlo/cli/open_office.h"
#include "dlo/cli/open_queues.h"
#include "dlo/cli/outboxes.h"
#include "dlo/cli/reloader.h"
#include "dlo/cli/retry_settings.h"
#include "dlo/cli/server_note.h"
#include "dlo/cli/signals.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/unserved.h"
#include "dlo/engine/clock.h"
#include "dlo/regex/re2_compiler.h"
#include "dlo/server/http_server.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

constexpr std::chrono::hours between_heads{1};

Result<HttpOptions> http_options(const Config& config, const ServeArguments& arguments) {
  const std::string& listen =
      arguments.listen.empty() ? config.text("server.listen") : arguments.listen;
  const auto address = parse_address(listen);
  if (!address) return address.error();
  HttpOptions options;
  options.host = address->host;
  options.port = address->port;
  options.io_threads = config.count("server.io_threads");
  options.header_limit = static_cast<std::uint32_t>(config.count("server.max_header"));
  options.body_limit = config.count("server.max_body");
  options.max_body_memory = config.count("server.max_body_memory");
  options.max_connections = config.count("server.max_connections");
  options.idle_timeout = config.duration("server.idle_timeout");
  options.header_timeout = config.duration("server.header_timeout");
  options.body_timeout = config.duration("server.body_timeout");
  options.write_timeout = config.duration("server.write_timeout");
  options.certificate = config.text("tls.certificate");
  options.key = config.text("tls.key");
  options.handshake_timeout = config.duration("tls.handshake_timeout");
  options.handshake_threads = config.count("tls.handshake_threads");
  options.hsts = config.duration("tls.hsts");
  return options;
}

/// Beyond loopback a server is open to whoever reaches it: refusing to start beats that.
Result<void> check_exposure(Office& office, const HttpOptions& options, bool plain_http,
                            TimePoint now) {
  if (is_loopback(options.host)) return {};
  const auto tokens = TokenBook(office).required(now);
  if (!tokens) return tokens.error();
  if (!*tokens) {
    return Error{Code::refused, "cli.serve",
                 "Refusing to listen on '" + options.host +
                     "': without access tokens anybody who reaches it could read and change "
                     "messages. Make one first (`dlo token create NAME --role admin`), or use "
                     "127.0.0.1, ::1 or localhost."};
  }
  if (plain_http || !options.certificate.empty()) return {};
  return Error{Code::refused, "cli.serve",
               "Refusing to listen on '" + options.host +
                   "' without encryption: tokens and messages could be read on the way. Give it a "
                   "certificate (--tls-certificate FILE --tls-key FILE), listen on loopback behind "
                   "a proxy that speaks TLS, or say --plain-http."};
}

/// Ten thousand connections need as many descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

/// What the configuration says of the service.
api::ServiceOptions service_options(const Context& context, const Config& config,
                                    const OpenedOffice& opened, const std::string& host) {
  api::ServiceOptions chosen;
  chosen.tokens_always = !is_loopback(host);
  chosen.origin.node = node_name(config);
  chosen.version = context.version;
  chosen.rules = config.rules;
  chosen.redirects = config.redirects;
  chosen.masked = opened.masked;
  chosen.rate = static_cast<std::uint32_t>(config.count("access.rate"));
  chosen.regex = re2_compiler();
  chosen.create_queues = config.flag("server.create_queues");
  chosen.discard_grace = config.duration("discard.grace");
  chosen.keep_jobs = config.duration("jobs.keep");
  chosen.quick_threads = config.count("server.workers");
  chosen.slow_threads = config.count("server.slow_workers");
  chosen.most_waiting = config.count("server.max_waiting");
  return chosen;
}

/// What happens in the background is said on the error stream, as it begins and as it ends.
void report_office_trouble(Context& context, api::ServiceOptions& options) {
  options.on_office_trouble = [&context](const std::optional<Error>& trouble) {
    context.err << (trouble ? "dlo: The office is in trouble: " + trouble->detail + "\n"
                            : "dlo: The office writes again.\n")
                << std::flush;
  };
}

std::string url_of(const HttpOptions& options, std::uint16_t port) {
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + options.host + "]" : options.host;
  return (options.certificate.empty() ? "http://" : "https://") + host + ":" + std::to_string(port);
}

/// Everything that runs while the server does.
struct Running {
  api::Service& service;
  HttpServer& server;
  Office& office;
  const Clock& clock;
  Outboxes& outboxes;
  Consumers& consumers;
  Membership& membership;
};

/// Serves until a signal ends it; SIGHUP reads the configuration again.
void run_until_stopped(Context& context, Signals& signals, Reloader& reloader, Running running,
                       Millis drain) {
  HeadLog heads(context, running.office);
  heads.write();
  std::thread waiter([&] {
    int number = 0;
    while (number != SIGINT && number != SIGTERM) {
      number = signals.wait(between_heads);
      if (number == 0) heads.write();
      if (number == SIGHUP) {
        reloader.run(running.service, running.server, running.office, running.clock.now());
      }
    }
    context.out << "Stopping on " << (number == SIGINT ? "SIGINT" : "SIGTERM") << "." << std::endl;
    running.consumers.ask_to_stop();
    running.membership.stop();  // another one need not wait
    running.service.stop_waiting();
    running.server.stop(drain);
  });
  running.server.run();
  waiter.join();
  running.outboxes.stop();
  running.service.stop();  // what it was still doing is done before the server and the office go
  heads.write();
}

/// Their source was renamed or taken out of the configuration, and they are still there.
void warn_of_unserved(Context& context, api::Service& service) {
  const auto left = service.unserved();
  if (!left) return;  // whatever is wrong with the office is told elsewhere
  for (const auto& [source, count] : *left) {
    context.err << "dlo: Source " << source << ": " << unserved_trouble(count) << ".\n";
  }
}

/// What was acknowledged, and where the queues of it are.
struct Kept {
  const char* what = "";
  std::string queues;  // empty: in the data directory
};

/// Only what a look at the files allows is promised.
int say_how_it_ended(Context& context, const LastLook& last_look, const Kept& kept) {
  const auto trouble = last_look.trouble();
  if (!trouble) {
    context.out << "Stopped. " << kept.what << " is in '" << context.data << "'." << std::endl;
    return exit_ok;
  }
  context.out << "Stopped." << std::endl;
  context.err
      << "dlo: The office in '" << context.data << "' is not as it was left: " << *trouble
      << ". What was acknowledged may be lost. Restore it from a backup before you start it "
         "again; `dlo doctor` says more.\n";
  return exit_error;
}

Outboxes::Parts outbox_parts(api::Service& service, const Clock& clock, const Origin& origin,
                             std::shared_ptr<postgres::Escorts> escorts) {
  return {service.office(), clock, origin,
          [&service, &clock](const std::string& queue, std::span<const Publication> messages,
                             const std::string& who) {
            return service.send(queue, messages, who, clock.now());
          },
          std::move(escorts)};
}

/// Serves what was opened, with every word of the configuration checked.
int serve_office(Context& context, const ServeArguments& arguments, const Config& config,
                 const HttpOptions& options, Signals& signals, OpenedOffice& opened,
                 std::shared_ptr<postgres::Escorts> escorts, Membership& membership, Kept& kept) {
  SystemClock clock;
  const auto shared = membership.share_clock(clock, config.duration("workflow.lease"));
  if (!shared) return fail(context, shared.error());
  api::ServiceOptions chosen = service_options(context, config, opened, options.host);
  report_office_trouble(context, chosen);
  auto retries = retry_settings(config);
  if (!retries) return fail(context, retries.error());
  chosen.retries = std::move(*retries);
  chosen.retries.watched = true;
  chosen.retries.log = [&context](const std::string& line) { context.out << line << std::endl; };
  auto entities = entity_options(config);
  if (!entities) return fail(context, entities.error());
  chosen.entities = std::move(*entities);
  chosen.entities.log = [&context](const std::string& line, bool is_error) {
    (is_error ? context.err : context.out) << line + "\n" << std::flush;
  };
  auto queues = open_queues(context, config, opened, clock.instant(), true);
  if (!queues) return fail(context, queues.error());
  kept = {queues->kept, queues->place};
  auto outside = rabbitmq_targets(config);
  if (!outside) return fail(context, outside.error());
  chosen.outside = std::move(*outside);
  Collectors collectors;
  Outboxes outboxes;
  chosen.collected = [&collectors] { return collectors.list(); };
  chosen.relayed = [&outboxes] { return outboxes.list(); };
  SourceTimers timers(*opened.office, clock, config.consumers.size());
  Consumers consumers;
  chosen.consumed = consumed_sources(config, consumers);
  chosen.node = membership.says();
  api::Service service(timers.office(), queues->queues.get(), clock, chosen);
  for (const Error& trouble : service.troubles()) {
    context.err << "dlo: A queue could not be opened and is not served: " << trouble.detail << "\n";
  }
  warn_of_redirects(context, service);
  warn_of_unserved(context, service);
  auto server = HttpServer::listen(options, [&service](HttpRequest request, ExchangePtr exchange) {
    service.handle(std::move(request), std::move(exchange));
  });
  if (!server) return fail(context, server.error());
  const std::string url = url_of(options, (*server)->port());
  signals.opened();
  const PostedNote note(context.data, url);  // so that commands on this directory find the server
  const std::string place = opened.place.empty() ? "'" + context.data + "'" : opened.place;
  context.out << "dlo serves the office in " << place << " on " << url
              << "  (health: /healthz; stop with Ctrl-C)" << std::endl;
  Reloader reloader(context, arguments, config, {collectors, outboxes, consumers});
  const auto collecting =
      collectors.start(context, config, {service.office(), clock, chosen.origin});
  if (!collecting) return fail(context, collecting.error());
  const auto relaying = outboxes.start(
      context, config, outbox_parts(service, clock, chosen.origin, std::move(escorts)));
  if (!relaying) return fail(context, relaying.error());
  const auto consuming = consumers.start(
      context, config,
      {service.office(), timers, clock, chosen.origin, context.data, !opened.place.empty()});
  if (!consuming) return fail(context, consuming.error());
  membership.start(context, {config, service, clock, timers, consumers});
  run_until_stopped(context, signals, reloader,
                    {service, **server, *opened.office, clock, outboxes, consumers, membership},
                    config.duration("server.drain"));
  consumers.stop();
  collectors.stop();
  const auto closed = queues->queues->close();
  return closed ? exit_ok : fail(context, closed.error());
}

}  // namespace

int serve(Context& context, const ServeArguments& arguments) {
  auto reading = load_config(context, arguments.config);
  if (!reading) return fail(context, reading.error());
  for (auto&& part : {rabbitmq_problems(reading->config), consumer_problems(reading->config)}) {
    reading->problems.insert(reading->problems.end(), part.begin(), part.end());
  }
  Config& config = reading->config;
  take_flags(config, arguments);
  for (ConfigProblem& each : outbox_problems(config)) reading->problems.push_back(std::move(each));
  if (!report_problems(context, arguments.config, *reading)) return exit_error;
  context.data = config.text("data");
  auto options = http_options(config, arguments);
  if (!options) {
    fail(context, options.error());
    return exit_usage;
  }
  Signals signals;  // before any thread exists, so that all inherit the mask
  const TimePoint now = SystemClock().now();
  Opening keeping;
  keeping.unsearched_payloads = config.places("search.unsearched_payloads");
  if (const auto named = check_node_name(config.text("server.node")); !named) {
    return fail(context, named.error());
  }
  Membership membership(config);
  keeping.hints_as = membership.hints_as();
  auto escorts = outbox_escorts(config);
  keeping.escorts = escorts;
  auto opened = open_office(context.data, keeping, office_settings(config), now);
  if (!opened) return fail(context, opened.error());
  const auto safe =
      check_exposure(*opened->office, *options, config.flag("server.plain_http"), now);
  if (!safe) return fail(context, safe.error());
  raise_descriptor_limit();
  LastLook last_look(context.data);
  Kept kept;
  const int ended = serve_office(context, arguments, config, *options, signals, *opened,
                                 std::move(escorts), membership, kept);
  if (opened->place.empty()) last_look.ask(*opened->office);
  opened->office.reset();  // what is still in its log goes into its file, unless that is damaged
  if (ended != exit_ok) return ended;
  if (opened->place.empty()) return say_how_it_ended(context, last_look, kept);
  context.out << "Stopped. " << kept.what << " is in " << opened->place << " and in "
              << (kept.queues.empty() ? "'" + context.data + "'" : kept.queues) << "." << std::endl;
  return exit_ok;
}

}  // namespace dlo::cli
