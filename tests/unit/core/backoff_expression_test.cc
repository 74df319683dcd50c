// Waits as arithmetic (S2-55): custom backoff without a line of C++.
#include "dlo/core/backoff_expression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <vector>

#include "support/must.h"

#include "dlo/core/backoff.h"
#include "dlo/core/duration.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using dlo::testing::must;

struct Row {
  const char* name;
  const char* expression;
  std::vector<Millis> waits;  // before retry 1, 2, 3, …
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.expression;
}

class Expression : public ::testing::TestWithParam<Row> {};

TEST_P(Expression, IsReckonedAsWritten) {
  std::vector<Millis> waits;
  for (std::uint64_t n = 1; n <= GetParam().waits.size(); ++n) {
    waits.push_back(wait_by(GetParam().expression, n).value_or(Millis{-1}));
  }
  EXPECT_EQ(waits, GetParam().waits);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Waits, Expression, ::testing::ValuesIn<Row>({
    {"Constant",             "90s",                      {90s, 90s}},
    {"LinearOfTheDocument",  "5m * n",                   {5min, 10min, 15min}},                 // S2-5
    {"Exponential",          "min(1m * 2^(n - 1), 1h)",  {1min, 2min, 4min, 8min, 16min, 32min, 1h, 1h}},  // S2-6
    {"FibonacciMinutes",     "1m * fib(n)",              {1min, 1min, 2min, 3min, 5min, 8min, 13min}},
    {"Squares",              "min(5m * n^2, 2h)",        {5min, 20min, 45min, 80min, 2h}},
    {"PowersBindToTheRight", "1s * 2^3^2",               {512s}},
    {"ProductsBeforeSums",   "1s + 2 * 3s",              {7s}},
    {"Parentheses",          "(1s + 2s) * 3",            {9s}},
    {"ToTheLeft",            "10s - 3s - 2s",            {5s}},
    {"Quotients",            "1h / (4m / 2m) / 3",       {10min}},
    {"CompoundTimes",        "1h30m / 2",                {45min}},
    {"Fractions",            "0.5 * 1m",                 {30s}},
    {"MaxOfMany",            "max(1s, 2s * n, 5s)",      {5s, 5s, 6s}},
    {"NeverBelowNothing",    "2m - n * 1m",              {1min, 0s, 0s}},
    {"ByNothing",            "1s / (n - 1)",             {longest_duration, 1s}},
    {"WithoutAValue",        "0s / (n - 1)",             {0s, 0s}},
}), [](const auto& row) { return row.param.name; });
// clang-format on

struct Wrong {
  const char* name;
  std::string expression;
  const char* says;
};
void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.expression;
}
class ExpressionMistake : public ::testing::TestWithParam<Wrong> {};

