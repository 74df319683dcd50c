#include <charconv>
#include <csignal>
#include <ostream>
#include <thread>

#include "dlo/cli/verbs.h"
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
  if (!is_loopback(options.host)) {
    return Error{Code::refused, "cli.serve",
                 "Refusing to listen on '" + options.host +
                     "': without access tokens anybody who reaches it could read and change "
                     "messages. Use 127.0.0.1, ::1 or localhost."};
  }
  return options;
}

HttpResponse answer(Office& office, const HttpRequest& request) {
  HttpResponse response;
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (path != "/healthz") {
    response.status = 404;
    response.content_type = "application/problem+json";
    response.body =
        "{\"type\":\"about:blank\",\"status\":404,\"code\":\"not_found\",\"detail\":"
        "\"There is nothing here. Try /healthz.\"}\n";
    return response;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    response.status = 405;
    response.content_type = "application/problem+json";
    response.body =
        "{\"type\":\"about:blank\",\"status\":405,\"code\":\"method_not_allowed\","
        "\"detail\":\"Use GET.\"}\n";
    return response;
  }
  AggregateRequest nothing;
  nothing.tallies = false;
  const auto numbers = office.aggregate(nothing);
  response.status = numbers ? 200 : 503;
  response.body = numbers ? "{\"status\":\"ok\"}\n" : "{\"status\":\"office unavailable\"}\n";
  return response;
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
  auto server =
      HttpServer::listen(*options, [&](const HttpRequest& request, const ExchangePtr& exchange) {
        exchange->send(answer(**office, request));
      });
  if (!server) return fail(context, server.error());

  const std::string host =
      options->host.find(':') == std::string::npos ? options->host : "[" + options->host + "]";
  context.out << "dlo serves the office in '" << context.data << "' on http://" << host << ":"
              << (*server)->port() << "  (health: /healthz; stop with Ctrl-C)" << std::endl;
  std::thread waiter([&] {
    const int number = signals.wait();
    context.out << "Stopping on " << (number == SIGINT ? "SIGINT" : "SIGTERM") << "." << std::endl;
    (*server)->stop(drain_for);
  });
  (*server)->run();
  waiter.join();
  context.out << "Stopped. Everything acknowledged is in '" << context.data << "'." << std::endl;
  return exit_ok;
}

}  // namespace dlo::cli
