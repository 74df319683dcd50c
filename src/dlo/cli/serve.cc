#include <array>
#include <charconv>
#include <csignal>
#include <ostream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "dlo/access/token_book.h"
#include "dlo/api/service.h"
#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/cli/server_note.h"
#include "dlo/cli/verbs.h"
#include "dlo/engine/clock.h"
#include "dlo/server/http_server.h"
#include "dlo/store/office.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

constexpr Millis drain_for{10'000};

Result<HttpOptions> parse_listen(const std::string& text) {
  HttpOptions options;
  const auto colon = text.rfind(':');
  unsigned port = 65536;
  if (colon != std::string::npos && colon + 1 < text.size()) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc() || stop != end) port = 65536;
  }
  if (port > 65535) {
    return Error{Code::invalid_argument, "cli.serve",
                 "'" + text + "' is not HOST:PORT. For example: --listen 127.0.0.1:8080"};
  }
  options.host = text.substr(0, colon);
  if (options.host.starts_with('[') && options.host.ends_with(']')) {
    options.host = options.host.substr(1, options.host.size() - 2);
  }
  options.port = static_cast<std::uint16_t>(port);
  return options;
}

/// Beyond loopback a server is open to whoever reaches it: refusing to start beats that.
Result<void> check_exposure(Office& office, const HttpOptions& options,
                            const ServeArguments& arguments, TimePoint now) {
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
  if (arguments.plain_http) return {};
  return Error{Code::refused, "cli.serve",
               "Refusing to listen on '" + options.host +
                   "' without encryption: tokens and messages could be read on the way. Listen on "
                   "loopback behind a proxy that speaks TLS, or say --plain-http."};
}

/// Ten thousand connections need as many descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string node_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "local";
}

/// Blocks SIGINT and SIGTERM everywhere and hands them to one thread: no work in a handler.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  int wait() {
    int number = 0;
    sigwait(&set_, &number);
    return number;
  }

 private:
  sigset_t set_{};
};

}  // namespace

int serve(Context& context, const ServeArguments& arguments) {
  auto options = parse_listen(arguments.listen);
  if (!options) {
    fail(context, options.error());
    return exit_usage;
  }
  Signals signals;  // before any thread exists, so that all inherit the mask
  auto office = SqliteOffice::open(context.data);
  if (!office) return fail(context, office.error());
  const SystemClock clock;
  if (const auto safe = check_exposure(**office, *options, arguments, clock.now()); !safe) {
    return fail(context, safe.error());
  }
  raise_descriptor_limit();
  api::ServiceOptions chosen;
  chosen.tokens_always = !is_loopback(options->host);
  chosen.origin.node = node_name();
  auto queues = EmbeddedQueues::open(context.data + "/queues", clock.now());
  if (!queues) return fail(context, queues.error());
  api::Service service(**office, queues->get(), clock, chosen);
  for (const Error& trouble : service.troubles()) {
    context.err << "dlo: A queue could not be opened and is not served: " << trouble.detail << "\n";
  }
  auto server = HttpServer::listen(*options, [&service](HttpRequest request, ExchangePtr exchange) {
    service.handle(std::move(request), std::move(exchange));
  });
  if (!server) return fail(context, server.error());

  const std::string host =
      options->host.find(':') == std::string::npos ? options->host : "[" + options->host + "]";
  const std::string url = "http://" + host + ":" + std::to_string((*server)->port());
  const PostedNote note(context.data, url);  // so that commands on this directory find the server
  context.out << "dlo serves the office in '" << context.data << "' on " << url
              << "  (health: /healthz; stop with Ctrl-C)" << std::endl;
  std::thread waiter([&] {
    const int number = signals.wait();
    context.out << "Stopping on " << (number == SIGINT ? "SIGINT" : "SIGTERM") << "." << std::endl;
    service.stop_waiting();
    (*server)->stop(drain_for);
  });
  (*server)->run();
  waiter.join();
  service.stop();  // what it was still doing is done before the server and the office go
  if (const auto closed = (*queues)->close(); !closed) fail(context, closed.error());
  context.out << "Stopped. Everything acknowledged is in '" << context.data << "'." << std::endl;
  return exit_ok;
}

}  // namespace dlo::cli
