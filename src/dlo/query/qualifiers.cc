#include "dlo/query/qualifiers.h"

#include <algorithm>
#include <array>
#include <vector>

#include "dlo/core/spelling.h"

namespace dlo::query {
namespace {

constexpr Field no_field = Field::id;

constexpr std::array<Qualifier, 29> table{{
    {"status", Kind::status, no_field, "where it stands; open: somebody has to deal with it",
     "open"},
    {"source", Kind::text, Field::source, "where the message came from", "payments"},
    {"category", Kind::text, Field::category, "what kind of failure it was", "network"},
    {"group", Kind::group, Field::group, "the group it belongs to",
     "0f1e2d3c4b5a69788796a5b4c3d2e1f0"},
    {"type", Kind::text, Field::event_type, "event type of the message", "PaymentRetryFailed"},
    {"key", Kind::text, Field::key, "key of the message", "customer-7"},
    {"id", Kind::id, Field::id, "ids of dead letters", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"},
    {"message", Kind::text, Field::message_id, "id its producer gave the message", "m-4711"},
    {"error", Kind::words, Field::error, "words of the error text; all must be there",
     "\"timed out\""},
    {"error_type", Kind::text, Field::error_type, "type of the error", "JsonException"},
    {"reason", Kind::text, Field::reason, "why it was dead-lettered", "MaxDeliveryCountExceeded"},
    {"handler", Kind::text, Field::handler, "what ran the message", "billing"},
    {"node", Kind::text, Field::node, "where it ran", "node-1"},
    {"build", Kind::text, Field::build, "the build that ran it", "1.4.2"},
    {"instance", Kind::text, Field::instance, "instance of a durable runtime", "order-7"},
    {"tag", Kind::tag, Field::tag, "a tag somebody gave it", "vip"},
    {"header.", Kind::header, Field::header, "a header of the message", "acme"},
    {"body.", Kind::body, Field::body, "a field of its JSON payload", "7"},
    {"payload", Kind::words, Field::payload, "words of the payload; all must be there", "4711"},
    {"age", Kind::age, no_field, "how long ago it died", ">2d"},
    {"died", Kind::died, no_field, "when it died: a date, a time or how long ago", ">=2026-03-01"},
    {"failed", Kind::died, no_field, "the same as died", "<24h"},
    {"next_retry", Kind::next_retry, no_field, "when it is retried next", "<1h"},
    {"resolved", Kind::resolved, no_field, "yes, no, or when it was resolved", "no"},
    {"attempts", Kind::attempts, no_field, "how often its handler was started", ">3"},
    {"replayed", Kind::replays, no_field, "how often it was sent back", ">0"},
    {"unsettled", Kind::unsettled, no_field, "yes: its source still holds it", "yes"},
    {"change", Kind::change, no_field, "a frozen set: not changed after this change", "<=4711"},
    {"order", Kind::order, no_field, "which come first", "oldest"},
}};

/// Names people know from elsewhere, and what to write instead.
struct Foreign {
  std::string_view name;
  std::string_view advice;
};
constexpr std::array<Foreign, 7> foreign{{
    {"owner", "owners belong to groups, not to dead letters; ask for the group: group:ID"},
    {"since", "write died:>=2026-03-01, or age:<2d"},
    {"until", "write died:<2026-03-01, or age:>2d"},
    {"text", "write error: for words of the error text, payload: for words of the payload"},
    {"body", "name a field of the payload (body.order.id:7), or search its words (payload:4711)"},
    {"header", "name the header: header.tenant:acme"},
    {"message_id", "write message:"},
}};

}  // namespace

std::span<const Qualifier> qualifiers() noexcept {
  return table;
}

const Qualifier* find_qualifier(std::string_view name) noexcept {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const Qualifier& each) { return each.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Qualifier* qualifier_of(Field field) noexcept {
  const auto found = std::find_if(table.begin(), table.end(), [field](const Qualifier& each) {
    return each.field == field && (field != no_field || each.kind == Kind::id);
  });
  return found == table.end() ? nullptr : &*found;
}

std::string unknown_qualifier(std::string_view name) {
  for (const Foreign& each : foreign) {
    if (each.name == name)
      return std::string(name) + ": is not a qualifier: " + std::string(each.advice);
  }
  std::vector<std::string_view> names;
  for (const Qualifier& each : table) names.push_back(each.name);
  return unknown_name("qualifier", name, names) +
         ". To search for it as text, put it into double quotes";
}

std::optional<std::string>* single_text(Query& query, Field field) noexcept {
  switch (field) {
    case Field::source:
      return &query.source;
    case Field::category:
      return &query.category;
    case Field::event_type:
      return &query.event_type;
    case Field::key:
      return &query.key;
    case Field::message_id:
      return &query.message_id;
    case Field::error_type:
      return &query.error_type;
    case Field::reason:
      return &query.reason;
    case Field::instance:
      return &query.instance;
    case Field::id:
    case Field::group:
    case Field::handler:
    case Field::node:
    case Field::build:
    case Field::tag:
    case Field::header:
    case Field::body:
    case Field::error:
    case Field::payload:
      break;
  }
  return nullptr;
}

std::span<const std::string_view> status_names() noexcept {
  static const auto names = [] {
    std::array<std::string_view, status_count + 1> all{"open"};
    std::transform(all_statuses().begin(), all_statuses().end(), all.begin() + 1,
                   [](Status status) { return name_of(status); });
    return all;
  }();
  return names;
}

}  // namespace dlo::query
