#include "dlo/query/parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "dlo/core/spelling.h"
#include "dlo/json/text/value.h"
#include "dlo/query/query_text.h"
#include "dlo/store/rules.h"

namespace dlo::query {
namespace {

std::bitset<status_count> statuses_named(std::string_view name) {
  std::bitset<status_count> found;
  for (const Status status : all_statuses()) {
    const bool fits = name == "open" ? is_open(status) : name_of(status) == name;
    if (fits) found.set(static_cast<std::size_t>(status));
  }
  return found;
}

void join(std::string& words, const std::string& more) {
  if (!words.empty()) words += ' ';
  words += more;
}

template <typename T>
void narrow(std::optional<T>& first, std::optional<T>& end, const Bounds<T>& bounds) {
  if (bounds.first && (!first || *first < *bounds.first)) first = bounds.first;
  if (bounds.end && (!end || *end > *bounds.end)) end = bounds.end;
}

void narrow(std::optional<std::uint32_t>& over, std::optional<std::uint32_t>& below,
            const Bounds<std::uint64_t>& bounds) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (bounds.first && *bounds.first > 0) {
    const auto last_out = static_cast<std::uint32_t>(*bounds.first - 1);
    over = std::max(over.value_or(0), last_out);
  }
  if (bounds.end && *bounds.end <= most) {
    const auto first_out = static_cast<std::uint32_t>(*bounds.end);
    below = std::min(below.value_or(first_out), first_out);
  }
}

constexpr std::array<std::string_view, 2> yes_or_no = {"yes", "no"};
constexpr std::array<std::string_view, 2> orders = {"newest", "oldest"};

}  // namespace

Result<Query> Parser::parse() {
  if (text_.size() > longest_query_text) {
    return refuse(longest_query_text, "a query may have " + std::to_string(longest_query_text) +
                                          " bytes at most: ask for less at once");
  }
  TermReader reader(text_);
  Term term;
  for (;;) {
    const auto more = reader.next(term);
    if (!more) return more.error();
    if (!*more) break;
    if (auto fine = take(term); !fine) return fine.error();
  }
  if (auto fine = finish_statuses(); !fine) return fine.error();
  return std::move(query_);
}

Result<void> Parser::take(const Term& term) {
  if (term.qualifier.empty()) return take_free_text(term);
  const Qualifier* qualifier = find_qualifier(term.qualifier);
  if (qualifier == nullptr)
    return refuse(term.at + (term.negated ? 1 : 0), unknown_qualifier(term.qualifier));
  if (term.values.size() > most_values) {
    return refuse(term.at, "expected at most " + std::to_string(most_values) + " values, found " +
                               std::to_string(term.values.size()));
  }
  switch (qualifier->kind) {
    case Kind::status:
      return take_status(term);
    case Kind::text:
    case Kind::tag:
      return take_text(term, *qualifier);
    case Kind::id:
    case Kind::group:
      return take_ids(term, *qualifier);
    case Kind::words:
      return take_words(term, qualifier->field);
    case Kind::header:
    case Kind::body:
      return take_path(term, *qualifier);
    case Kind::resolved:
      return take_resolved(term);
    case Kind::age:
    case Kind::died:
    case Kind::next_retry:
      return take_times(term, *qualifier);
    case Kind::attempts:
    case Kind::replays:
      return take_numbers(term, qualifier->kind);
    case Kind::unsettled:
    case Kind::order:
      return take_choice(term, *qualifier);
    case Kind::change:
      return take_change(term);
  }
  return {};
}

Result<std::vector<std::string>> Parser::texts(const Term& term) const {
  std::vector<std::string> out;
  for (const Value& value : term.values) {
    if (value.op != Op::none) {
      return refuse(value.at, "expected a value without < or >: " + term.qualifier + term.path +
                                  ": compares for equality only; put it into quotes if it begins "
                                  "like this");
    }
    out.push_back(value.text);
  }
  return out;
}

Result<const Value*> Parser::only_value(const Term& term) const {
  if (term.negated) {
    return refuse(term.at, "expected no minus: " + term.qualifier +
                               ": cannot be negated; write the opposite, such as < instead of >=");
  }
  if (term.values.size() > 1) {
    return refuse(term.values[1].at,
                  "expected one value only: " + term.qualifier + ": takes no list");
  }
  return &term.values.front();
}

