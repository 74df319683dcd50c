#include "dlo/api/curtain.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "dlo/api/audit_text.h"
#include "dlo/json/text/mask.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr const char* where = "api.masked";

Error no_right(const std::string& what) {
  return {Code::refused, where,
          what +
              " is masked, and you may not see it. Ask an admin for a token with the action "
              "`reveal`"};
}

/// One is within the other, or they are the same.
bool begin_alike(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto size = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return std::equal(a.begin(), a.begin() + size, b.begin());
}

}  // namespace

bool may_reveal(const Actor& actor) noexcept {
  if (actor.role == Role::admin) return allows_action(actor.scope, reveal_action);
  const auto& actions = actor.scope.actions;
  return std::find(actions.begin(), actions.end(), reveal_action) != actions.end();
}

const Curtain& curtain_of(const Request& request) {
  static const Curtain nothing;
  return request.curtain == nullptr ? nothing : *request.curtain;
}

bool is_hidden_in(const RecordDetail& kept, const RecordDetail& shown) {
  const Message& before = *kept.record.message;
  const Message& after = *shown.record.message;
  if (before.headers != after.headers || before.payload != after.payload) return true;
  return !std::equal(kept.versions.begin(), kept.versions.end(), shown.versions.begin(),
                     shown.versions.end(), [](const Version& a, const Version& b) {
                       return a.headers == b.headers && a.payload == b.payload;
                     });
}

Curtain::Curtain(std::vector<FieldPath> masked) : masked_(std::move(masked)) {
  for (const FieldPath& path : masked_) {
    if (path.field == Field::header) {
      headers_.push_back(path.header);
    } else {
      paths_.push_back(path.path);
    }
  }
}

void Curtain::hide(Headers& headers, std::optional<std::string>& payload) const {
  for (Header& header : headers) {
    if (!masks_header(header.name)) continue;
    header.value = mask_text;
    header.type = HeaderType::text;
  }
  if (paths_.empty() || !payload || payload->empty()) return;
  payload = mask_json(*payload, paths_).value_or(std::string(mask_text));
}

MessagePtr Curtain::hidden(const MessagePtr& message) const {
  if (masked_.empty()) return message;
  auto copy = std::make_shared<Message>(*message);
  hide(copy->headers, copy->payload);
  return copy;
}

DeadLetter Curtain::hidden(DeadLetter record) const {
  record.message = hidden(record.message);
  return record;
}

RecordDetail Curtain::hidden(RecordDetail detail) const {
  if (masked_.empty()) return detail;
  detail.record.message = hidden(detail.record.message);
  for (Version& version : detail.versions) hide(version.headers, version.payload);
  return detail;
}

Draft Curtain::hidden(Draft draft) const {
  hide(draft.headers, draft.payload);
  return draft;
}

Difference Curtain::difference(const Draft& before, const Draft& after) const {
  return difference_of(hidden(before), hidden(after));
}

Result<RecordDetail> Curtain::shown(Office& office, const Request& request,
                                    RecordDetail detail) const {
  const auto reveal = request.flag("reveal");
  if (!reveal) return reveal.error();
  if (!*reveal || masked_.empty()) return hidden(std::move(detail));
  if (!may_reveal(request.actor)) {
    request.note_refused_look("it may not reveal masked places");
    return no_right("What you ask for");
  }
  JsonWriter places;
  places.begin_object().key("places").begin_array();
  for (const FieldPath& path : masked_) places.text(path.name());
  places.end_array().end_object();
  const Change note = audit_of(request, reveal_action, to_string(detail.record.id), places.take());
  if (const auto noted = office.apply({&note, 1}); !noted) return noted.error();
  return detail;
}

bool Curtain::is_masked(const FieldPath& path) const {
  if (path.field == Field::header) {
    return masks_header(path.header);
  }
  return is_masked(path.path.steps);
}

// Within a masked place, or around one.
bool Curtain::is_masked(const std::vector<std::string>& steps) const {
  return std::any_of(paths_.begin(), paths_.end(),
                     [&](const JsonPath& each) { return begin_alike(each.steps, steps); });
}

Result<void> Curtain::check(const Recipe& recipe, const Request& request) const {
  if (paths_.empty() || may_reveal(request.actor)) return {};
  const auto looks = [this](const PatchOperation& each) {
    using Kind = PatchOperation::Kind;
    if (each.kind == Kind::test) return is_masked(each.path);
    return (each.kind == Kind::move || each.kind == Kind::copy) && is_masked(each.from);
  };
  for (const RecipeStep& step : recipe) {
    const bool moves = step.kind == RecipeStep::Kind::rename && is_masked(step.path);
    if (!moves && std::none_of(step.patch.begin(), step.patch.end(), looks)) continue;
    request.note_refused_look("a recipe that looks at a masked place");
    return no_right("A place that the recipe moves, copies or tests");
  }
  return {};
}

Result<void> Curtain::check(const JsonSchema& schema, const Request& request) const {
  if (may_reveal(request.actor)) return {};
  for (const JsonPath& path : paths_) {
    if (!schema.looks_at(path.steps)) continue;
    request.note_refused_look("a schema about a masked place");
    return no_right("A place that the schema has rules for");
  }
  return {};
}

void Curtain::hide(std::vector<SchemaComplaint>& complaints, const Request& request) const {
  if (paths_.empty() || may_reveal(request.actor)) return;
  const auto is_about_masked = [this](const SchemaComplaint& complaint) {
    return std::any_of(paths_.begin(), paths_.end(), [&](const JsonPath& each) {
      const bool around = complaint.steps.size() < each.steps.size();
      return (!around || complaint.of_value) && begin_alike(each.steps, complaint.steps);
    });
  };
  if (std::erase_if(complaints, is_about_masked) == 0) return;
  complaints.push_back({"a masked place does not fit", {}, false});
}

Result<void> Curtain::check(const Query& query, const Request& request) const {
  bool words = !query.payload_words.empty();
  for (const FieldTest& test : query.tests) {
    words = words || test.field == Field::payload;
    const auto path = path_of(test);
    if (!path || !is_masked(*path) || may_reveal(request.actor)) continue;
    request.note_refused_look("a query about a masked place");
    return no_right("`" + path->name() + "`");
  }
  if (!words || paths_.empty()) return {};
  return Error{Code::invalid_argument, where,
               "Words of payloads cannot be searched: places in them are masked, so payloads are "
               "in no text index. Search by error text, source, type, key, tag or a path instead"};
}

Result<void> Curtain::check(const Draft& draft) const {
  bool found = !paths_.empty() && draft.payload && holds_mask(*draft.payload, paths_);
  for (const Header& header : draft.headers) {
    found = found || (masks_header(header.name) && header.value == mask_text);
  }
  if (!found) return {};
  return Error{Code::invalid_argument, where,
               "The edit would write the mask " + std::string(mask_text) +
                   " in place of a masked value. Change single places with a `recipe`, or begin "
                   "with what `reveal=true` shows. Nothing was changed"};
}

}  // namespace dlo::api
