#include "dlo/jobs/discard_keeper.h"

#include <string>
#include <utility>
#include <vector>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/former.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr std::size_t at_once = 100;  // one entry of the trail names them all
constexpr std::size_t most_rounds = 10;
constexpr const char* keeper_kind = "keeper";
constexpr const char* adopted_key = "discards_adopted";

/// One round: what is due of the next few, and what is noted of it.
class Round {
 public:
  Round(Office& office, Millis grace, TimePoint now)
      : office_(office), due_(now - grace), now_(now) {}

  /// False if nothing is due any more.
  Result<bool> gather() {
    const auto entries = office_.extras().ledger->documents(discard_kind, "", at_once);
    if (!entries) return entries.error();
    json_.begin_object().key("removed").begin_array();
    for (const Document& entry : *entries) {
      const auto read = parse_discard_key(entry.key);
      if (read && read->at > due_) break;
      if (read) {
        if (auto added = add(*read); !added) return added.error();
      }
      changes_.emplace_back(PutDocument{discard_kind, entry.key, std::nullopt, std::nullopt});
    }
    json_.end_array().end_object();
    return !changes_.empty();
  }

  Result<std::size_t> carry_out() {
    if (removed_ > 0) {
      changes_.emplace_back(AddAudit{now_, "office", std::string(removal_act),
                                     std::to_string(removed_) + " dead letters", json_.take()});
    }
    const auto applied = office_.apply(changes_);
    if (!applied) return applied.error();
    return removed_;
  }

 private:
  /// It may have been restored since, removed, or discarded once more, later.
  Result<void> add(const DiscardEntry& entry) {
    const auto detail = office_.get(entry.id);
    if (!detail && detail.error().code == Code::not_found) return {};
    if (!detail) return detail.error();
    const auto at = discarded_at(office_, entry.id);
    if (!at) return at.error();
    const DeadLetter& record = detail->record;
    if (record.status != Status::discarding || *at != entry.at) return {};
    Transition last;
    last.id = record.id;
    last.expected_version = record.version;
    last.to = Status::discarded;
    last.now = now_;
    changes_.emplace_back(std::move(last));
    changes_.emplace_back(Remove{record.id});
    changes_.emplace_back(
        PutDocument{former_kind, to_string(record.id), std::nullopt, std::nullopt});
    json_.begin_object().member("id", to_string(record.id));
    json_.member("source", record.message->source);
    json_.member("group", to_string(record.fingerprint.hash)).end_object();
    ++removed_;
    return {};
  }

  Office& office_;
  const TimePoint due_;
  const TimePoint now_;
  std::vector<Change> changes_;
  JsonWriter json_;
  std::size_t removed_ = 0;
};

/// What was discarded by a version that did not note when: its grace begins now. Looked for once in
/// the life of an office.
Result<void> adopt_older(Office& office, TimePoint now) {
  const auto done = office.extras().ledger->document(keeper_kind, adopted_key);
  if (!done) return done.error();
  if (*done) return {};
  Query query;
  query.statuses = {Status::discarding};
  query.order = Order::oldest_first;
  query.limit = at_once;
  do {
    const auto page = office.list(query);
    if (!page) return page.error();
    std::vector<Change> changes;
    for (const RecordHead& head : page->rows) {
      const auto at = discarded_at(office, head.id);
      if (!at) return at.error();
      if (*at) continue;
      auto noted = note_discard(office, head.id, now);
      if (!noted) return noted.error();
      for (Change& each : *noted) changes.push_back(std::move(each));
    }
    if (!changes.empty()) {
      if (const auto applied = office.apply(changes); !applied) return applied.error();
    }
    query.after = page->next;
  } while (query.after);
  const Change last = PutDocument{keeper_kind, adopted_key, "{}", std::nullopt};
  const auto applied = office.apply({&last, 1});
  return applied ? Result<void>{} : applied.error();
}

}  // namespace

Result<std::size_t> sweep_discarded(Office& office, Millis grace, TimePoint now) {
  std::size_t removed = 0;
  if (office.extras().ledger == nullptr) return removed;
  if (auto adopted = adopt_older(office, now); !adopted) return adopted.error();
  for (std::size_t i = 0; i < most_rounds; ++i) {
    Round round(office, grace, now);
    const auto some = round.gather();
    if (!some) return some.error();
    if (!*some) break;
    const auto done = round.carry_out();
    if (!done && is_overtaken(done.error())) continue;  // somebody restored one just now
    if (!done) return done.error();
    removed += *done;
  }
  return removed;
}

}  // namespace dlo
