#include "dlo/jobs/job_index.h"

#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

namespace dlo {
namespace {

constexpr const char* keeper_kind = "keeper";
constexpr const char* adopted_key = "jobs_indexed";
constexpr std::size_t at_once = 200;
constexpr std::size_t time_digits = 11;

std::string forget_key(TimePoint since, const std::string& job) {
  char time[32];
  std::snprintf(time, sizeof time, "%011llx",
                static_cast<unsigned long long>(since.time_since_epoch().count()));
  return time + job;
}

constexpr std::string_view digits = "0123456789abcdef";

Change gone(const char* kind, std::string key) {
  return PutDocument{kind, std::move(key), std::nullopt, std::nullopt};
}
Change there(const char* kind, std::string key) {
  return PutDocument{kind, std::move(key), "{}", std::nullopt};
}

}  // namespace

std::optional<TimePoint> idle_since(const Job& job) noexcept {
  return job.state == JobState::planned ? std::optional(job.created_at) : job.ended_at;
}

void add_index(const Job& job, std::vector<Change>& changes) {
  const bool runs = job.state == JobState::running;
  changes.push_back(runs ? there(running_kind, job.id) : gone(running_kind, job.id));
  const std::string planned = forget_key(job.created_at, job.id);
  const auto since = idle_since(job);
  if (job.state != JobState::planned) changes.push_back(gone(forget_kind, planned));
  if (since) changes.push_back(there(forget_kind, forget_key(*since, job.id)));
  changes.emplace_back(
      PutDocument{newest_kind, newest_key(job.id), newest_text(job), std::nullopt});
}

void remove_index(const Job& job, std::vector<Change>& changes) {
  changes.push_back(gone(newest_kind, newest_key(job.id)));
  changes.push_back(gone(running_kind, job.id));
  if (const auto since = idle_since(job)) {
    changes.push_back(gone(forget_kind, forget_key(*since, job.id)));
  }
}

std::string newest_key(const std::string& id) {
  std::string key;
  for (const char c : id) {
    const auto turned = static_cast<unsigned char>(~static_cast<unsigned char>(c));
    key += digits[turned >> 4U];
    key += digits[turned & 0xFU];
  }
  return key;
}

std::string id_of_newest(const std::string& key) {
  std::string id;
  for (std::size_t i = 0; i + 1 < key.size(); i += 2) {
    const auto high = static_cast<unsigned>(digits.find(key[i]));
    const auto low = static_cast<unsigned>(digits.find(key[i + 1]));
    id += static_cast<char>(~(high << 4U | low) & 0xFFU);
  }
  return id;
}

std::string newest_text(const Job& job) {
  return std::string(name_of(job.state)) + " " + std::string(act_of(job.spec));
}

std::optional<ForgetEntry> parse_forget_key(const std::string& key) {
  if (key.size() <= time_digits) return std::nullopt;
  std::int64_t since = 0;
  const char* const end = key.data() + time_digits;
  const auto [stop, problem] = std::from_chars(key.data(), end, since, 16);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return ForgetEntry{TimePoint{Millis{since}}, key.substr(time_digits)};
}

Result<void> adopt_older_jobs(Office& office) {
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) return {};
  const auto done = ledger->document(keeper_kind, adopted_key);
  if (!done) return done.error();
  if (*done) return {};
  std::string after;
  while (true) {
    const auto read = ledger->documents(job_kind, after, at_once);
    if (!read) return read.error();
    if (read->empty()) break;
    std::vector<Change> changes;
    for (const Document& each : *read) {
      const auto job = parse_job(each.body);
      if (!job) return job.error();
      // Only what is missing: somebody may be changing it right now. Who finds an entry that is not
      // true any more takes it away.
      if (job->state == JobState::running) changes.push_back(there(running_kind, job->id));
      if (const auto since = idle_since(*job)) {
        changes.push_back(there(forget_kind, forget_key(*since, job->id)));
      }
      const std::string key = newest_key(job->id);
      const auto known = ledger->document(newest_kind, key);
      if (!known) return known.error();
      if (!*known) {
        changes.emplace_back(PutDocument{newest_kind, key, newest_text(*job), std::uint64_t{0}});
      }
    }
    if (changes.empty()) {
      after = read->back().key;
      continue;
    }
    const auto applied = office.apply(changes);
    if (!applied && applied.error().code == Code::conflict)
      continue;  // somebody changed one: again
    if (!applied) return applied.error();
    after = read->back().key;
  }
  const Change last = there(keeper_kind, adopted_key);
  const auto applied = office.apply({&last, 1});
  return applied ? Result<void>{} : applied.error();
}

}  // namespace dlo
