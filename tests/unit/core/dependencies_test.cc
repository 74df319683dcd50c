#include "dlo/core/dependencies.h"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "support/must.h"

namespace dlo {
namespace {

using testing::must;
using testing::noon;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

constexpr Awaited unknown = Awaited::unknown;
constexpr Awaited open = Awaited::open;
constexpr Awaited succeeded = Awaited::succeeded;
constexpr Awaited gone = Awaited::gone;

struct Row {
  const char* name;
  std::vector<Awaited> states;
  Millis after;  // the report
  const char* verdict;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

/// "ready", "wait" (for a change), "wait until" (for the deadline), or whom it is blocked by.
std::string in_words(const DependencyVerdict& verdict) {
  if (std::holds_alternative<Ready>(verdict)) return "ready";
  if (const auto* wait = std::get_if<Wait>(&verdict)) {
    if (!wait->until) return "wait";
    EXPECT_EQ(*wait->until, noon + 24h);
    return "wait until";
  }
  const std::string& why = std::get<Blocked>(verdict).why;
  for (const char* task : {"a", "b", "c"}) {
    if (why.find("\"" + std::string(task) + "\"") != std::string::npos) {
      return (why.starts_with("Nobody") ? "unreported " : "given up ") + std::string(task);
    }
  }
  return why;
}

class Dependencies : public ::testing::TestWithParam<Row> {};

TEST_P(Dependencies, AreJudgedByTheTable) {  // S2-54
  std::vector<Prerequisite> tasks;
  for (std::size_t i = 0; i < GetParam().states.size(); ++i) {
    tasks.push_back({std::string(1, static_cast<char>('a' + i)), GetParam().states[i]});
  }
  const auto verdict = judge(tasks, noon, usual_depends_timeout, noon + GetParam().after);
  EXPECT_EQ(in_words(verdict), GetParam().verdict);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Rules, Dependencies, ::testing::ValuesIn<Row>({
    {"NoneIsReady",                   {},                          0ms,         "ready"},
    {"AllSucceededIsReady",           {succeeded, succeeded},      0ms,         "ready"},
    {"ReadyAlsoAfterTheDeadline",     {succeeded},                 25h,         "ready"},
    {"OneOpenWaits",                  {succeeded, open},           0ms,         "wait"},
    {"OneOpenWaitsAsLongAsItIs",      {open},                      24h * 30,    "wait"},
    {"OneUnknownWaitsForItsReport",   {unknown},                   0ms,         "wait until"},
    {"UntilTheLastMillisecond",       {unknown},                   24h - 1ms,   "wait until"},
    {"ThenItIsBlocked",               {unknown},                   24h,         "unreported a"},
    {"UnknownBesideOpenTimesOut",     {open, unknown},             24h,         "unreported b"},
    {"UnknownBesideSucceeded",        {succeeded, unknown},        1h,          "wait until"},
    {"OneGivenUpBlocksAtOnce",        {gone},                      0ms,         "given up a"},
    {"WhateverTheOthersAre",          {succeeded, unknown, gone},  0ms,         "given up c"},
    {"GivenUpIsSaidBeforeUnreported", {unknown, gone},             48h,         "given up b"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(DependencyStates, AResolvedTaskSucceededAndWhatWasGivenUpIsGone) {
  EXPECT_EQ(awaited(std::nullopt, false), unknown);
  for (const Status status : all_statuses()) {
    const Awaited wanted = status == Status::resolved ? succeeded : is_closed(status) ? gone : open;
    EXPECT_EQ(awaited(status, false), wanted) << name_of(status);
  }
}

TEST(DependencyStates, ATaskThatWasResolvedSucceededWhereverItWasPutAfterwards) {
  for (const Status status : all_statuses()) {
    EXPECT_EQ(awaited(status, true), is_closed(status) ? succeeded : open) << name_of(status);
  }
}

TEST(DependencyStates, TheEndOfTimeIsADeadline) {
  EXPECT_EQ(deadline_of(TimePoint::max() - 1h, 24h), TimePoint::max());
}

/// "b>a c>b": b waits for a, c for b.
Result<Names> cycle(const std::string& task, const Names& tasks,
                    std::map<std::string, Names> waits) {
  return find_cycle(task, tasks, [waits](const std::string& each) {
    const auto found = waits.find(each);
    return found == waits.end() ? Names{} : found->second;
  });
}

TEST(DependencyCycles, AreFoundWithTheirWay) {  // S2-54
  EXPECT_EQ(must(cycle("a", {"a"}, {})), (Names{"a", "a"})) << "itself";
  EXPECT_EQ(must(cycle("a", {"b"}, {{"b", {"a"}}})), (Names{"a", "b", "a"}));
  EXPECT_EQ(must(cycle("a", {"x", "b"}, {{"b", {"c"}}, {"c", {"y", "a"}}})),
            (Names{"a", "b", "c", "a"}));
}

TEST(DependencyCycles, AreNotSeenWhereThereAreNone) {
  EXPECT_TRUE(must(cycle("a", {}, {})).empty());
  EXPECT_TRUE(must(cycle("a", {"b", "c"}, {{"b", {"d"}}, {"c", {"d"}}})).empty()) << "a diamond";
  EXPECT_TRUE(must(cycle("a", {"b"}, {{"b", {"c"}}, {"c", {"b"}}})).empty())
      << "others' circles are not this one's";
}

TEST(DependencyCycles, AChainWithoutEndIsRefused) {
  const auto endless = find_cycle("a", {"0"}, [](const std::string& task) {
    return Names{std::to_string(std::stoi(task) + 1)};
  });
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, Code::full);
}

TEST(DependencyNames, AreFewDistinctAndNotEmpty) {
  EXPECT_TRUE(check_prerequisites({"a", "b"}));
  EXPECT_TRUE(check_prerequisites(Names{}));
  EXPECT_FALSE(check_prerequisites({"a", "a"}));
  EXPECT_FALSE(check_prerequisites({""}));
  EXPECT_FALSE(check_prerequisites({std::string(513, 'x')}));
  Names many;
  for (std::size_t i = 0; i < most_prerequisites; ++i) many.push_back(std::to_string(i));
  EXPECT_TRUE(check_prerequisites(many));
  many.emplace_back("one more");
  EXPECT_FALSE(check_prerequisites(many));
}

TEST(DependencyNames, AreCarriedInHeaders) {
  Headers headers{{"x", "y"}};
  put_depends_on(headers, {"a,b", "c"});
  EXPECT_EQ(depends_on(headers), (Names{"a,b", "c"}));
  EXPECT_TRUE(depends_on({}).empty());
}

}  // namespace
}  // namespace dlo
