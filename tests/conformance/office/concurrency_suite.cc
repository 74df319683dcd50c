// Any method from any thread: eight of them at once, and the books balance afterwards (R5, R2-5).

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

using std::chrono::seconds;

constexpr int threads = 8;

/// Runs `work(0..7)` at once; what one of them throws fails the test.
template <typename Work>
void at_once(const Work& work) {
  std::mutex mutex;
  std::vector<std::string> troubles;
  std::atomic<int> ready{0};
  std::vector<std::jthread> crew;
  for (int i = 0; i < threads; ++i) {
    crew.emplace_back([&, i] {
      ready.fetch_add(1);
      while (ready.load() < threads) std::this_thread::yield();
      try {
        work(i);
      } catch (const std::exception& trouble) {
        const std::lock_guard lock(mutex);
        troubles.emplace_back(trouble.what());
      }
    });
  }
  crew.clear();
  EXPECT_TRUE(troubles.empty()) << troubles.size() << " threads failed, first: " << troubles[0];
}

TEST_P(OfficeSuite, EightThreadsAppendingTheSameDeathsLeaveOneOfEach) {
  constexpr std::uint64_t records = 60;
  std::atomic<std::uint64_t> applied{0};
  Office& shared = office();
  at_once([&](int) {
    for (std::uint64_t n = 1; n <= records; n += 6) {
      std::vector<Change> changes;
      for (std::uint64_t i = n; i < n + 6; ++i) changes.push_back(append_of(a_letter(i)));
      for (const Applied& answer : must(shared.apply(changes))) {
        if (answer.effect == Effect::applied) applied.fetch_add(1);
      }
    }
  });
  EXPECT_EQ(applied.load(), records);
  EXPECT_EQ(ids({}).size(), records);
  EXPECT_EQ(tally("orders", Status::pending, "network"), records);
  EXPECT_EQ(group(group_of(1))->total, records);
}

TEST_P(OfficeSuite, NoRecordIsInTwoLiveLeases) {
  constexpr std::uint64_t records = 200;
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= records; ++n) {
    DeadLetter letter = a_waiting(n, noon);
    if (n % 2 == 0) letter.status = Status::pending;
    changes.push_back(append_of(letter));
  }
  apply(changes);
  Office& shared = office();
  std::mutex mutex;
  std::map<RecordId, int> claimed;
  std::set<LeaseToken> tokens;
  at_once([&](int) {
    for (;;) {
      const auto claims = must(shared.claim(7, noon, seconds{30}, ""));
      if (claims.empty()) return;
      const std::lock_guard lock(mutex);
      for (const Claim& claim : claims) {
        ++claimed[claim.record.id];
        tokens.insert(claim.lease);
      }
    }
  });
  EXPECT_EQ(claimed.size(), records);
  EXPECT_EQ(tokens.size(), records);
  for (const auto& [id, times] : claimed) EXPECT_EQ(times, 1) << to_string(id);
}

TEST_P(OfficeSuite, OfEightThreadsSettlingOneLeaseOneSucceeds) {
  append(a_waiting(1, noon));
  const Claim held = claim(1, noon).at(0);
  std::atomic<int> settled{0};
  std::atomic<int> lost{0};
  Office& shared = office();
  at_once([&](int) {
    Transition done = to(Status::resolved, 1, noon + seconds{1});
    done.lease = held.lease;
    const auto answer = shared.apply(std::vector<Change>{done});
    if (answer) settled.fetch_add(1);
    if (!answer && answer.error().code == Code::lease_lost) lost.fetch_add(1);
  });
  EXPECT_EQ(settled.load(), 1);
  EXPECT_EQ(lost.load(), threads - 1);
  EXPECT_EQ(record(id_of(1)).version, 3U);
}

TEST_P(OfficeSuite, OfEightThreadsChangingOneVersionOneSucceeds) {
  append(a_letter(1));
  constexpr std::uint64_t rounds = 20;
  std::atomic<std::uint64_t> wins{0};
  Office& shared = office();
  at_once([&](int i) {
    for (std::uint64_t version = 1; version <= rounds; ++version) {
      Transition change = to(Status::pending, 1);
      change.expected_version = version;
      change.tags = std::vector<std::string>{"thread " + std::to_string(i)};
      const auto answer = shared.apply(std::vector<Change>{change});
      if (answer) wins.fetch_add(1);
      // A thread that runs ahead of the version waits for the others to get there.
      if (!answer && must(shared.get(id_of(1))).record.version < version + 1) --version;
    }
  });
  EXPECT_EQ(wins.load(), rounds);
  EXPECT_EQ(record(id_of(1)).version, rounds + 1);
}

TEST_P(OfficeSuite, AFollowerOfChangesMissesNone) {
  constexpr std::uint64_t each = 40;
  std::atomic<int> writing{threads - 1};
  Office& shared = office();
  std::map<RecordId, std::uint64_t> seen;
  at_once([&](int i) {
    if (i > 0) {
      for (std::uint64_t k = 0; k < each; ++k) {
        const std::uint64_t n = static_cast<std::uint64_t>(i) * 1'000 + k;
        must(shared.apply(std::vector<Change>{append_of(a_letter(n))}));
        if (k % 3 == 0) must(shared.apply(std::vector<Change>{to(Status::exhausted, n)}));
      }
      writing.fetch_sub(1);
      return;
    }
    std::uint64_t after = 0;
    for (bool last = false; !last;) {
      last = writing.load() == 0;
      for (;;) {
        const auto notes = must(shared.changes_since(after, 5));
        if (notes.empty()) break;
        for (const ChangeNote& note : notes) {
          if (note.change <= after) throw std::runtime_error("changes out of order");
          after = note.change;
          seen[note.id] = note.change;
        }
      }
    }
  });
  EXPECT_EQ(seen.size(), each * (threads - 1));
  for (const auto& [id, change] : seen) EXPECT_EQ(record(id).change, change) << to_string(id);
}