TEST_P(ExpressionMistake, IsRefusedWithItsColumn) {
  const auto read = check_expression(GetParam().expression);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().detail.find(GetParam().says), std::string::npos) << read.error().detail;
  EXPECT_FALSE(wait_by(GetParam().expression, 1));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Mistakes, ExpressionMistake, ::testing::ValuesIn<Wrong>({
    {"Empty",            "",                    "column 1: something is missing"},
    {"NoUnit",           "5 * n",               "column 1: this is a number, not a time"},
    {"Mixed",            "5m + 3",              "column 4: a time stands beside a number"},
    {"MixedMin",         "min(5m, 3)",          "column 7: a time stands beside a number"},
    {"TimeByTime",       "5m * 2m",             "column 4: a time cannot be multiplied by a time"},
    {"NumberByTime",     "1 / 2m",              "column 3: a number cannot be divided by a time"},
    {"PowerOfATime",     "5m^2",                "column 3: ^ is for numbers"},
    {"FibOfATime",       "fib(1m) * 1s",        "column 1: fib is of a number"},
    {"UnknownName",      "1s * mni(n, 2)",      "column 6: unknown name \"mni\": did you mean \"min\""},
    {"NotClosed",        "1s * (n + 1",         "column 6: this parenthesis is never closed"},
    {"CallNotClosed",    "min(1s, 2s",          "column 1: the parenthesis of this is never closed"},
    {"ClosedTwice",      "1s)",                 "column 3: here an operator"},
    {"MissingSide",      "1s *",                "something is missing at the end"},
    {"ImpliedProduct",   "1s * 2n",             "2 * n instead of 2n"},
    {"TwoTimes",         "1m 30s",              "column 4: here an operator"},
    {"Sign",             "-1s",                 "column 1: here a time, a number, n"},
    {"TooLong",          std::string(300, '('), "at most 256"},
    {"TooDeep",          std::string(100, '('), "nested too deeply"},
    {"TooHigh",          "1s*2" + [] { std::string all; for (int i = 0; i < 60; ++i) all += "^1"; return all; }(), "nested too deeply"},
    {"TooManyYears",     "4000d",               "at most ten years"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Expressions, IsBoundedAtAttemptABillionAndBeyond) {
  for (const char* text : {"1m * 2^n", "1s * fib(n)", "5m * n^9", "1d * n", "1s * 2^n / 2^n",
                           "1s * 2^n - 1s * 2^n", "0s * 2^n", "1s / 2^n"}) {
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1'000},
                                  std::uint64_t{1'000'000'000}, UINT64_MAX}) {
      const Millis wait = wait_by(text, n).value_or(Millis{-1});
      EXPECT_GE(wait, Millis{0}) << text << " at " << n;
      EXPECT_LE(wait, longest_duration) << text << " at " << n;
    }
  }
  EXPECT_EQ(wait_by("1m * 2^n", 1'000'000'000), longest_duration);
  EXPECT_EQ(wait_by("min(1m * 2^n, 2h)", 1'000'000'000), 2h);
}

TEST(Expressions, IsAPolicyThatIsPrintedAndReadBack) {
  const RetryPolicy policy = must(parse_policy("expression delay=1m*fib(n) cap=5m jitter=equal"));
  EXPECT_EQ(print(policy), "expression delay=1m*fib(n) cap=5m jitter=equal");
  EXPECT_EQ(must(parse_policy(print(policy))), policy);
  RetryPolicy plain = policy;
  plain.jitter = Jitter::none;
  EXPECT_EQ(delay_before(plain, 4, Millis{0}, 0), 3min);
  EXPECT_EQ(delay_before(plain, 1'000'000'000, Millis{0}, 0), 5min);
  EXPECT_FALSE(parse_policy("expression delay=5*n"));
  EXPECT_FALSE(parse_policy("expression"));
  EXPECT_FALSE(parse_policy("expression delay=1s base=1s"));
  EXPECT_FALSE(parse_policy("expression delay=1s jitter=decorrelated"));
  EXPECT_FALSE(parse_policy("fixed base=1s delay=1s"));
}

/// An expression of a kind, as text with blanks here and there.
std::string some_expression(bool time, int depth) {
  const auto blank = [] {
    return std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 3)), ' ');
  };
  const int kind = depth == 0 ? 0 : *rc::gen::inRange(0, 6);
  const auto inner = [&](bool of_time) { return some_expression(of_time, depth - 1); };
  switch (kind) {
    case 1:
      return "(" + inner(time) + blank() + *rc::gen::element<std::string>("+", "-") + blank() +
             inner(time) + ")";
    case 2:
      return inner(time) + blank() + "*" + blank() + "(" + inner(false) + ")";
    case 3:
      return *rc::gen::element<std::string>("min", "max") + blank() + "(" + inner(time) + "," +
             blank() + inner(time) + ")";
    case 4:
      return time ? inner(true) + "/" + blank() + "(" + inner(false) + ")"
                  : "(" + inner(false) + ")" + blank() + "^(" + inner(false) + ")";
    case 5:
      return time ? "(" + inner(true) + ")" : "fib(" + inner(false) + blank() + ")";
    default:
      break;
  }
  if (time) return *rc::gen::element<std::string>("0s", "1ms", "90s", "5m", "1h30m", "3650d");
  return *rc::gen::element<std::string>("n", "0", "2", "0.5", "1000000");
}

RC_GTEST_PROP(Expressions, OfTheRightKindIsAcceptedBoundedAndReadBack, ()) {
  const std::string text = some_expression(true, *rc::gen::inRange(0, 4));
  RC_PRE(text.size() <= longest_expression);
  const auto plain = check_expression(text);
  RC_ASSERT(bool(plain));
  RC_ASSERT(plain->find(' ') == std::string::npos);
  RC_ASSERT(*check_expression(*plain) == *plain);
  const auto n = *rc::gen::arbitrary<std::uint64_t>();
  const auto wait = wait_by(text, n);
  RC_ASSERT(wait.has_value());
  RC_ASSERT(*wait >= Millis{0});
  RC_ASSERT(*wait <= longest_duration);
  RC_ASSERT(wait == wait_by(*plain, n));
  const RetryPolicy policy = must(parse_policy("expression delay=" + *plain));
  RC_ASSERT(must(parse_policy(print(policy))) == policy);
}

RC_GTEST_PROP(Expressions, OfAPlainNumberIsNeverATime, ()) {
  const std::string text = some_expression(false, *rc::gen::inRange(0, 4));
  RC_ASSERT(!check_expression(text));
}

RC_GTEST_PROP(Expressions, AnyTextIsAcceptedOrRefusedWithWordsForEveryNumber, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('n', '1', 's', 'm', 'h', '(', ')', '+', '-', '*', '/', '^', ',', ' ', '.',
                       'i', 'a', 'x', 'f', 'b', '\0', '\xff'));
  const auto read = check_expression(text);
  RC_ASSERT(bool(read) == wait_by(text, 1).has_value());
  RC_ASSERT(bool(read) == wait_by(text, UINT64_MAX).has_value());
  if (!read) RC_ASSERT(!read.error().detail.empty());
}

}  // namespace
}  // namespace dlo
