#include "dlo/engine/put_off.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

namespace dlo {
namespace {

/// What comes back that soon needs no calling.
constexpr Millis soon{1'000};
constexpr std::size_t written_at_once = 200;
constexpr std::size_t removed_at_once = 8;
constexpr std::size_t listed_at_once = 100;

/// As a claim that is given back: nobody asked for a retry of this one, so none is counted.
void put_forward(const DeadLetter& record, TimePoint now, std::vector<Change>& changes) {
  Transition move;
  move.id = record.id;
  move.expected_version = record.version;
  move.now = now;
  if (record.status == Status::pending) {
    move.to = Status::retrying;
    move.lease_for = Millis{1'000};
    changes.emplace_back(move);
    move.expected_version.reset();
    move.lease_for.reset();
  }
  move.to = record.status;
  move.next_retry_at = now;
  changes.emplace_back(std::move(move));
}

bool still_waits(const DeadLetter& record, TimePoint until, TimePoint now) {
  const bool at_rest = record.status == Status::pending || record.status == Status::waiting;
  return at_rest && until > now && record.next_retry_at == until;
}

/// One write for all; if somebody moved one of them meanwhile, each by itself. False: not now.
bool write(Office& office, const std::vector<std::vector<Change>>& moves) {
  std::vector<Change> all;
  for (const auto& move : moves) all.insert(all.end(), move.begin(), move.end());
  const auto together = office.apply(all);
  if (!together && is_retryable(together.error().code)) return false;
  if (together) return true;
  for (const auto& move : moves) (void)office.apply(move);
  return true;
}

/// A line each: id, blank, milliseconds.
std::string print(const std::vector<PutOff::Moment>& moments) {
  std::string body;
  for (const auto& [id, until] : moments) {
    body += to_string(id) + " " + std::to_string(until.time_since_epoch().count()) + "\n";
  }
  return body;
}

/// What is no such line is left out: those come by themselves.
std::vector<PutOff::Moment> read(std::string_view body) {
  std::vector<PutOff::Moment> moments;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    const std::string_view line = body.substr(at, end - at);
    at = end + 1;
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const auto id = parse_id(line.substr(0, blank));
    std::int64_t millis = 0;
    const auto read = std::from_chars(line.data() + blank + 1, line.data() + line.size(), millis);
    if (id && read.ec == std::errc{}) moments.push_back({RecordId{*id}, TimePoint{Millis{millis}}});
  }
  return moments;
}

}  // namespace

std::optional<PutOff::Note> PutOff::note(const LeaseToken& lease,
                                         const std::vector<Moment>& moments, TimePoint now,
                                         std::vector<Change>& changes) {
  std::vector<Moment> later;
  std::ranges::copy_if(moments, std::back_inserter(later),
                       [&](const Moment& each) { return each.until > now + soon; });
  if (later.empty()) return std::nullopt;
  Note note{to_string(lease), std::ranges::max(later, {}, &Moment::until).until, {}};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [until, key] : notes_) {
      if (until >= now || note.expired.size() == removed_at_once) break;
      note.expired.push_back(key);
    }
  }
  changes.emplace_back(PutDocument{kind_, note.key, print(later), std::nullopt});
  for (const std::string& key : note.expired) {
    changes.emplace_back(PutDocument{kind_, key, std::nullopt, std::nullopt});
  }
  return note;
}

void PutOff::noted(Note note) {
  const std::lock_guard lock(mutex_);
  std::erase_if(notes_, [&](const auto& each) {
    return std::ranges::find(note.expired, each.second) != note.expired.end();
  });
  notes_.emplace(note.until, std::move(note.key));
}

void PutOff::call() {
  calls_.fetch_add(1);
  const std::lock_guard lock(mutex_);
  for (auto& [until, key] : notes_) coming_.push_back(std::move(key));
  notes_.clear();
  called_ = !coming_.empty() || !knows_older_;
}

bool PutOff::find_older(Ledger& ledger) {
  {
    const std::lock_guard lock(mutex_);
    if (knows_older_) return true;
  }
  std::deque<std::string> keys;
  for (std::string after;;) {
    const auto page = ledger.documents(kind_, after, listed_at_once);
    if (!page) return false;
    for (const Document& each : *page) keys.push_back(each.key);
    if (page->size() < listed_at_once) break;
    after = page->back().key;
  }
  const std::lock_guard lock(mutex_);
  knows_older_ = true;
  for (std::string& key : keys) {
    const bool ours = std::ranges::any_of(notes_, [&](const auto& n) { return n.second == key; });
    if (!ours) coming_.push_back(std::move(key));
  }
  called_ = !coming_.empty();
  return true;
}

std::optional<std::string> PutOff::next_called() {
  const std::lock_guard lock(mutex_);
  called_ = !coming_.empty();
  if (coming_.empty()) return std::nullopt;
  std::string key = std::move(coming_.front());
  coming_.pop_front();
  called_ = !coming_.empty();
  return key;
}

void PutOff::call_again(std::string key) {
  const std::lock_guard lock(mutex_);
  coming_.push_front(std::move(key));
  called_ = true;
}

bool PutOff::bring_noted(Office& office, const std::string& key, TimePoint now,
                         std::size_t& looked_at) const {
  const auto note = office.extras().ledger->document(kind_, key);
  if (!note) return false;
  if (!*note) return true;  // somebody else was here
  std::vector<std::vector<Change>> moves;
  for (const auto& [id, until] : read((*note)->body)) {
    ++looked_at;
    const auto detail = office.get(id);
    if (!detail && is_retryable(detail.error().code)) return false;
    if (!detail || !still_waits(detail->record, until, now)) continue;
    put_forward(detail->record, now, moves.emplace_back());
    if (moves.size() < written_at_once) continue;
    if (!write(office, moves)) return false;
    moves.clear();
  }
  moves.push_back({PutDocument{kind_, key, std::nullopt, std::nullopt}});
  return write(office, moves);
}

void PutOff::bring(Office& office, TimePoint now, std::size_t limit) {
  Ledger* const ledger = office.extras().ledger;
  if (ledger == nullptr) {
    called_ = false;
    return;
  }
  if (!find_older(*ledger)) return;
  for (std::size_t looked_at = 0; looked_at < limit; ++looked_at) {
    auto key = next_called();
    if (!key) return;
    if (!bring_noted(office, *key, now, looked_at)) return call_again(std::move(*key));
  }
}

}  // namespace dlo