Result<void> Parser::only_once(const Term& term) {
  const Qualifier* qualifier = find_qualifier(term.qualifier);
  if (std::find(seen_.begin(), seen_.end(), qualifier) != seen_.end()) {
    return refuse(term.at, term.qualifier + ": was given before, and both must hold: for either " +
                               "of two values write " + term.qualifier + ":a,b");
  }
  seen_.push_back(qualifier);
  return {};
}

Result<void> Parser::add_test(const Term& term, Field field, std::vector<std::string> values) {
  if (query_.tests.size() == most_tests) {
    return refuse(term.at, "expected at most " + std::to_string(most_tests) +
                               " terms of this kind: ask for less at once");
  }
  query_.tests.push_back({field, term.path, std::move(values), term.negated});
  return {};
}

Result<void> Parser::take_free_text(const Term& term) {
  const Value& value = term.values.front();
  if (!value.quoted) {
    const bool looks_boolean = value.text == "AND" || value.text == "OR" || value.text == "NOT";
    if (looks_boolean || value.text.starts_with('(')) {
      return refuse(value.at,
                    "expected a term: all terms must hold, there are no AND, OR, NOT and "
                    "no brackets. Write status:pending,exhausted for either, "
                    "-source:x for not, and quotes to search for the word itself");
    }
  }
  return take_words(term, Field::error);
}

Result<void> Parser::take_words(const Term& term, Field field) {
  for (const Value& value : term.values) {
    if (words_of(value.text).empty()) {
      return refuse(value.at, "expected a word to search for (letters or digits), found " +
                                  in_quotes(value.text));
    }
  }
  auto values = texts(term);
  if (!values) return values.error();
  if (term.negated || values->size() > 1) return add_test(term, field, std::move(*values));
  join(field == Field::error ? query_.error_words : query_.payload_words, values->front());
  return {};
}

Result<void> Parser::take_status(const Term& term) {
  Statuses named;
  for (const Value& value : term.values) {
    const Statuses found = statuses_named(value.text);
    if (found.none() || value.op != Op::none) {
      return refuse(value.at, unknown_name("status", value.text, status_names()));
    }
    named |= found;
  }
  if (term.negated) {
    denied_ |= named;
  } else {
    wanted_ = wanted_ ? *wanted_ & named : named;
  }
  status_at_ = term.at;
  return {};
}

Result<void> Parser::finish_statuses() {
  if (!wanted_ && denied_.none()) return {};
  Statuses left;
  for (const Status status : all_statuses()) {
    const auto place = static_cast<std::size_t>(status);
    left[place] = (wanted_ ? (*wanted_)[place] : !is_live(status)) && !denied_[place];
    if (left[place]) query_.statuses.push_back(status);
  }
  if (left.any()) return {};
  return refuse(status_at_, "no status is left: what this term allows, an earlier one forbids");
}

Result<void> Parser::take_text(const Term& term, const Qualifier& qualifier) {
  const bool may_repeat = term.negated || qualifier.kind == Kind::tag;
  if (!may_repeat) {
    if (auto fine = only_once(term); !fine) return fine;
  }
  auto values = texts(term);
  if (!values) return values.error();
  std::optional<std::string>* single = single_text(query_, qualifier.field);
  if (term.negated || values->size() > 1 || single == nullptr) {
    return add_test(term, qualifier.field, std::move(*values));
  }
  *single = std::move(values->front());
  return {};
}

Result<void> Parser::take_ids(const Term& term, const Qualifier& qualifier) {
  if (!term.negated) {
    if (auto fine = only_once(term); !fine) return fine;
  }
  std::vector<Id128> ids;
  std::vector<std::string> texts;
  for (const Value& value : term.values) {
    const auto id = parse_id(value.text);
    if (!id || value.op != Op::none) {
      return refuse(value.at, "expected an id, 32 hex digits, found " + in_quotes(value.text));
    }
    ids.push_back(*id);
    texts.push_back(to_string(*id));
  }
  if (term.negated) return add_test(term, qualifier.field, std::move(texts));
  if (qualifier.kind == Kind::id) {
    for (const Id128& id : ids) query_.ids.push_back(RecordId{id});
    return {};
  }
  if (ids.size() > 1) return add_test(term, Field::group, std::move(texts));
  query_.group = ids.front();
  return {};
}

