#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/failure.h"
#include "dlo/core/result.h"

namespace dlo {

enum class MatchKind : std::uint8_t {
  code,       // Failure::code equals a value
  status,     // Failure::status equals "404", or lies in "500-599" or "5xx"
  type,       // Failure::type, or the type of any cause, equals a value (ASCII case ignored), with
              // or without its qualification: "JsonException" is "System.Text.Json.JsonException"
  substring,  // the error text contains a value (ASCII case ignored)
  word,       // as substring, but not inside a longer word: "auth" is not in "author"
  regex,      // the error text matches a pattern (RE2 syntax)
};

/// One line of a classifier. Rules are tried in order; the first whose `values` match and whose
/// `except` substrings do not is the one that fires, and its name goes into the record.
struct Rule {
  std::string name;
  MatchKind match = MatchKind::substring;
  std::vector<std::string> values;
  std::vector<std::string> except;  // substrings of the error text, ASCII case ignored
  std::string category;
  bool operator==(const Rule&) const = default;
};

/// Compiled regular expressions. Built outside core (RULINGS R18): core knows only the question.
class RegexSet {
 public:
  virtual ~RegexSet() = default;
  /// Sets `hits[i]` for each pattern i found in `text`. `hits` is as long as the set and cleared.
  virtual void match(std::string_view text, std::vector<bool>& hits) const = 0;
};
using RegexCompiler =
    std::function<Result<std::shared_ptr<const RegexSet>>(std::span<const std::string> patterns)>;

/// Longer error text is classified by its first part.
inline constexpr std::size_t classified_text_limit = 16 * 1024;

/// Bounds of one classifier; more is refused.
inline constexpr std::size_t most_rules = 1024;
inline constexpr std::size_t most_rule_text = 64 * 1024;  // bytes of all values and exceptions

struct Classification {
  std::string_view category;
  std::string_view rule;  // empty: the default or the empty-error category applied
};

/// Refuses what no classifier can be built from, patterns apart (they need a compiler).
[[nodiscard]] Result<void> check(std::span<const Rule> rules);

/// A type name without what qualifies it: `JsonException`, `bad_alloc`, `Inner`.
[[nodiscard]] std::string_view unqualified(std::string_view type) noexcept;

/// Why one rule did or did not fire.
struct RuleTrace {
  std::string_view rule;
  MatchKind match = MatchKind::substring;
  std::string_view value;       // the value of the rule that matched
  std::string_view stopped_by;  // the exception that kept it from firing; empty: it fired
};

/// An ordered rule list made fast: one pass over the text finds every substring of every rule.
/// Immutable once built, so shared by threads without locks. Views in a `Classification` live as
/// long as the classifier.
class Classifier {
 public:
  /// Refuses a regex rule without `compiler`, a pattern that does not compile, a bad status range
  /// and a rule without values or category, each with the rule's name; also two rules of one name.
  [[nodiscard]] static Result<Classifier> build(std::vector<Rule> rules,
                                                std::string default_category,
                                                std::string empty_error_category,
                                                const RegexCompiler& compiler = {});

  /// `empty_error_category` applies when text (blanks apart), type, code, status and causes are all
  /// empty.
  [[nodiscard]] Classification classify(const Failure& failure) const;

  /// The same question answered slowly and in words: every rule whose values matched, in order, up
  /// to and including the one that fired.
  [[nodiscard]] std::vector<RuleTrace> trace(const Failure& failure) const;

  [[nodiscard]] const std::vector<Rule>& rules() const noexcept;

  ~Classifier();
  Classifier(Classifier&&) noexcept;
  Classifier& operator=(Classifier&&) noexcept;
  Classifier(const Classifier&) = delete;
  Classifier& operator=(const Classifier&) = delete;

 private:
  struct Tables;
  explicit Classifier(std::unique_ptr<const Tables> tables);
  std::unique_ptr<const Tables> tables_;
};

[[nodiscard]] std::string_view name_of(MatchKind kind) noexcept;

}  // namespace dlo
