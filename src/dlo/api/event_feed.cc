#include "dlo/api/event_feed.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "dlo/jobs/discard_keeper.h"
#include "dlo/json/json.h"
#include "dlo/json/text/value.h"
#include "dlo/json/writer.h"
#include "dlo/store/death_audit.h"

namespace dlo::api {
namespace {

constexpr std::size_t told_at_once = 100;
constexpr std::string_view queue_subject = "queue/";
constexpr std::string_view job_subject = "job ";

bool is_group_act(const AddAudit& act) {
  return act.act == "group" || act.act.starts_with("group.");
}

Event event_of(const AuditEntry& entry, EventPlace place) {
  const AddAudit& act = entry.act;
  Event event{place, "act", "", "", ""};
  JsonWriter json;
  json.begin_object()
      .member("number", entry.number)
      .member("at", act.at)
      .member("actor", act.actor)
      .member("act", act.act)
      .member("subject", act.subject);
  if (act.subject.starts_with(queue_subject)) {
    event.type = "queue";
    event.source = act.subject.substr(queue_subject.size());
    json.member("queue", event.source);
  } else if (act.subject.starts_with(job_subject)) {
    event.type = "job";
    json.member("job", act.subject.substr(job_subject.size()));
  } else if (act.act.starts_with("alert.")) {
    event.type = "alert";
    json.member("alert", act.subject);
  } else if (act.act.starts_with("circuit.")) {
    event.type = "circuit";
    json.member("executor", act.subject);
  } else if (is_group_act(act)) {
    event.type = "group";
    event.group = act.subject;
    json.member("group", act.subject);
  }
  event.data = json.end_object().take();
  return event;
}

/// Those that an entry says were removed. Their place is before the entry: who hears only some of
/// them hears all of them again.
void add_removed(const AuditEntry& entry, const EventPlace& before, std::vector<Event>& events) {
  if (entry.act.act != removal_act) return;
  const auto detail = parse_json(entry.act.detail);
  const JsonValue* all = detail ? detail->find("removed") : nullptr;
  if (all == nullptr) return;
  for (const JsonValue& each : all->items) {
    const auto text = [&each](std::string_view name) {
      const JsonValue* found = each.find(name);
      return found == nullptr ? std::string() : found->text();
    };
    Event event{before, "removed", text("source"), text("group"), ""};
    JsonWriter json;
    json.begin_object().member("id", text("id")).member("at", entry.act.at);
    json.member("source", event.source).member("group", event.group).end_object();
    event.data = json.take();
    events.push_back(std::move(event));
  }
}

}  // namespace

std::string to_string(const EventPlace& place) {
  return std::to_string(place.change) + "-" + std::to_string(place.audit);
}

std::optional<EventPlace> parse_event_place(std::string_view text) noexcept {
  EventPlace place;
  const char* const end = text.data() + text.size();
  const auto change = std::from_chars(text.data(), end, place.change);
  if (change.ec != std::errc() || change.ptr == end || *change.ptr != '-') return std::nullopt;
  const auto audit = std::from_chars(change.ptr + 1, end, place.audit);
  if (audit.ec != std::errc() || audit.ptr != end) return std::nullopt;
  return place;
}

const std::vector<std::string_view>& event_types() {
  static const std::vector<std::string_view> types{"dead_letter", "removed", "group",   "job",
                                                   "queue",       "alert",   "circuit", "act"};
  return types;
}

bool EventFilter::wants(const Event& event) const {
  if (!types.empty() && std::find(types.begin(), types.end(), event.type) == types.end()) {
    return false;
  }
  if (source && event.source != *source) return false;
  return !group || event.group == *group;
}

Result<void> EventFeed::add_changes(Batch& batch) {
  const auto notes = office_.changes_since(batch.next.change, told_at_once);
  if (!notes) return notes.error();
  if (notes->empty()) return {};
  Query query;
  query.limit = notes->size();
  for (const ChangeNote& note : *notes) query.ids.push_back(note.id);
  const auto page = office_.list(query);  // messages that wait are not among them
  if (!page) return page.error();
  std::map<RecordId, const RecordHead*> heads;
  for (const RecordHead& head : page->rows) heads[head.id] = &head;
  for (const ChangeNote& note : *notes) {
    batch.next.change = note.change;
    const auto found = heads.find(note.id);
    if (found == heads.end()) continue;
    const RecordHead& head = *found->second;
    batch.events.push_back(
        {batch.next, "dead_letter", head.source, to_string(head.group), to_json(head)});
  }
  batch.more = notes->size() == told_at_once;
  return {};
}

Result<void> EventFeed::add_acts(Batch& batch) {
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr) return {};
  const auto entries = ledger->audit(batch.next.audit, told_at_once);
  if (!entries) return entries.error();
  for (const AuditEntry& entry : *entries) {
    add_removed(entry, batch.next, batch.events);
    batch.next.audit = entry.number;
    if (entry.act.act == death_act) continue;  // each of them is told as a dead letter
    batch.events.push_back(event_of(entry, batch.next));
  }
  batch.more = batch.more || entries->size() == told_at_once;
  return {};
}

Result<EventFeed::Batch> EventFeed::after(const EventPlace& place) {
  Batch batch;
  batch.next = place;
  if (const auto added = add_changes(batch); !added) return added.error();
  if (const auto added = add_acts(batch); !added) return added.error();
  return batch;
}

Result<EventPlace> EventFeed::newest() {
  AggregateRequest nothing;
  nothing.tallies = false;
  const auto numbers = office_.aggregate(nothing);
  if (!numbers) return numbers.error();
  EventPlace place{numbers->last_change, 0};
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr) return place;
  // Entries are numbered without gaps: find the first number behind which there is none.
  std::uint64_t step = 1;
  bool growing = true;
  while (step > 0) {
    const auto beyond = ledger->audit(place.audit + step - 1, 1);
    if (!beyond) return beyond.error();
    if (beyond->empty()) {
      growing = false;
    } else {
      place.audit += step;
    }
    step = growing ? step * 2 : step / 2;
  }
  return place;
}

std::string event_text(const Event& event) {
  return "id: " + to_string(event.place) + "\nevent: " + event.type + "\ndata: " + event.data +
         "\n\n";
}

}  // namespace dlo::api
