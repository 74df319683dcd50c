#include "dlo/store/field_tests.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "dlo/store/rules.h"

namespace dlo {
namespace {

constexpr std::uint8_t bit(Part part) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(part));
}

bool is_one_of(std::string_view value, const std::vector<std::string>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool has_words_of_one(std::string_view text, const std::vector<std::string>& values) {
  return std::any_of(values.begin(), values.end(),
                     [text](const std::string& words) { return has_words(text, words_of(words)); });
}

/// The field of a record that is one text; nothing where there is no such field.
std::optional<std::string_view> text_of(Field field, const DeadLetter& record) {
  const Message& message = *record.message;
  switch (field) {
    case Field::source:
      return message.source;
    case Field::category:
      return record.category;
    case Field::event_type:
      return message.event_type;
    case Field::key:
      return message.key;
    case Field::message_id:
      return message.id;
    case Field::error_type:
      return record.failure.type;
    case Field::reason:
      return record.reason;
    case Field::instance:
      if (!message.owner) return std::nullopt;
      return message.owner->instance;
    case Field::handler:
      return record.handler;
    case Field::node:
      return record.node;
    case Field::build:
      return record.build;
    case Field::id:
    case Field::group:
    case Field::tag:
    case Field::header:
    case Field::body:
    case Field::error:
    case Field::payload:
      break;
  }
  return std::nullopt;
}

bool has_value(const FieldTest& test, const DeadLetter& record) {
  if (test.field == Field::id) return is_one_of(to_string(record.id), test.values);
  if (test.field == Field::group) {
    return is_one_of(to_string(record.fingerprint.hash), test.values);
  }
  if (test.field == Field::tag) {
    return std::any_of(record.tags.begin(), record.tags.end(),
                       [&](const std::string& tag) { return is_one_of(tag, test.values); });
  }
  if (test.field == Field::header) {
    const Header* header = find_header(record.message->headers, test.path);
    return header != nullptr && is_one_of(header->value, test.values);
  }
  if (test.field == Field::error) {
    return has_words_of_one(searched_error(record.failure), test.values);
  }
  if (test.field == Field::payload) {
    return has_words_of_one(searched_payload(*record.message), test.values);
  }
  const auto text = text_of(test.field, record);
  return text && is_one_of(*text, test.values);
}

bool is_one_of(const JsonFound& found, const std::vector<std::string>& values) {
  const auto text = scalar_text(found);
  return text && is_one_of(std::string_view(*text), values);
}

Error refusal(std::string detail) {
  return {Code::invalid_argument, "office.list", std::move(detail)};
}

Result<void> check(const FieldTest& test) {
  if (test.values.empty()) return refusal("a field is tested without a value: give one");
  if (test.values.size() > most_values) {
    return refusal("a field is tested against " + std::to_string(test.values.size()) +
                   " values: give at most " + std::to_string(most_values));
  }
  if (test.field == Field::header && test.path.empty()) {
    return refusal("a header is tested without its name: give one");
  }
  if (test.field == Field::body) {
    if (auto path = JsonPath::parse(test.path); !path) return path.error();
  }
  if (test.field == Field::error || test.field == Field::payload) {
    const bool all = std::none_of(test.values.begin(), test.values.end(),
                                  [](const auto& words) { return words_of(words).empty(); });
    if (!all)
      return refusal("a text without a word cannot be searched for: give letters or digits");
  }
  return {};
}

}  // namespace

std::optional<std::string> scalar_text(const JsonFound& found) {
  if (!found.kind || *found.kind == JsonKind::array || *found.kind == JsonKind::object) {
    return std::nullopt;
  }
  if (*found.kind == JsonKind::string) return json_unescape(found.raw);
  return std::string(found.raw);
}

Part part_of(Field field) noexcept {
  switch (field) {
    case Field::id:
    case Field::source:
    case Field::category:
    case Field::group:
    case Field::event_type:
    case Field::key:
    case Field::message_id:
    case Field::error_type:
    case Field::reason:
    case Field::instance:
      return Part::head;
    case Field::handler:
    case Field::node:
    case Field::build:
    case Field::tag:
    case Field::error:
      return Part::facts;
    case Field::header:
      return Part::envelope;
    case Field::body:
    case Field::payload:
      return Part::payload;
  }
  return Part::payload;
}

Result<void> check(const std::vector<FieldTest>& tests) {
  if (tests.size() > most_tests) {
    return refusal(std::to_string(tests.size()) + " fields are tested: give at most " +
                   std::to_string(most_tests));
  }
  for (const FieldTest& test : tests) {
    if (auto fine = check(test); !fine) return fine;
  }
  return {};
}

FieldTests::FieldTests(const Query& query)
    : tests_(query.tests),
      resolved_from_(query.resolved_from),
      resolved_until_(query.resolved_until) {
  if (resolved_from_ || resolved_until_) parts_ = bit(Part::facts);
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    const FieldTest& test = tests_[i];
    parts_ = static_cast<std::uint8_t>(parts_ | bit(part_of(test.field)));
    if (test.field != Field::body) continue;
    auto path = JsonPath::parse(test.path);
    if (!path) continue;  // `check` has refused such a query
    paths_.push_back(std::move(*path));
    body_.push_back(i);
  }
}

bool FieldTests::look_at(Part part) const noexcept {
  return (parts_ & bit(part)) != 0;
}

bool FieldTests::resolution_fits(const DeadLetter& record) const noexcept {
  if (!resolved_from_ && !resolved_until_) return true;
  if (!record.resolution) return false;
  const TimePoint at = record.resolution->at;
  return (!resolved_from_ || at >= *resolved_from_) && (!resolved_until_ || at < *resolved_until_);
}

bool FieldTests::paths_fit(const Message& message) const {
  if (paths_.empty()) return true;
  const auto found =
      find_paths(message.payload ? std::string_view(*message.payload) : std::string_view(), paths_);
  for (std::size_t i = 0; i < body_.size(); ++i) {
    const FieldTest& test = tests_[body_[i]];
    if (is_one_of(found[i], test.values) == test.negated) return false;
  }
  return true;
}

bool FieldTests::fit(const DeadLetter& record, Part part) const {
  if (!look_at(part)) return true;
  if (part == Part::facts && !resolution_fits(record)) return false;
  for (const FieldTest& test : tests_) {
    if (part_of(test.field) != part || test.field == Field::body) continue;
    if (has_value(test, record) == test.negated) return false;
  }
  return part != Part::payload || paths_fit(*record.message);
}

bool FieldTests::fit(const DeadLetter& record) const {
  return fit(record, Part::head) && fit(record, Part::facts) && fit(record, Part::envelope) &&
         fit(record, Part::payload);
}

}  // namespace dlo
