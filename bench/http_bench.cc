// What a request costs: a route that does nothing, beside routes that do something, in one run.
// The server is a process of its own, so that its CPU time can be told from the client's.
//
//   http_bench [SECONDS]     of each measurement; default 3
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/http_load.h"

#include "dlo/api/message_frames.h"
#include "dlo/api/service.h"
#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/engine/clock.h"
#include "dlo/server/http_server.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace {

using namespace dlo;
using bench::LoadResult;
using bench::request_bytes;
using bench::run_load;

constexpr std::size_t payload_size = 200;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "http_bench: %s\n", result.error().detail.c_str());
    std::exit(1);
  }
  return std::move(*result);
}

/// The real service, and one route that only says "ok". Writes its port to `out`.
[[noreturn]] void serve(const std::string& directory, int out) {
  const SystemClock clock;
  auto office = must(SqliteOffice::open(directory));
  auto queues = must(EmbeddedQueues::open(directory + "/queues", clock.now()));
  api::Service service(*office, queues.get(), clock, {});
  auto server = must(HttpServer::listen({}, [&](HttpRequest request, ExchangePtr exchange) {
    if (request.target == "/noop") {
      HttpResponse response;
      response.body = "{\"status\":\"ok\"}\n";
      return exchange->send(std::move(response));
    }
    service.handle(std::move(request), std::move(exchange));
  }));
  const std::uint16_t port = server->port();
  if (::write(out, &port, sizeof port) != sizeof port) std::exit(1);
  ::close(out);
  server->run();
  std::exit(0);
}

void print(const char* name, const LoadResult& result, const LoadResult& noop, double per_request) {
  std::printf(
      "%-34s %8.0f req/s %9.0f msg/s  p50 %6.2f ms  p99 %7.2f ms  cpu %6.1f us/req  %.2f x "
      "no-op%s\n",
      name, result.per_second(), result.per_second() * per_request, result.p50_ms, result.p99_ms,
      result.cpu_us(), result.per_second() / noop.per_second(),
      result.refused == 0 ? "" : "  (some refused)");
  std::fflush(stdout);
}

std::string between(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  const auto from = at + before.size();
  return std::string(text.substr(from, text.find('"', from) - from));
}

/// send, receive, settle, one message and one request after another.
std::string cycle(std::vector<int>& steps, std::size_t i, std::string_view answer,
                  const std::string& payload) {
  const std::string queue = "/v1/queues/bench";
  switch (steps[i]++ % 3) {
    case 0:
      return request_bytes("POST", queue + "/messages", payload);
    case 1:
      return request_bytes("POST", queue + "/receive?wait_ms=5000");
    default:
      return request_bytes(
          "POST", queue + "/settle",
          R"({"outcome":"complete","lease":")" + between(answer, "\"lease\":\"") + "\"}",
          "Content-Type: application/json\r\n");
  }
}

std::string batch_frames(const std::string& payload, std::size_t count) {
  std::string frames;
  for (std::size_t i = 0; i < count; ++i) api::append_frame(frames, "", payload);
  return frames;
}

std::string settlements_of(std::string_view frames) {
  std::string out;
  while (frames.size() >= 28) {
    std::uint32_t size = 0;
    for (int i = 3; i >= 0; --i) {
      size = size << 8U | static_cast<std::uint8_t>(frames[static_cast<std::size_t>(i)]);
    }
    out += frames.substr(4, 16);
    out += '\0';
    frames.remove_prefix(4 + size);
  }
  return out;
}

std::string report(std::uint64_t number, const std::string& payload) {
  return R"({"source":"bench","id":")" + std::to_string(number) + R"(","payload":")" + payload +
         R"(","failure":{"type":"Timeout","text":"upstream timed out after 30 s"}})";
}

