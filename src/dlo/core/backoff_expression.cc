#include "dlo/core/backoff_expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::size_t deepest = 32;
constexpr std::array<std::string_view, 4> names = {"n", "min", "max", "fib"};

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) noexcept {
  return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
}

/// Milliseconds, or a plain number.
struct Amount {
  double value = 0;
  bool is_time = false;
};

double fibonacci(double of) noexcept {
  double before = 0;
  double now = 1;
  if (!(of >= 1)) return 0;
  for (double i = 1; i < of && std::isfinite(now); ++i) before = std::exchange(now, now + before);
  return now;
}

/// Reads and reckons in one go. The first mistake ends it.
class Reckoning {
 public:
  Reckoning(std::string_view text, std::uint64_t number)
      : text_(text), number_(static_cast<double>(number)) {}

  Result<double> run() {
    const Amount all = sum();
    skip();
    if (!why_.empty()) return refused();
    if (at_ < text_.size()) {
      fail(at_, "here an operator (+ - * / ^) or the end was expected, not " +
                    in_quotes(text_.substr(at_, 1)));
    } else if (!all.is_time) {
      fail(0, "this is a number, not a time: multiply it by one, such as 1s * (...)");
    }
    if (!why_.empty()) return refused();
    return all.value;
  }

 private:
  [[nodiscard]] Error refused() const {
    return {Code::invalid_argument, "core.expression",
            "column " + std::to_string(column_ + 1) + ": " + why_ + "."};
  }
  Amount fail(std::size_t column, std::string why) {
    if (why_.empty()) {
      why_ = std::move(why);
      column_ = column;
    }
    at_ = text_.size();
    return {};
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  /// The next sign, if it is one of these; else 0.
  char take(std::string_view signs) {
    skip();
    if (at_ >= text_.size() || signs.find(text_[at_]) == std::string_view::npos) return 0;
    return text_[at_++];
  }

  Amount sum() {
    Amount left = product();
    while (const char sign = take("+-")) {
      const std::size_t column = at_ - 1;
      const Amount right = product();
      if (left.is_time != right.is_time) return fail(column, mixed);
      left.value = sign == '+' ? left.value + right.value : left.value - right.value;
    }
    return left;
  }

  Amount product() {
    Amount left = power();
    while (const char sign = take("*/")) {
      const std::size_t column = at_ - 1;
      const Amount right = power();
      if (sign == '*') {
        if (left.is_time && right.is_time) {
          return fail(column, "a time cannot be multiplied by a time");
        }
        left = {left.value * right.value, left.is_time || right.is_time};
      } else {
        if (!left.is_time && right.is_time) {
          return fail(column, "a number cannot be divided by a time");
        }
        left = {left.value / right.value, left.is_time && !right.is_time};
      }
    }
    return left;
  }

  Amount power() {
    const Amount base = atom();
    if (take("^") == 0) return base;
    const std::size_t column = at_ - 1;
    if (++depth_ > deepest) return fail(column, "this is nested too deeply");
    const Amount exponent = power();
    --depth_;
    if (base.is_time || exponent.is_time) {
      return fail(column, "^ is for numbers: write the time outside, such as 5m * n^2");
    }
    return {std::pow(base.value, exponent.value), false};
  }

  Amount atom() {
    skip();
    const std::size_t begin = at_;
    if (begin >= text_.size()) return fail(begin, "something is missing at the end");
    if (take("(") != 0) {
      if (++depth_ > deepest) return fail(begin, "this is nested too deeply");
      const Amount inside = sum();
      --depth_;
      if (take(")") == 0) return fail(begin, "this parenthesis is never closed");
      return inside;
    }
    if (is_digit(text_[at_])) return literal();
    if (is_letter(text_[at_])) return word();
    return fail(begin, "here a time, a number, n, min, max, fib or ( was expected, not " +
                           in_quotes(text_.substr(begin, 1)));
  }

  Amount literal() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_digit(text_[at_]) || text_[at_] == '.' || is_letter(text_[at_]))) {
      ++at_;
    }
    const std::string_view said = text_.substr(begin, at_ - begin);
    double number = 0;
    const auto [end, error] =
        std::from_chars(said.data(), said.data() + said.size(), number, std::chars_format::fixed);
    if (error == std::errc{} && end == said.data() + said.size()) return {number, false};
    if (const auto time = parse_duration(said)) {
      return {static_cast<double>(time->count()), true};
    }
    return fail(begin, in_quotes(said) +
                           " is neither a number nor a time of at most ten years; write 30s, 5m "
                           "or 1h30m, and 2 * n instead of 2n");
  }

  Amount word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view said = text_.substr(begin, at_ - begin);
    if (said == "n") return {number_, false};
    if (said != "min" && said != "max" && said != "fib") {
      return fail(begin, unknown_name("name", said, names));
    }
    if (take("(") == 0) return fail(begin, std::string(said) + " needs ( behind it");
    return call(said, begin);
  }

  Amount call(std::string_view function, std::size_t begin) {
    if (++depth_ > deepest) return fail(begin, "this is nested too deeply");
    Amount all = sum();
    if (function == "fib") {
      if (all.is_time) return fail(begin, "fib is of a number: write 1m * fib(n)");
      all.value = fibonacci(all.value);
    } else {
      while (take(",") != 0) {
        const std::size_t column = at_ - 1;
        const Amount next = sum();
        if (next.is_time != all.is_time) return fail(column, mixed);
        // These two pass over what has no value.
        all.value =
            function == "min" ? std::fmin(all.value, next.value) : std::fmax(all.value, next.value);
      }
    }
    --depth_;
    if (take(")") == 0) return fail(begin, "the parenthesis of this is never closed");
    return all;
  }

  static constexpr const char* mixed =
      "a time stands beside a number: give the number a unit, such as 10s";

  std::string_view text_;
  double number_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::size_t column_ = 0;
  std::string why_;
};

}  // namespace

Result<std::string> check_expression(std::string_view text) {
  if (text.size() > longest_expression) {
    return Error{Code::invalid_argument, "core.expression",
                 "an expression has at most 256 characters."};
  }
  if (const auto reckoned = Reckoning(text, 1).run(); !reckoned) return reckoned.error();
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != '\t') plain += c;
  }
  return plain;
}

std::optional<Millis> wait_by(std::string_view expression, std::uint64_t number) {
  if (expression.size() > longest_expression) return std::nullopt;
  const auto reckoned = Reckoning(expression, number).run();
  if (!reckoned) return std::nullopt;
  const double wait = *reckoned;
  if (!(wait > 0)) return Millis{0};  // also what has no value
  if (wait >= static_cast<double>(longest_duration.count())) return longest_duration;
  return Millis{static_cast<std::int64_t>(wait)};
}

}  // namespace dlo
