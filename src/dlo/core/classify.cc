#include "dlo/core/classify.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "dlo/core/name_table.h"
#include "dlo/core/spelling.h"
#include "dlo/core/text_finder.h"

namespace dlo {
namespace {

constexpr std::size_t most_words = most_rules / 64;
constexpr std::size_t known_statuses = 1000;

/// One bit per rule.
class Marks {
 public:
  explicit Marks(std::size_t words) noexcept : words_(words) {
    std::fill_n(bits_.begin(), words, 0);
  }
  void set(std::size_t rule) noexcept { bits_[rule / 64] |= std::uint64_t{1} << (rule % 64); }
  [[nodiscard]] std::uint64_t word(std::size_t index) const noexcept { return bits_[index]; }
  [[nodiscard]] std::size_t words() const noexcept { return words_; }

 private:
  std::size_t words_;
  std::array<std::uint64_t, most_words> bits_;
};

constexpr std::size_t no_rule = most_rules;

/// The first rule marked in `hit` and not in `stopped`.
std::size_t first_of(const Marks& hit, const Marks& stopped) noexcept {
  for (std::size_t i = 0; i < hit.words(); ++i) {
    const std::uint64_t left = hit.word(i) & ~stopped.word(i);
    if (left != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(left));
  }
  return no_rule;
}

struct StatusRange {
  int low = 0;
  int high = 0;
};

std::optional<int> parse_status_number(std::string_view text) noexcept {
  if (text.size() != 3) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<StatusRange> parse_status_range(std::string_view text) noexcept {
  if (const auto one = parse_status_number(text)) return StatusRange{*one, *one};
  if (text.size() == 3 && text[0] >= '1' && text[0] <= '9' && ascii_lower(text[1]) == 'x' &&
      ascii_lower(text[2]) == 'x') {
    return StatusRange{(text[0] - '0') * 100, (text[0] - '0') * 100 + 99};
  }
  if (text.size() != 7 || text[3] != '-') return std::nullopt;
  const auto low = parse_status_number(text.substr(0, 3));
  const auto high = parse_status_number(text.substr(4));
  if (!low || !high || *low > *high) return std::nullopt;
  return StatusRange{*low, *high};
}

bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

bool says_nothing(const Failure& failure) noexcept {
  return failure.type.empty() && failure.code.empty() && !failure.status &&
         failure.causes.empty() && is_blank(failure.text);
}

std::string_view text_of(const Failure& failure) noexcept {
  return std::string_view(failure.text).substr(0, classified_text_limit);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

/// The plain way to search, for `trace`; tests hold it against the fast one.
bool contains(std::string_view text, std::string_view needle, bool whole_word) noexcept {
  const auto word_at = [&](std::size_t i) { return TextFinder::is_word(text[i]); };
  for (std::size_t at = 0; at + needle.size() <= text.size(); ++at) {
    if (!equal_ignoring_case(text.substr(at, needle.size()), needle)) continue;
    if (!whole_word) return true;
    const std::size_t end = at + needle.size();
    const bool left = at > 0 && word_at(at - 1) && TextFinder::is_word(needle.front());
    const bool right = end < text.size() && word_at(end) && TextFinder::is_word(needle.back());
    if (!left && !right) return true;
  }
  return false;
}

bool type_is(std::string_view type, std::string_view value) noexcept {
  return equal_ignoring_case(type, value) || equal_ignoring_case(unqualified(type), value);
}

bool type_matches(const Failure& failure, std::string_view value) noexcept {
  if (type_is(failure.type, value)) return true;
  return std::any_of(failure.causes.begin(), failure.causes.end(),
                     [&](const Cause& cause) { return type_is(cause.type, value); });
}

Error refuse(const Rule& rule, std::size_t place, const std::string& why) {
  const std::string name =
      rule.name.empty() ? "number " + std::to_string(place + 1) : in_quotes(rule.name);
  return {Code::invalid_argument, "core.classify", "rule " + name + " " + why};
}

Result<void> check_rule(const Rule& rule, std::size_t place) {
  if (rule.name.empty()) return refuse(rule, place, "has no name; the record names the rule.");
  if (rule.category.empty()) return refuse(rule, place, "has no category to put a failure in.");
  if (rule.values.empty()) return refuse(rule, place, "has no values: it could never fire.");
  for (const auto* list : {&rule.values, &rule.except}) {
    if (std::find(list->begin(), list->end(), std::string()) != list->end()) {
      return refuse(rule, place, "has an empty value: it would match everything.");
    }
  }
  if (rule.match != MatchKind::status) return {};
  for (const std::string& value : rule.values) {
    if (!parse_status_range(value)) {
      return refuse(rule, place,
                    "has the bad status " + in_quotes(value) +
                        "; write three digits (404), a range (500-599) or a class (5xx).");
    }
  }
  return {};
}

}  // namespace

std::string_view unqualified(std::string_view type) noexcept {
  for (std::size_t i = type.size(); i > 0; --i) {
    const char c = type[i - 1];
    if (c == '.' || c == ':' || c == '$' || c == '+' || c == '/') return type.substr(i);
  }
  return type;
}

Result<void> check(std::span<const Rule> rules) {
  if (rules.size() > most_rules) {
    return Error{Code::invalid_argument, "core.classify",
                 std::to_string(rules.size()) + " rules are too many; at most " +
                     std::to_string(most_rules) + " are allowed. Merge rules of one category."};
  }
  std::map<std::string_view, std::size_t> names;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (auto checked = check_rule(rules[i], i); !checked) return checked;
    if (!names.emplace(rules[i].name, i).second) {
      return refuse(rules[i], i, "shares its name with an earlier rule; rename one of them.");
    }
    for (const std::string& value : rules[i].values) bytes += value.size();
    for (const std::string& value : rules[i].except) bytes += value.size();
    if (bytes > most_rule_text) {
      return refuse(rules[i], i, "and those before it hold more than 64 KB of text to look for.");
    }
  }
  return {};
}

/// Every rule, turned round: from what a failure may contain to the rules that care.
struct Classifier::Tables {
  struct Mark {
    std::uint32_t rule = 0;
    bool stops = false;  // an exception of the rule
  };

