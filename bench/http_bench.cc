// What a request costs: a route that does nothing, beside routes that do something, in one run.
// The server is a process of its own, so that its CPU time can be told from the client's.
//
//   http_bench [SECONDS] [ONLY] [OFFICE]
//
// SECONDS of each measurement, default 3. ONLY: those whose name contains it (no-op always).
// OFFICE: a directory that list_bench --keep filled, for lists on a large office.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/http_load.h"

#include "dlo/access/token_book.h"
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

/// The real service, and one route that only says "ok". Writes its port to `out`. Closed: whoever
/// asks needs a token, which is written there, too.
[[noreturn]] void serve(const std::string& directory, int out, bool closed) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a bench that is cut off leaves no server behind
  const SystemClock clock;
  auto office = must(SqliteOffice::open(directory));
  std::string secret;
  if (closed) {
    secret =
        must(TokenBook(*office).create({"bench", Role::reader, {}}, "bench", clock.now())).text;
  }
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
  if (::write(out, secret.data(), secret.size()) != static_cast<ssize_t>(secret.size())) {
    std::exit(1);
  }
  ::close(out);
  server->run();
  std::exit(0);
}

/// Where and how everything is measured.
struct Bench {
  std::uint16_t port = 0;
  int server = 0;
  double seconds = 3;
  std::string only;
  LoadResult noop{};
  [[nodiscard]] bool wants(const std::string& name) const {
    return name.find(only) != std::string::npos;
  }
};

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

void measure(const Bench& run, const char* name, std::size_t connections, double per_request,
             const bench::NextRequest& next) {
  if (!run.wants(name)) return;
  print(name, run_load(run.port, run.server, connections, run.seconds, next), run.noop,
        per_request);
}

/// How a batch of 100 is sent, received and settled.
struct BatchForm {
  std::string sent;
  std::string type;
  std::string settle_type;
  std::string (*settle)(std::string_view answer);
};

std::string batch_cycle(const BatchForm& form, std::vector<int>& steps, std::size_t i,
                        std::string_view answer) {
  const std::string queue = "/v1/queues/bench";
  switch (steps[i]++ % 3) {
    case 0:
      return request_bytes("POST", queue + "/messages", form.sent,
                           "Content-Type: " + form.type + "\r\n");
    case 1:
      return request_bytes("POST", queue + "/receive?limit=100&wait_ms=5000", "",
                           "Accept: " + form.type + "\r\n");
    default:
      return request_bytes("POST", queue + "/settle", form.settle(answer),
                           "Content-Type: " + form.settle_type + "\r\n");
  }
}

std::string settle_lines(std::string_view answer) {
  std::string out;
  constexpr std::string_view mark = "{\"lease\":\"";
  for (auto at = answer.find(mark); at != std::string_view::npos; at = answer.find(mark, at + 1)) {
    out += R"({"outcome":"complete","lease":")";
    out += answer.substr(at + mark.size(), 32);
    out += "\"}\n";
  }
  return out;
}

/// Beside the no-op route from as many connections, in turns: the disk and the machine have moods.
void measure_cycles(const Bench& run, const std::string& payload) {
  const std::string name = "queue cycle, 1 message, 32 conn.";
  if (!run.wants(name)) return;
  constexpr int rounds = 5;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const auto noop =
        run_load(run.port, run.server, 32, run.seconds / rounds,
                 [](std::size_t, std::string_view) { return request_bytes("GET", "/noop"); });
    std::vector<int> steps(32, 0);
    const auto cycles = run_load(
        run.port, run.server, 32, run.seconds / rounds,
        [&](std::size_t i, std::string_view answer) { return cycle(steps, i, answer, payload); });
    print("no-op, past the API, 32 conn.", noop, noop, 1);
    print(name.c_str(), cycles, noop, 1.0 / 3);
    ratios.push_back(cycles.per_second() / noop.per_second());
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("one message a request: %.2f x no-op, median of %d\n", ratios[rounds / 2], rounds);
}

void measure_queue(const Bench& run, const std::string& payload) {
  run_load(run.port, run.server, 1, 5, [done = false](std::size_t, std::string_view) mutable {
    if (std::exchange(done, true)) return std::string();
    return request_bytes("PUT", "/v1/queues/bench", "{}", "Content-Type: application/json\r\n");
  });
  measure_cycles(run, payload);
  std::vector<int> steps;
  const BatchForm frames{batch_frames(payload, 100), std::string(api::frames_type),
                         std::string(api::settlements_type), settlements_of};
  steps.assign(8, 0);
  measure(run, "queue cycle, frames of 100, 8 conn.", 8, 100.0 / 3,
          [&](std::size_t i, std::string_view answer) {
            return batch_cycle(frames, steps, i, answer);
          });
  BatchForm lines{"", "application/x-ndjson", "application/x-ndjson", settle_lines};
  for (int i = 0; i < 100; ++i) lines.sent += R"({"payload":")" + payload + "\"}\n";
  steps.assign(8, 0);
  measure(
      run, "queue cycle, 100 lines, 8 conn.", 8, 100.0 / 3,
      [&](std::size_t i, std::string_view answer) { return batch_cycle(lines, steps, i, answer); });
}

