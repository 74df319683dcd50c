#include "support/lists.h"

#include <chrono>
#include <functional>
#include <thread>

#include "support/measure.h"
#include "support/sample.h"

namespace dlo::bench {

void fill(Office& office, std::uint64_t records) {
  constexpr std::uint64_t list = 1000;
  const double took = seconds([&] {
    for (std::uint64_t n = 0; n < records; n += list) {
      must(office.apply(samples(n, std::min(list, records - n))));
      if (n % 500'000 == 0) std::fprintf(stderr, "\r%llu", static_cast<unsigned long long>(n));
    }
  });
  std::printf("filled with %llu records, %.0f/s\n", static_cast<unsigned long long>(records),
              static_cast<double>(records) / took);
}

void wait_for_index(Office& office) {
  for (;;) {
    const std::uint64_t behind = must(office.aggregate({.tallies = false})).unindexed_payloads;
    if (behind == 0) break;
    std::fprintf(stderr, "\r%llu payloads to be indexed ", static_cast<unsigned long long>(behind));
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

Timing time_list(Office& office, Query query, int pages) {
  Timing timing;
  const auto repeat = [&](const Query& asked) {
    std::vector<double> times;
    for (int i = 0; i < 15; ++i) {
      Page page;
      times.push_back(seconds([&] { page = must(office.list(asked)); }));
      timing.rows = page.rows.size();
      timing.partial = timing.partial || page.partial;
    }
    return median(times) * 1000;
  };
  timing.first = repeat(query);
  Query walking = query;
  walking.limit = 1000;
  for (int i = 0; i < pages; ++i) {
    const Page page = must(office.list(walking));
    if (!page.next) break;
    walking.after = page.next;
  }
  walking.limit = query.limit;
  const std::size_t rows = timing.rows;
  timing.deep = repeat(walking);
  timing.rows = rows;
  return timing;
}

std::vector<Asked> questions(std::uint64_t records) {
  const Append kept = sample(records / 2);
  const DeadLetter& middle = *kept.record;
  std::vector<Asked> all;
  const auto ask = [&](const std::string& what, const std::function<void(Query&)>& set,
                       bool led = true) {
    Query query;
    set(query);
    all.push_back({what, query, led});
  };
  ask("newest", [](Query&) {});
  ask("status", [](Query& q) { q.statuses = {Status::exhausted}; });
  ask("source", [&](Query& q) { q.source = middle.message->source; });
  ask("category", [&](Query& q) { q.category = middle.category; });
  ask("group", [&](Query& q) { q.group = middle.fingerprint.hash; });
  ask("event type", [&](Query& q) { q.event_type = middle.message->event_type; });
  ask("key", [&](Query& q) { q.key = middle.message->key; });
  ask("message id", [&](Query& q) { q.message_id = middle.message->id; });
  ask("time", [&](Query& q) { q.until = middle.died_at; });
  ask("common error word", [](Query& q) { q.error_words = "timeout"; });
  ask("two common error words", [](Query& q) { q.error_words = "timeout gateway"; });
  ask("rare error word", [&](Query& q) { q.error_words = std::to_string(records / 2); });
  ask("source, status", [&](Query& q) {
    q.source = middle.message->source;
    q.statuses = {Status::exhausted};
  });
  ask("source, category", [&](Query& q) {
    q.source = middle.message->source;
    q.category = middle.category;
  });
  ask("group, source", [&](Query& q) {
    q.source = middle.message->source;
    q.group = middle.fingerprint.hash;
  });
  ask("source, common error word", [&](Query& q) {
    q.source = middle.message->source;
    q.error_words = "timeout";
  });
  ask("source, type, category, time", [&](Query& q) {
    q.source = middle.message->source;
    q.event_type = middle.message->event_type;
    q.category = middle.category;
    q.until = middle.died_at;
  });
  ask("source, type", [&](Query& q) {
    q.source = middle.message->source;
    q.event_type = middle.message->event_type;
  });
  ask("status, type", [&](Query& q) {
    q.statuses = {Status::exhausted};
    q.event_type = middle.message->event_type;
  });
  ask("group, source, type", [&](Query& q) {
    q.source = middle.message->source;
    q.group = middle.fingerprint.hash;
    q.event_type = middle.message->event_type;
  });
  ask("an hour of a source", [&](Query& q) {
    q.source = middle.message->source;
    q.from = middle.died_at - std::chrono::minutes(30);
    q.until = middle.died_at + std::chrono::minutes(30);
  });
  ask("payload word", [&](Query& q) { q.payload_words = std::to_string(records / 2); });
  ask("no index: attempts", [](Query& q) { q.attempts_over = 99; }, false);
  return all;
}

void print_lists(Office& office, std::uint64_t records, double goal) {
  std::printf("%-32s %10s %10s %6s   goal < %.0f\n", "page of 50, ms", "first", "deep", "rows",
              goal);
  for (const Asked& asked : questions(records)) {
    const Timing timing = time_list(office, asked.query, 30);
    const double slower = std::max(timing.first, timing.deep);
    const bool met = asked.led ? slower < goal : timing.first < 300;
    std::printf("%-32s %10.2f %10.2f %6zu%s%s%s\n", asked.what.c_str(), timing.first, timing.deep,
                timing.rows, timing.partial ? " partial" : "", met ? "" : "  MISSED",
                asked.led ? "" : "  (time box 250)");
  }
}

}  // namespace dlo::bench