  std::vector<Rule> rules;
  std::string default_category;
  std::string empty_error_category;

  TextFinder finder;
  std::vector<std::vector<Mark>> needle_marks;  // per needle
  NameTable codes{false};
  NameTable types{true};
  bool any_types = false;
  bool any_statuses = false;
  std::vector<std::vector<std::uint32_t>> status_rules;  // per status
  std::shared_ptr<const RegexSet> regex;
  std::vector<std::uint32_t> regex_rules;  // per pattern, in rule order

  [[nodiscard]] std::size_t words() const noexcept { return (rules.size() + 63) / 64; }

  void file_texts();
  void file_rule(std::uint32_t place);
  Result<void> file_patterns(const RegexCompiler& compiler);
  void mark_types(const Failure& failure, Marks& hit) const;
  void mark(const Failure& failure, Marks& hit, Marks& stopped) const;
  [[nodiscard]] std::vector<bool> match_patterns(std::string_view text) const;
  [[nodiscard]] const std::string* value_that_matches(std::size_t place, const Failure& failure,
                                                      const std::vector<bool>& patterns) const;
};

void Classifier::Tables::file_texts() {
  std::map<std::pair<std::string, bool>, std::size_t> known;
  std::vector<TextFinder::Needle> needles;
  const auto file = [&](const std::string& text, bool whole_word, Mark mark) {
    const auto [at, fresh] = known.try_emplace({ascii_lower(text), whole_word}, needles.size());
    if (fresh) {
      needles.push_back({text, whole_word});
      needle_marks.emplace_back();
    }
    needle_marks[at->second].push_back(mark);
  };
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    if (rule.match == MatchKind::substring || rule.match == MatchKind::word) {
      for (const std::string& value : rule.values) {
        file(value, rule.match == MatchKind::word, {i, false});
      }
    }
    for (const std::string& exception : rule.except) file(exception, false, {i, true});
  }
  finder = TextFinder(needles);
}

void Classifier::Tables::file_rule(std::uint32_t place) {
  const Rule& rule = rules[place];
  for (const std::string& value : rule.values) {
    if (rule.match == MatchKind::code) codes.add(value, place);
    if (rule.match == MatchKind::type) {
      types.add(value, place);
      any_types = true;
    }
    if (rule.match == MatchKind::status) {
      any_statuses = true;
      status_rules.resize(known_statuses);
      const auto range = parse_status_range(value);
      for (int status = range->low; status <= range->high; ++status) {
        status_rules[static_cast<std::size_t>(status)].push_back(place);
      }
    }
  }
}

Result<void> Classifier::Tables::file_patterns(const RegexCompiler& compiler) {
  std::vector<std::string> patterns;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (rules[i].match != MatchKind::regex) continue;
    if (!compiler) {
      return refuse(rules[i], i,
                    "is a regex, and this program was built without a compiler for it.");
    }
    for (const std::string& pattern : rules[i].values) {
      patterns.push_back(pattern);
      regex_rules.push_back(i);
    }
  }
  if (patterns.empty()) return {};
  auto compiled = compiler(patterns);
  if (compiled) {
    regex = *compiled;
    return {};
  }
  // Find the culprit, so that the answer can name its rule.
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (auto alone = compiler({&patterns[i], 1}); !alone) {
      return refuse(rules[regex_rules[i]], regex_rules[i],
                    "does not compile: " + alone.error().detail);
    }
  }
  return compiled.error();
}

void Classifier::Tables::mark_types(const Failure& failure, Marks& hit) const {
  const auto mark_type = [&](std::string_view type) {
    if (type.empty()) return;
    for (const std::uint32_t rule : types.find(type)) hit.set(rule);
    const std::string_view last = unqualified(type);
    if (last.size() == type.size()) return;
    for (const std::uint32_t rule : types.find(last)) hit.set(rule);
  };
  mark_type(failure.type);
  for (const Cause& cause : failure.causes) mark_type(cause.type);
}