Result<void> Parser::take_path(const Term& term, const Qualifier& qualifier) {
  if (qualifier.kind == Kind::body) {
    if (const auto path = JsonPath::parse(term.path); !path) {
      return refuse(term.at, "expected a path: " + path.error().detail);
    }
  }
  auto values = texts(term);
  if (!values) return values.error();
  return add_test(term, qualifier.field, std::move(*values));
}

Result<void> Parser::take_resolved(const Term& term) {
  const Value& value = term.values.front();
  const bool yes = value.text == "yes" || value.text == "true";
  const bool no = value.text == "no" || value.text == "false";
  if (term.values.size() == 1 && value.op == Op::none && (yes || no)) {
    Term status = term;
    status.negated = no != term.negated;
    status.values.front().text = name_of(Status::resolved);
    return take_status(status);
  }
  const auto only = only_value(term);
  if (!only) return only.error();
  const auto bounds = time_bounds(**only, now_, Direction::back);
  if (!bounds) return refuse(value.at, bounds.error().detail + "; yes and no are allowed, too");
  narrow(query_.resolved_from, query_.resolved_until, *bounds);
  return {};
}

Result<void> Parser::take_times(const Term& term, const Qualifier& qualifier) {
  const auto only = only_value(term);
  if (!only) return only.error();
  const bool ahead = qualifier.kind == Kind::next_retry;
  const Direction direction = ahead ? Direction::ahead : Direction::back;
  const auto bounds = qualifier.kind == Kind::age ? duration_bounds(**only, now_, direction)
                                                  : time_bounds(**only, now_, direction);
  if (!bounds) return refuse((*only)->at, bounds.error().detail);
  if (ahead) {
    narrow(query_.next_retry_from, query_.next_retry_until, *bounds);
  } else {
    narrow(query_.from, query_.until, *bounds);
  }
  return {};
}

Result<void> Parser::take_numbers(const Term& term, Kind kind) {
  const auto only = only_value(term);
  if (!only) return only.error();
  const auto bounds = number_bounds(**only);
  if (!bounds) return refuse((*only)->at, bounds.error().detail);
  if (kind == Kind::attempts) {
    narrow(query_.attempts_over, query_.attempts_below, *bounds);
  } else {
    narrow(query_.replays_over, query_.replays_below, *bounds);
  }
  return {};
}

Result<void> Parser::take_choice(const Term& term, const Qualifier& qualifier) {
  if (auto fine = only_once(term); !fine) return fine;
  const auto only = only_value(term);
  if (!only) return only.error();
  const auto& names = qualifier.kind == Kind::order ? orders : yes_or_no;
  const auto found = std::find(names.begin(), names.end(), (*only)->text);
  if (found == names.end() || (*only)->op != Op::none) {
    return refuse((*only)->at, unknown_name("value", (*only)->text, names));
  }
  const bool is_first = found == names.begin();
  if (qualifier.kind == Kind::order) {
    query_.order = is_first ? Order::newest_first : Order::oldest_first;
  } else {
    query_.source_unsettled = is_first;
  }
  return {};
}

Result<void> Parser::take_change(const Term& term) {
  const auto only = only_value(term);
  if (!only) return only.error();
  const Value& value = **only;
  std::uint64_t number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto read = std::from_chars(value.text.data(), end, number);
  if (value.op != Op::less_or_equal || read.ec != std::errc{} || read.ptr != end) {
    return refuse(value.at, "expected <= and the number of a change, such as change:<=4711");
  }
  query_.changed_up_to = std::min(query_.changed_up_to.value_or(number), number);
  return {};
}

}  // namespace dlo::query

namespace dlo {

Result<Query> parse_query(std::string_view text, TimePoint now) {
  return query::Parser(text, now).parse();
}

}  // namespace dlo