TEST_P(OfficeSuite, AReaderNeverSeesHalfAList) {
  // Each list appends a pair and moves it; tallies and pairs are whole at any moment.
  constexpr std::uint64_t pairs = 30;
  std::atomic<int> writing{threads / 2};
  Office& shared = office();
  at_once([&](int i) {
    if (i < threads / 2) {
      for (std::uint64_t k = 0; k < pairs; ++k) {
        const std::uint64_t n = static_cast<std::uint64_t>(i) * 1'000 + 2 * k + 1;
        must(shared.apply(std::vector<Change>{append_of(a_letter(n)), append_of(a_letter(n + 1))}));
        must(shared.apply(
            std::vector<Change>{to(Status::resolved, n), to(Status::resolved, n + 1)}));
      }
      writing.fetch_sub(1);
      return;
    }
    while (writing.load() > 0) {
      for (const Tally& tally : must(shared.aggregate({})).tallies) {
        if (tally.count % 2 != 0) throw std::runtime_error("half a list was counted");
      }
      Query query;
      query.limit = 10'000;
      query.time_box = seconds{60};
      if (must(shared.list(query)).rows.size() % 2 != 0) {
        throw std::runtime_error("half a list was listed");
      }
    }
  });
  EXPECT_EQ(tally("orders", Status::resolved, "network"), pairs * threads);
}

/// What one of eight threads does to a shared office: whatever comes to its mind.
class Worker {
 public:
  Worker(Office& office, int seed)
      : office_(office), random_(static_cast<std::uint32_t>(seed) + 7) {}

  void step() {
    switch (pick(6)) {
      case 0:
      case 1:
        return append();
      case 2:
        return work();
      case 3:
        return move();
      default:
        return look();
    }
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  TimePoint now() { return noon + seconds{pick(100)}; }

  void append() {
    DeadLetter letter = a_waiting(pick(80) + 1, now());
    letter.occurrence = static_cast<std::uint32_t>(pick(3) + 1);
    letter.fingerprint.hash = group_of(pick(3));
    letter.category = pick(2) == 0 ? "network" : "validation";
    if (pick(2) == 0) letter.status = Status::pending;
    must(office_.apply(std::vector<Change>{append_of(letter, {an_attempt(1)}),
                                           AddAudit{noon, "worker", "append", "", ""}}));
  }
  void work() {
    const TimePoint then = now();
    for (const Claim& claim : must(office_.claim(3, then, seconds{20}, ""))) {
      Transition done;
      done.id = claim.record.id;
      done.lease = claim.lease;
      done.now = then + seconds{pick(25)};
      done.to = pick(2) == 0 ? Status::resolved : Status::exhausted;
      allow(office_.apply(std::vector<Change>{AddAttempt{done.id, an_attempt(2)}, done}));
    }
  }
  void move() {
    Transition change = to(all_statuses()[pick(status_count)], pick(80) + 1, now());
    if (carries_lease(change.to)) change.lease_for = seconds{20};
    change.fingerprint = Fingerprint{group_of(pick(3)), "", ""};
    allow(office_.apply(std::vector<Change>{change}));
    allow(office_.apply(std::vector<Change>{Remove{id_of(pick(80) + 1)}}));
  }
  void look() {
    Query query;
    query.limit = 10;
    must(office_.list(query));
    must(office_.aggregate({}));
    const auto found = office_.get(id_of(pick(80) + 1));
    if (!found && found.error().code != Code::not_found) must(found);
  }
  /// Losing a race is no failure; anything else is.
  static void allow(const Result<std::vector<Applied>>& answer) {
    if (answer) return;
    const Code code = answer.error().code;
    if (code != Code::conflict && code != Code::not_found && code != Code::lease_lost) must(answer);
  }

  Office& office_;
  std::mt19937 random_;
};

TEST_P(OfficeSuite, AfterEightThreadsOfEverythingTheBooksBalance) {
  Office& shared = office();
  at_once([&](int i) {
    Worker worker(shared, i);
    for (int step = 0; step < 60; ++step) worker.step();
  });
  Query query;
  query.statuses.assign(all_statuses().begin(), all_statuses().end());
  std::map<std::tuple<std::string, Status, std::string>, std::uint64_t> recount;
  std::map<Id128, std::uint64_t> open;
  std::set<RecordId> distinct;
  std::set<std::uint64_t> changes;
  for (const RecordHead& row : walk(query)) {
    ++recount[{row.source, row.status, row.category}];
    if (is_open(row.status)) ++open[row.group];
    EXPECT_TRUE(distinct.insert(row.id).second);
    EXPECT_TRUE(changes.insert(row.change).second) << "a change number is given once";
  }
  const Aggregate numbers = must(office().aggregate({}));
  EXPECT_EQ(numbers.tallies.size(), recount.size());
  for (const Tally& tally : numbers.tallies) {
    EXPECT_EQ(tally.count, (recount[{tally.source, tally.status, tally.category}]));
  }
  for (std::uint64_t n = 0; n < 3; ++n) {
    const auto kept = group(group_of(n));
    EXPECT_EQ(kept ? kept->open : 0, open[group_of(n)]) << n;
    EXPECT_GE(kept ? kept->total : 0, open[group_of(n)]) << n;
  }
  EXPECT_EQ(must(office().changes_since(0, 100'000)).size(), distinct.size());
  EXPECT_EQ(first_broken(must(ledger().audit(0, 100'000))), std::nullopt);
}

}  // namespace
}  // namespace dlo::testing
