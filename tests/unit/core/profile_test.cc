#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/core/decide.h"
#include "dlo/regex/re2_compiler.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::failed;
using ::testing::HasSubstr;
using testing::must;
using testing::noon;
using testing::running;
using testing::verdict;

// --- settings of CONTRACT 3.3 that are not decided but carried out
// -----------------------------------

TEST(Settings, AreThoseOfTheTable) {
  const auto of = [](std::string_view name) { return must(find_profile(name)); };
  EXPECT_EQ(of("workflow").store_failure, StoreFailure::memory_fallback);  // D18
  EXPECT_EQ(of("workflow+safe").store_failure, StoreFailure::reject);
  EXPECT_EQ(of("kafka").store_failure, StoreFailure::keep_source);
  EXPECT_EQ(of("workflow").skips, Skips::lose);                               // S2-27
  EXPECT_EQ(of("booking-outbox").owner_effect, OwnerEffect::mark_published);  // D17
  EXPECT_EQ(of("booking-retry-api").owner_effect, OwnerEffect::permanently_failed);
  EXPECT_EQ(of("durable").owner_effect, OwnerEffect::fail_owner);
  EXPECT_EQ(of("workflow").capacity.records, 10'000U);  // D20
  EXPECT_EQ(of("kafka").capacity.bytes, 10'737'418'240U);
  EXPECT_EQ(of("workflow").retention,
            (std::vector<RetentionRule>{{"exhausted", 24h * 7, RetentionAct::archive,
                                         RetentionFrom::first_failure}}));  // D19
  EXPECT_EQ(of("workflow+safe").retention,
            (std::vector<RetentionRule>{
                {"exhausted", 24h * 7, RetentionAct::archive, RetentionFrom::end}}));
  EXPECT_EQ(of("kafka").retention.front().age, Millis{604'800'000});  // S4-29
  EXPECT_TRUE(of("booking").retention.empty());
  EXPECT_EQ(of("workflow").exhausted_status, "exhausted");
  EXPECT_EQ(of("kafka").replay_limit, 3U);
}

TEST(Settings, EverySafeVariantKeepsTheSourceCountsCrashesAndKeepsInvalidOnes) {  // R12
  for (const Profile& profile : builtin_profiles()) {
    if (profile.name.find("+safe") == std::string::npos && profile.name != "standard") continue;
    EXPECT_NE(profile.store_failure, StoreFailure::memory_fallback) << profile.name;
    EXPECT_EQ(profile.skips, Skips::record) << profile.name;
    EXPECT_TRUE(profile.crash_counts) << profile.name;
    EXPECT_EQ(profile.invalid, InvalidAction::dead_letter) << profile.name;
    EXPECT_TRUE(profile.invalid_keeps_count) << profile.name;
    EXPECT_EQ(profile.first_attempt, FirstAttempt::measured) << profile.name;
    for (const RetentionRule& rule : profile.retention) {
      EXPECT_NE(rule.act, RetentionAct::expire) << profile.name;
    }
  }
}

// --- what is refused
// ----------------------------------------------------------------------------------

struct Refusal {
  const char* name;
  std::function<void(Profile&)> change;
  const char* says;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}
class RefusedProfile : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedProfile, SaysWhatWouldBeRight) {
  Profile profile = must(find_profile("standard"));
  GetParam().change(profile);
  const auto book = RuleBook::build(profile);
  ASSERT_FALSE(book);
  EXPECT_EQ(book.error().code, Code::invalid_argument);
  EXPECT_THAT(book.error().detail, HasSubstr(GetParam().says));
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(Check, RefusedProfile, ::testing::ValuesIn<Refusal>({
    {"NoLimitAtAll", [](Profile& p) { p.pre_check.reset(); p.post_check.reset(); }, "nothing limits"},
    {"OnlyAbandonsLimited", [](Profile& p) { p.pre_check.reset(); p.post_check->counter = CounterName::abandon; }, "for ever"},
    {"LimitsDisagree", [](Profile& p) { p.limit = 6; }, "write the same in both"},
    {"NothingEverRuns", [](Profile& p) { p = with_limit(p, 0); }, "without running it"},
    {"NothingEverRunsByFetch", [](Profile& p) { p = with_limit(p, 1); p.pre_check->counter = CounterName::fetch; }, "without running it"},
    {"NoReason", [](Profile& p) { p.post_check->reason.clear(); }, "needs a reason"},
    {"BadName", [](Profile& p) { p.name = "My Profile"; }, "a-z"},
    {"BadPolicy", [](Profile& p) { p.retry.factor = 0.5; }, "retry: factor"},
    {"BadCategoryPolicy", [](Profile& p) { p.categories["rejected"].policy = RetryPolicy{.kind = PolicyKind::list}; }, "categories.rejected.policy"},
    {"UnknownCategory", [](Profile& p) { p.categories["rejectd"]; }, "did you mean \"rejected\""},
    {"CategoryLimitWithoutCheck", [](Profile& p) { p.post_check.reset(); p.categories["rejected"].limit = 1; }, "needs a post_check"},
    {"UnknownInnerCategory", [](Profile& p) { p.inner.retry_on = {"netwrk"}; }, "did you mean \"network\""},
    {"TooManyInnerRetries", [](Profile& p) { p.inner.retries = 101; }, "at most 100"},
    {"UnknownStatus", [](Profile& p) { p.retention = {{"pendng", Millis{1}, RetentionAct::expire}}; }, "did you mean \"pending\""},
    {"ALossFromTheFirstFailure", [](Profile& p) { p.retention = {{"pending", Millis{1}, RetentionAct::expire, RetentionFrom::first_failure}}; }, "counts from the end"},
    {"NoAge", [](Profile& p) { p.retention = {{"pending", Millis{0}, RetentionAct::expire}}; }, "age"},
    {"BadExhaustedStatus", [](Profile& p) { p.exhausted_status = "resolved"; }, "Valid: pending, exhausted"},
    {"StageTwice", [](Profile& p) { p.validation = {Stage::decode, Stage::decode}; }, "twice"},
    {"NoDefaultCategory", [](Profile& p) { p.default_category.clear(); }, "must be named"},
    {"NotUtf8", [](Profile& p) { p.summary = "\xff"; }, "UTF-8"},
    {"BadRule", [](Profile& p) { p.rules[0].values.clear(); }, "no values"},
    {"RegexWithoutCompiler", [](Profile& p) { p.rules[0].match = MatchKind::regex; }, "regex"},
    {"UnknownCustomPolicy", [](Profile& p) { p.retry = {.kind = PolicyKind::custom, .custom = "mine"}; }, "not registered"},
}), [](const auto& row) { return std::string(row.param.name); });
// clang-format on

TEST(RuleBook, ACustomPolicyIsFoundByNameOrItsSpellingCorrected) {  // S2-55
  Profile profile = must(find_profile("standard"));
  profile.retry = {.kind = PolicyKind::custom, .custom = "squares"};
  const CustomBackoffs custom = {
      {"squares", [](std::uint64_t n) { return Millis{static_cast<std::int64_t>(n * n)}; }}};
  const RuleBook book = must(RuleBook::build(profile, {}, custom));
  EXPECT_EQ(verdict<RetryAt>(book.after_run(failed("x"), running(3), noon, 0)).delay, 9ms);
  profile.retry.custom = "square";
  const auto refused = RuleBook::build(profile, {}, custom);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("did you mean \"squares\""));
}

TEST(RuleBook, RegexRulesWorkWithACompiler) {
  Profile profile = must(find_profile("standard"));
  profile.rules.insert(profile.rules.begin(),
                       {"oracle", MatchKind::regex, {"ORA-\\d{5}"}, {}, "rejected"});
  const RuleBook book = must(RuleBook::build(profile, re2_compiler()));
  EXPECT_EQ(book.after_run(failed("ORA-12541: no listener"), running(1), noon, 0).rule, "oracle");
}

}  // namespace
}  // namespace dlo