void Classifier::Tables::mark(const Failure& failure, Marks& hit, Marks& stopped) const {
  finder.scan(text_of(failure), [&](std::size_t needle) {
    for (const Mark& mark : needle_marks[needle]) (mark.stops ? stopped : hit).set(mark.rule);
  });
  if (!failure.code.empty()) {
    for (const std::uint32_t rule : codes.find(failure.code)) hit.set(rule);
  }
  if (any_types) mark_types(failure, hit);
  if (any_statuses && failure.status && *failure.status >= 0 &&
      *failure.status < static_cast<int>(known_statuses)) {
    for (const std::uint32_t rule : status_rules[static_cast<std::size_t>(*failure.status)]) {
      hit.set(rule);
    }
  }
}

std::vector<bool> Classifier::Tables::match_patterns(std::string_view text) const {
  std::vector<bool> hits(regex_rules.size(), false);
  if (regex) regex->match(text, hits);
  return hits;
}

const std::string* Classifier::Tables::value_that_matches(std::size_t place, const Failure& failure,
                                                          const std::vector<bool>& patterns) const {
  const Rule& rule = rules[place];
  const auto first = std::lower_bound(regex_rules.begin(), regex_rules.end(), place);
  auto pattern = static_cast<std::size_t>(first - regex_rules.begin());
  for (const std::string& value : rule.values) {
    bool matches = false;
    switch (rule.match) {
      case MatchKind::code:
        matches = failure.code == value;
        break;
      case MatchKind::status: {
        const auto range = parse_status_range(value);
        matches = range && failure.status && *failure.status >= range->low &&
                  *failure.status <= range->high;
        break;
      }
      case MatchKind::type:
        matches = type_matches(failure, value);
        break;
      case MatchKind::substring:
      case MatchKind::word:
        matches = contains(text_of(failure), value, rule.match == MatchKind::word);
        break;
      case MatchKind::regex:
        matches = patterns[pattern++];
        break;
    }
    if (matches) return &value;
  }
  return nullptr;
}

Result<Classifier> Classifier::build(std::vector<Rule> rules, std::string default_category,
                                     std::string empty_error_category,
                                     const RegexCompiler& compiler) {
  if (auto checked = check(rules); !checked) return checked.error();
  auto tables = std::make_unique<Tables>();
  tables->rules = std::move(rules);
  tables->default_category = std::move(default_category);
  tables->empty_error_category = std::move(empty_error_category);
  tables->file_texts();
  for (std::uint32_t i = 0; i < tables->rules.size(); ++i) tables->file_rule(i);
  if (auto filed = tables->file_patterns(compiler); !filed) return filed.error();
  return Classifier(std::move(tables));
}

Classification Classifier::classify(const Failure& failure) const {
  const Tables& tables = *tables_;
  if (says_nothing(failure)) return {tables.empty_error_category, {}};
  Marks hit(tables.words());
  Marks stopped(tables.words());
  tables.mark(failure, hit, stopped);
  std::size_t winner = first_of(hit, stopped);
  // Patterns cost most, so they are only asked when one of them could come first.
  if (!tables.regex_rules.empty() && tables.regex_rules.front() < winner) {
    const std::vector<bool> patterns = tables.match_patterns(text_of(failure));
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (patterns[i]) hit.set(tables.regex_rules[i]);
    }
    winner = first_of(hit, stopped);
  }
  if (winner == no_rule) return {tables.default_category, {}};
  return {tables.rules[winner].category, tables.rules[winner].name};
}

std::vector<RuleTrace> Classifier::trace(const Failure& failure) const {
  std::vector<RuleTrace> steps;
  if (says_nothing(failure)) return steps;
  const std::vector<bool> patterns = tables_->match_patterns(text_of(failure));
  for (std::size_t i = 0; i < tables_->rules.size(); ++i) {
    const Rule& rule = tables_->rules[i];
    const std::string* value = tables_->value_that_matches(i, failure, patterns);
    if (value == nullptr) continue;
    const auto stopped = std::find_if(
        rule.except.begin(), rule.except.end(),
        [&](const std::string& text) { return contains(text_of(failure), text, false); });
    const bool fired = stopped == rule.except.end();
    steps.push_back({rule.name, rule.match, *value, fired ? std::string_view() : *stopped});
    if (fired) break;
  }
  return steps;
}

const std::vector<Rule>& Classifier::rules() const noexcept {
  return tables_->rules;
}

Classifier::Classifier(std::unique_ptr<const Tables> tables) : tables_(std::move(tables)) {}
Classifier::~Classifier() = default;
Classifier::Classifier(Classifier&&) noexcept = default;
Classifier& Classifier::operator=(Classifier&&) noexcept = default;

std::string_view name_of(MatchKind kind) noexcept {
  switch (kind) {
    case MatchKind::code:
      return "code";
    case MatchKind::status:
      return "status";
    case MatchKind::type:
      return "type";
    case MatchKind::substring:
      return "substring";
    case MatchKind::word:
      return "word";
    case MatchKind::regex:
      return "regex";
  }
  return "unknown";
}

}  // namespace dlo
