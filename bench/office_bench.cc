// Claim: the office on SQLite appends full records (attempts, group, counters, error index) and
// changes their state at 0.6 of the rate or more at which SQLite's C API carries out the same
// statements in the same run: in lists, and from 32 callers with one record each.
//
// Rounds are interleaved, both sides keep their files across rounds, medians are compared.
//   office_bench [--rounds 7] [--records 8000] [--directory /tmp]

#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "support/measure.h"
#include "support/raw_peer.h"
#include "support/sample.h"

#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::bench {
namespace {

constexpr std::size_t callers = 32;

void fail(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", error.where.c_str(), error.detail.c_str());
  std::abort();
}

std::vector<Applied> must_apply(Office& office, std::span<const Change> changes) {
  auto applied = office.apply(changes);
  if (!applied) fail(applied.error());
  return std::move(*applied);
}

void apply_in_lists(Office& office, const std::vector<Change>& changes, std::size_t list) {
  for (std::size_t at = 0; at < changes.size(); at += list) {
    must_apply(office, std::span(changes).subspan(at, std::min(list, changes.size() - at)));
  }
}

using RawAct = std::function<void(std::span<const RawRow>)>;
void in_lists(std::span<const RawRow> rows, std::size_t list, const RawAct& act) {
  for (std::size_t at = 0; at < rows.size(); at += list) {
    act(rows.subspan(at, std::min(list, rows.size() - at)));
  }
}

void from_callers(std::size_t count, const std::function<void(std::size_t)>& one) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < callers; ++i) {
    threads.emplace_back([&] {
      for (std::size_t n = next++; n < count; n = next++) one(n);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<Change> resolutions(const std::vector<Change>& appends) {
  std::vector<Change> changes;
  for (const Change& change : appends) {
    Transition transition;
    transition.id = std::get<Append>(change).record->id;
    transition.expected_version = 1;
    transition.to = Status::resolved;
    transition.resolution = Resolution{{}, "ops", "manual", "retried by hand, ticket 4711 is done"};
    changes.emplace_back(transition);
  }
  return changes;
}

class Comparison {
 public:
  explicit Comparison(const std::string& directory)
      : ours_dir_(directory), raw_dir_(directory), raw_(raw_dir_.path()) {
    auto opened = SqliteOffice::open(ours_dir_.path());
    if (!opened) fail(opened.error());
    office_ = std::move(*opened);
  }

  void round(std::size_t records, bool swap) {
    append_lists(100, records, swap);
    append_lists(1000, records, swap);
    const std::vector<Change> last = append_singly(records / 4, swap);
    resolve_lists(last, swap);
    resolve_singly(records / 4, swap);
  }
  void print() const;

 private:
  struct Line {
    std::string what;
    std::vector<double> ours, raw, ratio;
  };

  void compare(const std::string& what, std::size_t records, bool swap,
               const std::function<void()>& ours, const std::function<void()>& raw) {
    double our_time = 0;
    double raw_time = 0;
    if (swap) raw_time = seconds(raw);
    our_time = seconds(ours);
    if (!swap) raw_time = seconds(raw);
    Line* line = nullptr;
    for (Line& known : lines_) {
      if (known.what == what) line = &known;
    }
    if (line == nullptr) line = &lines_.emplace_back(Line{what, {}, {}, {}});
    line->ours.push_back(static_cast<double>(records) / our_time);
    line->raw.push_back(static_cast<double>(records) / raw_time);
    line->ratio.push_back(raw_time / our_time);
  }

  std::vector<Change> fresh(std::size_t count) {
    std::vector<Change> changes = samples(next_, count);
    next_ += count;
    return changes;
  }

  void append_lists(std::size_t list, std::size_t records, bool swap) {
    const std::vector<Change> changes = fresh(records);
    const std::vector<RawRow> rows = raw_rows(changes);
    compare(
        "append, lists of " + std::to_string(list), records, swap,
        [&] { apply_in_lists(*office_, changes, list); },
        [&] { in_lists(rows, list, [&](auto part) { raw_.append(part); }); });
  }

  std::vector<Change> append_singly(std::size_t records, bool swap) {
    std::vector<Change> changes = fresh(records);
    const std::vector<RawRow> rows = raw_rows(changes);
    const auto ours = [&] {
      from_callers(records,
                   [&](std::size_t n) { must_apply(*office_, std::span(changes).subspan(n, 1)); });
    };
    compare("append, 32 callers : one raw thread, lists of 32", records, swap, ours,
            [&] { in_lists(rows, callers, [&](auto part) { raw_.append(part); }); });
    const std::vector<Change> more = fresh(records);
    const std::vector<RawRow> more_rows = raw_rows(more);
    std::mutex mutex;
    compare(
        "append, 32 callers : 32 raw callers, a commit each", records, swap,
        [&] {
          from_callers(records,
                       [&](std::size_t n) { must_apply(*office_, std::span(more).subspan(n, 1)); });
        },
        [&] {
          from_callers(records, [&](std::size_t n) {
            const std::lock_guard lock(mutex);
            raw_.append(std::span(more_rows).subspan(n, 1));
          });
        });
    return changes;
  }

  void resolve_lists(const std::vector<Change>& appended, bool swap) {
    const std::vector<Change> changes = resolutions(appended);
    const std::vector<RawRow> rows = raw_rows(appended);
    compare(
        "resolve, lists of 100", changes.size(), swap,
        [&] { apply_in_lists(*office_, changes, 100); },
        [&] { in_lists(rows, 100, [&](auto part) { raw_.resolve(part); }); });
  }

  void resolve_singly(std::size_t records, bool swap) {
    const std::vector<Change> appended = fresh(records);
    apply_in_lists(*office_, appended, 1000);
    const std::vector<RawRow> rows = raw_rows(appended);
    in_lists(rows, 1000, [&](auto part) { raw_.append(part); });
    const std::vector<Change> changes = resolutions(appended);
    compare(
        "resolve, 32 callers : one raw thread, lists of 32", records, swap,
        [&] {
          from_callers(records, [&](std::size_t n) {
            must_apply(*office_, std::span(changes).subspan(n, 1));
          });
        },
        [&] { in_lists(rows, callers, [&](auto part) { raw_.resolve(part); }); });
  }

  Scratch ours_dir_;
  Scratch raw_dir_;
  RawPeer raw_;
  std::unique_ptr<SqliteOffice> office_;
  std::uint64_t next_ = 0;
  std::vector<Line> lines_;
};

void Comparison::print() const {
  std::printf("%-52s %10s %10s %7s  goal\n", "", "office/s", "raw/s", "ratio");
  for (const Line& line : lines_) {
    std::printf("%-52s %10.0f %10.0f %7.2f  >= 0.60\n", line.what.c_str(), median(line.ours),
                median(line.raw), median(line.ratio));
  }
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  using namespace dlo::bench;
  const int rounds = std::stoi(option(argc, argv, "rounds", "7"));
  const auto records = static_cast<std::size_t>(std::stoul(option(argc, argv, "records", "8000")));
  Comparison comparison(option(argc, argv, "directory", "/tmp"));
  for (int i = 0; i < rounds; ++i) comparison.round(records, i % 2 == 1);
  comparison.print();
}