/// The same reports, straight into an office: what the API is measured against.
double append_in_process(const std::string& directory, double seconds, std::size_t batch,
                         std::size_t threads, const std::string& payload) {
  const SystemClock clock;
  auto office = must(SqliteOffice::open(directory));
  auto rules = std::make_shared<const RuleBook>(
      must(RuleBook::build(with_limit(must(find_profile("standard")), 1))));
  ReportDesk desk(*office, rules, {}, clock);
  std::atomic<std::uint64_t> next{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::thread> reporters;
  for (std::size_t t = 0; t < threads; ++t) {
    reporters.emplace_back([&] {
      while (std::chrono::steady_clock::now() < end) {
        std::vector<Report> reports(batch);
        for (auto& each : reports) {
          Message message;
          message.source = "bench";
          message.id = std::to_string(next.fetch_add(1));
          message.payload = payload;
          each.message = std::make_shared<const Message>(std::move(message));
          each.failure.type = "Timeout";
          each.failure.text = "upstream timed out after 30 s";
          each.counters.fetch = each.counters.attempt = each.counters.total = 1;
        }
        must(desk.report(std::move(reports)));
      }
    });
  }
  for (auto& reporter : reporters) reporter.join();
  return static_cast<double>(next.load()) / seconds;
}

struct Place {
  std::string path;
  explicit Place(const char* name)
      : path((std::filesystem::current_path() / name).string() + std::to_string(::getpid())) {
    std::filesystem::create_directories(path);
  }
  ~Place() { std::filesystem::remove_all(path); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
};

void measure_queue(std::uint16_t port, int server, double seconds, const LoadResult& noop,
                   const std::string& payload) {
  run_load(port, server, 1, 5, [done = false](std::size_t, std::string_view) mutable {
    if (std::exchange(done, true)) return std::string();
    return request_bytes("PUT", "/v1/queues/bench", "{}", "Content-Type: application/json\r\n");
  });
  std::vector<int> steps(32, 0);
  print("queue cycle, 1 message, 32 conn.",
        run_load(port, server, 32, seconds,
                 [&](std::size_t i, std::string_view answer) {
                   return cycle(steps, i, answer, payload);
                 }),
        noop, 1.0 / 3);
  const std::string frames = batch_frames(payload, 100);
  std::vector<int> turns(8, 0);
  print("queue cycle, frames of 100, 8 conn.",
        run_load(port, server, 8, seconds,
                 [&](std::size_t i, std::string_view answer) {
                   const std::string type(api::frames_type);
                   switch (turns[i]++ % 3) {
                     case 0:
                       return request_bytes("POST", "/v1/queues/bench/messages", frames,
                                            "Content-Type: " + type + "\r\n");
                     case 1:
                       return request_bytes("POST",
                                            "/v1/queues/bench/receive?limit=100&wait_ms=5000", "",
                                            "Accept: " + type + "\r\n");
                     default:
                       return request_bytes(
                           "POST", "/v1/queues/bench/settle", settlements_of(answer),
                           "Content-Type: " + std::string(api::settlements_type) + "\r\n");
                   }
                 }),
        noop, 100.0 / 3);
}

void measure_reports(std::uint16_t port, int server, double seconds, const LoadResult& noop,
                     const std::string& payload) {
  std::uint64_t number = 0;
  const auto single = run_load(port, server, 64, seconds, [&](std::size_t, std::string_view) {
    return request_bytes("POST", "/v1/dead-letters", report(number++, payload),
                         "Content-Type: application/json\r\n");
  });
  print("report, 1 a request, 64 conn.", single, noop, 1);
  const auto batches = run_load(port, server, 4, seconds, [&](std::size_t, std::string_view) {
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += report(number++, payload) + "\n";
    return request_bytes("POST", "/v1/dead-letters", lines,
                         "Content-Type: application/x-ndjson\r\n");
  });
  print("report, 100 lines a request, 4 conn.", batches, noop, 100);
  print("list, page of 50, 8 conn.",
        run_load(port, server, 8, seconds,
                 [&](std::size_t, std::string_view) {
                   return request_bytes("GET", "/v1/dead-letters?q=status:open");
                 }),
        noop, 50);
  const Place one("http_bench_a");
  const Place many("http_bench_b");
  const double alone = append_in_process(one.path, seconds, 1, 64, payload);
  const double together = append_in_process(many.path, seconds, 100, 4, payload);
  std::printf(
      "in-process append: %.0f/s one by one from 64 threads, %.0f/s in lists of 100 from 4\n",
      alone, together);
  std::printf("over HTTP: %.2f x one by one, %.2f x in lists of 100\n", single.per_second() / alone,
              batches.per_second() * 100 / together);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const Place place("http_bench_");
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return 1;
  const pid_t server = ::fork();
  if (server == 0) serve(place.path, pipe_ends[1]);
  ::close(pipe_ends[1]);
  std::uint16_t port = 0;
  if (::read(pipe_ends[0], &port, sizeof port) != sizeof port) return 1;
  const std::string payload(payload_size, 'x');

  const auto get = [&](const char* target) {
    return run_load(port, server, 64, seconds,
                    [&](std::size_t, std::string_view) { return request_bytes("GET", target); });
  };
  const LoadResult noop = get("/noop");
  print("no-op, past the API, 64 conn.", noop, noop, 1);
  print("404 by the route table, 64 conn.", get("/v1/nothing"), noop, 1);
  print("health, 64 conn.", get("/healthz"), noop, 1);
  measure_queue(port, server, seconds, noop, payload);
  measure_reports(port, server, seconds, noop, payload);
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  return 0;
}