/// Pages of 50 from 32 clients, each of another kind.
void measure_lists(const Bench& run) {
  static constexpr const char* queries[] = {"",
                                            "status:open",
                                            "category:network",
                                            "error:timed",
                                            "age:>1h",
                                            "status:open+category:network"};
  for (const char* query : queries) {
    const std::string name = "list 50, 32 conn. " + std::string(query);
    measure(run, name.c_str(), 32, 50, [&](std::size_t, std::string_view) {
      return request_bytes("GET", "/v1/dead-letters?q=" + std::string(query));
    });
  }
}

void measure_reports(const Bench& run, const std::string& payload) {
  if (!run.wants("report")) return;
  std::uint64_t number = 0;
  const auto single =
      run_load(run.port, run.server, 64, run.seconds, [&](std::size_t, std::string_view) {
        return request_bytes("POST", "/v1/dead-letters", report(number++, payload),
                             "Content-Type: application/json\r\n");
      });
  print("report, 1 a request, 64 conn.", single, run.noop, 1);
  const auto batches =
      run_load(run.port, run.server, 4, run.seconds, [&](std::size_t, std::string_view) {
        std::string lines;
        for (int i = 0; i < 100; ++i) lines += report(number++, payload) + "\n";
        return request_bytes("POST", "/v1/dead-letters", lines,
                             "Content-Type: application/x-ndjson\r\n");
      });
  print("report, 100 lines a request, 4 conn.", batches, run.noop, 100);
  const Place one("http_bench_a");
  const Place many("http_bench_b");
  const double alone = append_in_process(one.path, run.seconds, 1, 64, payload);
  const double together = append_in_process(many.path, run.seconds, 100, 4, payload);
  std::printf(
      "in-process append: %.0f/s one by one from 64 threads, %.0f/s in lists of 100 from 4\n",
      alone, together);
  std::printf("over HTTP: %.2f x one by one, %.2f x in lists of 100\n", single.per_second() / alone,
              batches.per_second() * 100 / together);
}

/// A server in a process of its own.
struct Started {
  Started(const std::string& directory, bool closed) {
    int ends[2];
    if (::pipe(ends) != 0) std::exit(1);
    process = ::fork();
    if (process == 0) serve(directory, ends[1], closed);
    ::close(ends[1]);
    if (::read(ends[0], &port, sizeof port) != sizeof port) std::exit(1);
    char text[200];
    for (ssize_t size = 0; (size = ::read(ends[0], text, sizeof text)) > 0;) {
      secret.append(text, static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
  }
  ~Started() {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  std::uint16_t port = 0;
  int process = 0;
  std::string secret;
};

/// With routing and a token, beside the no-op route of the same server, in turns.
void measure_token(const Bench& run) {
  const std::string name = "who asks, with a token, 64 conn.";
  if (!run.wants(name)) return;
  const Place place("http_bench_token_");
  const Started server(place.path, true);
  const std::string header = "Authorization: Bearer " + server.secret + "\r\n";
  const auto get = [&](const char* target, const std::string& headers) {
    return run_load(
        server.port, server.process, 64, run.seconds,
        [&](std::size_t, std::string_view) { return request_bytes("GET", target, {}, headers); });
  };
  constexpr int rounds = 5;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const LoadResult noop = get("/noop", {});
    const LoadResult with_token = get("/v1/me", header);
    print("no-op, past the API, 64 conn.", noop, noop, 1);
    print(name.c_str(), with_token, noop, 1);
    ratios.push_back(with_token.cpu_us() / noop.cpu_us());
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("CPU of a small request with a token: %.2f x no-op, median of %d (%.2f to %.2f)\n",
              ratios[rounds / 2], rounds, ratios.front(), ratios.back());
}

}  // namespace

int main(int argc, char** argv) {
  Bench run;
  if (argc > 1) run.seconds = std::atof(argv[1]);
  if (argc > 2) run.only = argv[2];
  const Place place("http_bench_");
  const bool large = argc > 3;
  const Started server(large ? argv[3] : place.path, false);
  run.server = server.process;
  run.port = server.port;
  const std::string payload(payload_size, 'x');

  const auto get = [&](const char* target) {
    return run_load(run.port, run.server, 64, run.seconds,
                    [&](std::size_t, std::string_view) { return request_bytes("GET", target); });
  };
  run.noop = get("/noop");
  print("no-op, past the API, 64 conn.", run.noop, run.noop, 1);
  if (large) {
    measure_lists(run);
  } else {
    if (run.wants("404")) print("404 by the route table, 64 conn.", get("/x"), run.noop, 1);
    if (run.wants("me")) print("who asks, 64 conn.", get("/v1/me"), run.noop, 1);
    if (run.wants("health")) print("health, 64 conn.", get("/healthz"), run.noop, 1);
    measure_token(run);
    measure_queue(run, payload);
    measure_reports(run, payload);
  }
  return 0;
}
