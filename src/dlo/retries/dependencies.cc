#include "dlo/retries/dependencies.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "dlo/core/spelling.h"
#include "dlo/retries/task_book.h"

namespace dlo {
namespace {

constexpr std::size_t most_held = 100'000;
constexpr std::size_t read_at_once = 500;

std::string waits_text(const std::vector<std::string>& tasks) {
  std::string names;
  for (const std::string& each : tasks) names += (names.empty() ? "" : ", ") + in_quotes(each);
  return "It waits for " + names + ".";
}

/// "due reported", in milliseconds.
std::string body_of(TimePoint due, TimePoint reported_at) {
  return std::to_string(due.time_since_epoch().count()) + " " +
         std::to_string(reported_at.time_since_epoch().count());
}

std::optional<TimePoint> read_time(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return TimePoint{Millis{value}};
}

void take_out(std::map<std::string, std::set<Dependencies::Ticket>>& index, const std::string& name,
              Dependencies::Ticket ticket) {
  const auto found = index.find(name);
  if (found == index.end()) return;
  found->second.erase(ticket);
  if (found->second.empty()) index.erase(found);
}

/// Whoever moves one that waits elsewhere, or sets its next retry, wants it to wait no longer.
bool releases(const Transition& move) {
  return !move.lease && (move.to != Status::pending || move.next_retry_at);
}

/// Whoever opens one again, and sets nothing else, brings it back as it was.
bool reopens(const Transition& move) {
  return is_open(move.to) && !move.lease && !move.lease_for && !move.next_retry_at && !move.tags &&
         !move.reason;
}

/// Of what is removed nothing is left that could be asked afterwards.
bool is_removed_by(std::span<const Change> changes, const RecordId& id) {
  return std::ranges::any_of(changes, [&](const Change& change) {
    const auto* const move = std::get_if<Transition>(&change);
    return move != nullptr && move->id == id &&
           (move->to == Status::discarded || move->to == Status::expired);
  });
}

/// An office that cannot be read will not write either.
std::vector<RecordHead> heads_of(Office& office, std::vector<RecordId> ids) {
  if (ids.empty()) return {};
  Query query;
  query.limit = ids.size();
  query.ids = std::move(ids);
  query.statuses.assign(all_statuses().begin(), all_statuses().end());
  auto page = office.list(query);
  return page ? std::move(page->rows) : std::vector<RecordHead>{};
}

bool waited(const RecordHead& head) {
  return is_closed(head.status) && (head.reason == waits_reason || head.reason == blocked_reason);
}

/// What of a verdict has to be written about a record.
Transition move_for(const DeadLetter& record, const DependencyVerdict& verdict, TimePoint due,
                    const std::vector<std::string>& tasks, TimePoint now) {
  Transition move;
  move.id = record.id;
  move.to = Status::pending;
  move.now = now;
  if (std::holds_alternative<Ready>(verdict)) {
    move.next_retry_at = std::max(now, due);
    move.reason = record.category;
    move.description = "";
  } else if (const auto* wait = std::get_if<Wait>(&verdict)) {
    move.next_retry_at = wait->until;
    move.clear_next_retry = !wait->until;
    if (record.reason == blocked_reason) {
      move.reason = std::string(waits_reason);
      move.description = waits_text(tasks);
    }
  } else {
    move.clear_next_retry = true;
    move.reason = std::string(blocked_reason);
    move.description = std::get<Blocked>(verdict).why;
  }
  return move;
}

bool changes_nothing(const DeadLetter& record, const DependencyVerdict& verdict) {
  if (std::holds_alternative<Ready>(verdict)) return false;
  if (const auto* wait = std::get_if<Wait>(&verdict)) {
    return record.next_retry_at == wait->until && record.reason != blocked_reason;
  }
  return record.reason == blocked_reason && !record.next_retry_at;
}

}  // namespace

std::string Dependencies::name_in(const std::string& source, const std::string& task) {
  return source + '\0' + task;
}

Change Dependencies::removal(const RecordId& id, std::optional<std::uint64_t> version) {
  return PutDocument{kind, to_string(id), std::nullopt, version};
}

std::optional<Dependencies::Held> Dependencies::held(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(ticket);
  return found == held_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Dependencies::Ticket> Dependencies::ticket_of(const RecordId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? std::nullopt : std::optional(found->second);
}

void Dependencies::keep(Ticket ticket, Held held) {
  by_task_[name_in(held.source, held.task)].insert(ticket);
  for (const auto& task : held.tasks) waiting_on_[name_in(held.source, task)].insert(ticket);
  if (held.id) by_id_[*held.id] = ticket;
  held_[ticket] = std::move(held);
}

void Dependencies::forget(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(ticket);
  if (found == held_.end()) return;
  const Held& held = found->second;
  take_out(by_task_, name_in(held.source, held.task), ticket);
  for (const auto& task : held.tasks) take_out(waiting_on_, name_in(held.source, task), ticket);
  if (held.id) {
    const auto known = by_id_.find(*held.id);
    if (known != by_id_.end() && known->second == ticket) by_id_.erase(known);
  }
  held_.erase(found);
}

Result<Dependencies::Ticket> Dependencies::begin(const Message& task) {
  Held held;
  held.source = task.source;
  held.task = task.id;
  held.tasks = depends_on(task.headers);
  held.reported_at = clock_.now();
  if (auto checked = check_prerequisites(held.tasks); !checked) return checked.error();
  const std::lock_guard lock(mutex_);
  const auto way = way_back(held);
  if (!way) return way.error();
  if (!way->empty()) {
    return Error{Code::conflict, "tasks.depends_on",
                 "These tasks would wait for each other for ever: " + way_in_words(*way) +
                     ". Nothing was kept: the message is still yours."};
  }
  if (held_.size() >= most_held) {
    return Error{Code::full, "tasks.depends_on", "Too many tasks wait for others already."};
  }
  const Ticket ticket = ++last_;
  keep(ticket, std::move(held));
  return ticket;
}

void Dependencies::hold(Ticket ticket, const RecordId& id, TimePoint due,
                        std::vector<Change>& changes) {
  const std::lock_guard lock(mutex_);
  Held& held = held_.at(ticket);
  held.id = id;
  held.due = due;
  held.was_held = by_id_.contains(id);
  for (Change& change : changes) {
    auto* const append = std::get_if<Append>(&change);
    if (append == nullptr || append->record->id != id) continue;
    auto record = std::make_shared<DeadLetter>(*append->record);
    record->next_retry_at = deadline_of(held.reported_at, timeout_);
    record->reason = std::string(waits_reason);
    record->description = waits_text(held.tasks);
    append->record = std::move(record);
  }
  changes.emplace_back(
      PutDocument{kind, to_string(id), body_of(due, held.reported_at), std::nullopt});
}

DependencyVerdict Dependencies::written(Ticket ticket, bool merged) {
  const auto held = this->held(ticket);
  if (!held || !held->id) return Ready{};
  if (merged && !held->was_held) {  // it was here before, and waits for nobody any more
    drop_document(*held->id);
    forget(ticket);
    return Ready{};
  }
  if (const auto before = ticket_of(*held->id)) forget(*before);
  {
    const std::lock_guard lock(mutex_);
    by_id_[*held->id] = ticket;
  }
  auto verdict = judge_one(ticket);
  if (verdict) return std::move(*verdict);
  return Wait{deadline_of(held->reported_at, timeout_)};
}

/// False: it waits no longer, whatever the verdict is.
Result<bool> Dependencies::write(const Held& held, const DependencyVerdict& verdict,
                                 const Claim* claim) {
  const auto version = version_of(*held.id);
  if (!version) return version.error();
  if (*version == 0) return false;
  const auto detail = office_.get(*held.id);
  if (!detail && detail.error().code != Code::not_found) return detail.error();
  if (!detail || (claim == nullptr && detail->record.status != Status::pending)) {
    drop_document(*held.id);
    return false;
  }
  const bool runs = std::holds_alternative<Ready>(verdict);
  std::vector<Change> changes;
  if (claim == nullptr) {
    if (changes_nothing(detail->record, verdict)) return true;
    Transition move = move_for(detail->record, verdict, held.due, held.tasks, clock_.now());
    move.expected_version = detail->record.version;
    changes.emplace_back(std::move(move));
  } else if (!runs) {
    Transition move = move_for(claim->record, verdict, held.due, held.tasks, clock_.now());
    move.lease = claim->lease;
    move.counters = claim->record.counters;
    if (move.counters->fetch > 0) --move.counters->fetch;  // nobody has seen it
    changes.emplace_back(std::move(move));
  }
  // As it was read: whoever else judges it lets it go once.
  if (runs) changes.push_back(removal(*held.id, *version));
  const auto applied = office_.apply(changes);
  if (!applied) return applied.error();
  return !runs;
}

Result<DependencyVerdict> Dependencies::judge_one(Ticket ticket, const Claim* claim) {
  constexpr int tries = 3;  // somebody may change the record at the same time
  Result<DependencyVerdict> verdict = DependencyVerdict(Ready{});
  for (int i = 0; i < tries; ++i) {
    auto held = this->held(ticket);
    if (!held || !held->id) return DependencyVerdict(Ready{});
    verdict = verdict_on(*held);
    if (!verdict) return verdict;
    const auto waits = write(*held, *verdict, claim);
    if (waits && !*waits) {
      forget(ticket);
      return DependencyVerdict(Ready{});
    }
    if (waits) {
      judged(ticket, *held, *verdict);
      return verdict;
    }
    if (waits.error().code != Code::conflict) return waits.error();
  }
  return verdict;
}

void Dependencies::drop_document(const RecordId& id) {
  const Change gone = removal(id);
  (void)office_.apply({&gone, 1});  // if it stays, it is judged and dropped at the next start
}

Dependencies::Touched Dependencies::touched_by(std::span<const Change> changes) {
  Touched touched;
  std::vector<RecordId> moved;
  std::set<RecordId> ended;
  const auto touch = [&](const std::string& source, const std::string& task, bool all) {
    const auto found = waiting_on_.find(name_in(source, task));
    if (found == waiting_on_.end()) return;
    for (const Ticket ticket : found->second) {
      if (all || held_.at(ticket).blocked) touched.dependents.insert(ticket);
    }
  };
  {
    const std::lock_guard lock(mutex_);
    for (const Change& change : changes) {
      if (const auto* const append = std::get_if<Append>(&change); append && !held_.empty()) {
        touch(append->record->message->source, append->record->message->id, false);
      }
      const auto* const move = std::get_if<Transition>(&change);
      if (move == nullptr) continue;
      const bool ends = is_closed(move->to) && !held_.empty();
      if (ends) ended.insert(move->id);
      if (ends || reopens(*move)) moved.push_back(move->id);
      const auto found = by_id_.find(move->id);
      if (found == by_id_.end() || !releases(*move)) continue;
      if (touched.released.insert(found->second).second) touched.also.push_back(removal(move->id));
    }
  }
  for (const RecordHead& head : heads_of(office_, std::move(moved))) {
    const bool all = ended.contains(head.id);
    // Its document went when it was closed.
    const Document again{.key = to_string(head.id), .body = body_of(clock_.now(), head.died_at)};
    if (!all && waited(head) && !holds(head.id) && load_one(again)) {
      touched.also.emplace_back(PutDocument{kind, again.key, again.body, std::nullopt});
      touched.dependents.insert(ticket_of(head.id).value_or(0));
    }
    const std::lock_guard lock(mutex_);
    touch(head.source, head.message_id, all);
    if (all && is_removed_by(changes, head.id)) give_up(head);
  }
  return touched;
}

/// With those that could not be written before: the office may work again.
void Dependencies::judge_all(std::set<Ticket> tickets) {
  {
    const std::lock_guard lock(mutex_);
    tickets.merge(behind_);
    behind_.clear();
  }
  for (const Ticket ticket : tickets) {
    if (judge_one(ticket)) continue;
    const std::lock_guard lock(mutex_);
    behind_.insert(ticket);
  }
}

void Dependencies::applied(const Touched& touched) {
  for (const Ticket ticket : touched.released) forget(ticket);
  judge_all(touched.dependents);
}

std::vector<Claim> Dependencies::ready(std::vector<Claim> claims) {
  std::erase_if(claims, [&](const Claim& claim) {
    auto ticket = ticket_of(claim.record.id);
    if (!ticket && is_waiting(claim.was, claim.record.reason)) ticket = look_up(claim.record.id);
    if (!ticket) return false;
    const auto verdict = judge_one(*ticket, &claim);
    return !verdict || !std::holds_alternative<Ready>(*verdict);
  });
  judge_all({});
  return claims;
}

Result<void> Dependencies::load_one(const Document& document) {
  const auto id = parse_id(document.key);
  const auto blank = document.body.find(' ');
  if (!id || blank == std::string::npos) return {};
  const auto detail = office_.get(RecordId{*id});
  if (!detail && detail.error().code != Code::not_found) return detail.error();
  if (!detail) {
    drop_document(RecordId{*id});
    return {};
  }
  const std::string_view body = document.body;
  Held held;
  held.source = detail->record.message->source;
  held.task = detail->record.message->id;
  held.tasks = depends_on(detail->record.message->headers);
  held.id = RecordId{*id};
  held.due = read_time(body.substr(0, blank)).value_or(clock_.now());
  held.reported_at = read_time(body.substr(blank + 1)).value_or(clock_.now());
  // Before its time was over: for one of them was given up, of which nothing may be left.
  const bool blocked = detail->record.reason == blocked_reason;
  if (blocked && clock_.now() < deadline_of(held.reported_at, timeout_)) {
    held.given_up.insert(held.tasks.begin(), held.tasks.end());
  }
  const std::lock_guard lock(mutex_);
  keep(++last_, std::move(held));
  return {};
}

Result<void> Dependencies::load() {
  Ledger* const ledger = office_.extras().ledger;
  if (ledger == nullptr) return {};
  AggregateRequest nothing;
  nothing.tallies = false;
  if (const auto numbers = office_.aggregate(nothing)) seen_ = numbers->last_change;
  std::string after;
  while (true) {
    const auto documents = ledger->documents(kind, after, read_at_once);
    if (!documents) return documents.error();
    for (const Document& document : *documents) {
      if (auto loaded = load_one(document); !loaded) return loaded;
    }
    if (documents->size() < read_at_once) break;
    after = documents->back().key;
  }
  std::vector<Ticket> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, held] : held_) all.push_back(ticket);
  }
  for (const Ticket ticket : all) {
    if (auto judged = judge_one(ticket); !judged) return judged.error();
  }
  return {};
}

Dependencies::Numbers Dependencies::numbers() const {
  const std::lock_guard lock(mutex_);
  Numbers numbers;
  for (const auto& [ticket, held] : held_) ++(held.blocked ? numbers.blocked : numbers.waiting);
  return numbers;
}

}  // namespace dlo
