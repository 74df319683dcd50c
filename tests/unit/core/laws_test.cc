// Laws that hold for every profile, count and failure, tried on random ones.
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/regex/re2_compiler.h"

namespace dlo {
namespace {

using testing::live;
using testing::must;
using testing::noon;

const std::vector<std::string> words = {"timeout", "busy",    "Index",  "out of", "disk",
                                        "auth",    "invalid", "author", "space",  "429",
                                        "x",       "Format",  "range",  "socket", "é"};

rc::Gen<std::string> some_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(words)),
                      [](const std::vector<std::string>& chosen) {
                        std::string text;
                        for (const std::string& word : chosen) text += word + " ";
                        return text;
                      });
}

rc::Gen<Millis> some_wait() {
  return rc::gen::map(rc::gen::inRange<std::int64_t>(0, 400'000'000'000), [](std::int64_t ms) {
    return Millis{std::min(ms, std::int64_t{315'360'000'000})};
  });
}

Failure some_failure() {
  Failure failure;
  failure.text = *rc::gen::oneOf(some_text(), rc::gen::arbitrary<std::string>());
  failure.type =
      *rc::gen::element<std::string>("", "KeyError", "a.JsonException", "TimeoutException");
  failure.code = *rc::gen::element<std::string>("", "EPIPE", "exit:75");
  if (*rc::gen::arbitrary<bool>()) failure.status = *rc::gen::inRange(-10, 700);
  if (*rc::gen::arbitrary<bool>()) failure.retry_after = *some_wait();
  if (*rc::gen::arbitrary<bool>()) failure.causes = {{"IOException", "x"}};
  return failure;
}

/// What a program may register: sane, negative, beyond all bounds, and one that throws.
const CustomBackoffs& registered() {
  static const CustomBackoffs backoffs = {
      {"squares",
       [](std::uint64_t n) {
         return Millis{std::min<std::uint64_t>(n, 1'000'000) *
                       std::min<std::uint64_t>(n, 1'000'000)};
       }},
      {"negative", [](std::uint64_t) { return Millis{-1}; }},
      {"endless", [](std::uint64_t) { return Millis::max(); }},
      {"broken", [](std::uint64_t) -> Millis { throw std::runtime_error("no"); }},
  };
  return backoffs;
}

RetryPolicy some_policy() {
  RetryPolicy policy;
  policy.kind = *rc::gen::element(PolicyKind::never, PolicyKind::immediate, PolicyKind::fixed,
                                  PolicyKind::linear, PolicyKind::exponential, PolicyKind::list,
                                  PolicyKind::custom);
  if (policy.kind == PolicyKind::never || policy.kind == PolicyKind::immediate) return policy;
  if (*rc::gen::arbitrary<bool>()) policy.cap = *some_wait();
  if (policy.kind == PolicyKind::custom) {
    policy.custom =
        *rc::gen::elementOf(std::vector<std::string>{"squares", "negative", "endless", "broken"});
    policy.jitter = *rc::gen::element(Jitter::none, Jitter::full, Jitter::equal);
    return policy;
  }
  if (policy.kind == PolicyKind::list) {
    policy.delays = *rc::gen::nonEmpty(rc::gen::container<std::vector<Millis>>(some_wait()));
    policy.jitter = *rc::gen::element(Jitter::none, Jitter::full, Jitter::equal);
    return policy;
  }
  policy.base = *some_wait();
  policy.jitter =
      *rc::gen::element(Jitter::none, Jitter::full, Jitter::equal, Jitter::decorrelated);
  if (policy.kind == PolicyKind::exponential) {
    policy.factor = *rc::gen::element(1.0, 1.1, 2.0, 3.75, 1000.0);
    policy.first_exponent = *rc::gen::inRange(-64, 65);
  }
  return policy;
}

RetryPolicy retrying_policy() {
  RetryPolicy policy = some_policy();
  while (policy.kind == PolicyKind::never) policy = some_policy();
  return policy;
}

Rule some_rule(std::size_t number) {
  Rule rule;
  rule.name = "rule " + std::to_string(number);
  rule.category = *rc::gen::element<std::string>("a", "b", "c");
  rule.match = *rc::gen::element(MatchKind::code, MatchKind::status, MatchKind::type,
                                 MatchKind::substring, MatchKind::word, MatchKind::regex);
  switch (rule.match) {
    case MatchKind::code:
      rule.values = {"EPIPE"};
      break;
    case MatchKind::status:
      rule.values = {*rc::gen::element<std::string>("404", "5xx", "100-450")};
      break;
    case MatchKind::type:
      rule.values = {*rc::gen::element<std::string>("keyerror", "JsonException", "IOException")};
      break;
    case MatchKind::substring:
    case MatchKind::word:
      rule.values = *rc::gen::nonEmpty(
          rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(words)));
      break;
    case MatchKind::regex:
      rule.values = {*rc::gen::element<std::string>("time.*out", "^x", "\\bauth\\b", "(?i)FORMAT")};
      break;
  }
  rule.except = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(words));
  if (rule.except.size() > 2) rule.except.resize(2);
  return rule;
}

/// Any profile that `check` accepts, with any settings.
Profile some_profile() {
  Profile p;
  p.name = "random";
  p.summary = *rc::gen::element<std::string>("", "a: b", "- é \"q\"\n");
  p.limit = *rc::gen::inRange<std::uint32_t>(2, 9);
  const auto counter =
      rc::gen::element(CounterName::fetch, CounterName::attempt, CounterName::failure,
                       CounterName::retry, CounterName::next_retry, CounterName::abandon_or_fetch);
  const auto comparison = rc::gen::element(Comparison::greater, Comparison::at_least);
  const bool pre = *rc::gen::arbitrary<bool>();
  if (pre) p.pre_check = Check{*counter, *comparison, p.limit, "before", "{count} {limit} {error}"};
  if (!pre || *rc::gen::arbitrary<bool>()) {
    p.post_check = Check{*counter, *comparison, p.limit, "after", "{count} {limit} {error}"};
  }
  const auto rules = *rc::gen::inRange<std::size_t>(0, 7);
  for (std::size_t i = 0; i < rules; ++i) p.rules.push_back(some_rule(i));
  p.default_category = *rc::gen::element<std::string>("a", "other");
  p.empty_error_category = *rc::gen::element<std::string>("b", "other");
  p.retry = retrying_policy();
  if (*rc::gen::arbitrary<bool>()) p.unregistered = some_policy();
  CategoryRule category;
  category.action =
      *rc::gen::element(Action::retry, Action::terminal, Action::never, Action::reject_to_caller);
  if (*rc::gen::arbitrary<bool>()) category.policy = some_policy();
  if (p.post_check && *rc::gen::arbitrary<bool>()) category.limit = *rc::gen::inRange(0U, 9U);
  category.reason = *rc::gen::element<std::string>("", "because");
  p.categories[p.empty_error_category] = category;
  p.placement = *rc::gen::element(Placement::requeue, Placement::delayed, Placement::in_office,
                                  Placement::hold);
  p.invalid =
      *rc::gen::element(InvalidAction::dead_letter, InvalidAction::drop, InvalidAction::count);
  p.invalid_keeps_count = *rc::gen::arbitrary<bool>();
  p.crash_counts = *rc::gen::arbitrary<bool>();
  p.skips = *rc::gen::element(Skips::lose, Skips::record);
  p.store_failure = *rc::gen::element(StoreFailure::keep_source, StoreFailure::reject,
                                      StoreFailure::memory_fallback);
  p.failure_abandons = *rc::gen::arbitrary<bool>();
  p.claims_count = *rc::gen::arbitrary<bool>();
  p.reasons.use_error_type = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) p.replay_limit = *rc::gen::arbitrary<std::uint32_t>();
  if (*rc::gen::arbitrary<bool>()) p.capacity.bytes = *rc::gen::arbitrary<std::uint64_t>();
  if (*rc::gen::arbitrary<bool>()) {
    p.retention = {{"open", Millis{1}, RetentionAct::archive,
                    *rc::gen::element(RetentionFrom::end, RetentionFrom::first_failure)}};
  }
  return p;
}

Counters some_counters() {
  const auto count =
      rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 12), rc::gen::arbitrary<std::uint32_t>());
  Counters counters;
  for (std::uint32_t* counter : {&counters.fetch, &counters.attempt, &counters.failure,
                                 &counters.abandon, &counters.retry, &counters.total}) {
    *counter = *count;
  }
  return counters;
}

RuleBook book_from(const Profile& profile) {
  return must(RuleBook::build(profile, re2_compiler(), registered()));
}

/// Everything a book can be asked, answered.
struct Answers {
  std::vector<Verdict> verdicts;
  std::vector<Counters> counters;
  std::vector<std::string> words;
  bool operator==(const Answers&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Answers& answers) {
  for (const Verdict& verdict : answers.verdicts) out << name_of(verdict) << ' ';
  return out;
}
Answers ask(const RuleBook& book, const Failure& failure, const Counters& counters,
            std::uint64_t random, Millis previous) {
  Answers answers;
  const auto add = [&](const Decision& decision) {
    answers.verdicts.push_back(decision.verdict);
    answers.counters.push_back(decision.counters);
    answers.words.emplace_back(decision.category);
    answers.words.emplace_back(decision.rule);
    answers.words.emplace_back(decision.because);
  };
  for (const OutcomeKind kind :
       {OutcomeKind::ok, OutcomeKind::failed, OutcomeKind::crashed, OutcomeKind::never_started}) {
    add(book.after_run({kind, failure}, counters, noon, random, previous));
  }
  for (const Stage stage : {Stage::header, Stage::decode, Stage::schema}) {
    add(book.after_invalid(counters, stage, failure, noon, random, previous));
  }
  add(book.before_run(counters, failure.text));
  add(book.resume(counters, failure.text));
  add(book.crashed_alone(counters));
  add(book.unregistered(counters, noon, random, previous));
  return answers;
}

RC_GTEST_PROP(Laws, ARandomProfileIsValid, ()) {
  const auto checked = check(some_profile());
  if (!checked) RC_FAIL(checked.error().detail);
}

RC_GTEST_PROP(Laws, PrintThenParseIsTheSameProfileAndDecidesTheSame, ()) {
  const Profile profile = some_profile();
  const auto parsed = parse_profile(print(profile));
  if (!parsed) RC_FAIL(parsed.error().detail + "\n" + print(profile));
  RC_ASSERT(*parsed == profile);
  const RuleBook before = book_from(profile);
  const RuleBook after = book_from(*parsed);
  for (int i = 0; i < 5; ++i) {
    const Failure failure = some_failure();
    const Counters counters = some_counters();
    const auto random = *rc::gen::arbitrary<std::uint64_t>();
    RC_ASSERT(ask(before, failure, counters, random, Millis{7}) ==
              ask(after, failure, counters, random, Millis{7}));
  }
}

RC_GTEST_PROP(Laws, DecidingIsTotalDeterministicAndBounded, ()) {
  const RuleBook book = book_from(some_profile());
  const Failure failure = some_failure();
  const Counters counters = some_counters();
  const auto random = *rc::gen::arbitrary<std::uint64_t>();
  const Millis previous = *some_wait();
  const Answers answers = ask(book, failure, counters, random, previous);
  RC_ASSERT(answers == ask(book, failure, counters, random, previous));
  for (const Verdict& verdict : answers.verdicts) {
    const auto* retry = std::get_if<RetryAt>(&verdict);
    if (retry == nullptr) continue;
    RC_ASSERT(retry->delay >= Millis{0});
    RC_ASSERT(retry->when == noon + retry->delay);
    RC_ASSERT(retry->placement != Placement::requeue || retry->delay == Millis{0});
  }
}

/// Once dead, never alive again by counting further.
RC_GTEST_PROP(Laws, DeathIsMonotoneInEveryCounter, ()) {
  const RuleBook book = book_from(some_profile());
  const Outcome outcome{OutcomeKind::failed, some_failure()};
  const Counters lower = some_counters();
  Counters higher = lower;
  for (std::uint32_t* counter : {&higher.fetch, &higher.attempt, &higher.failure, &higher.abandon,
                                 &higher.retry, &higher.total}) {
    const auto more = *rc::gen::inRange<std::uint32_t>(0, 20);
    *counter += std::min(more, std::numeric_limits<std::uint32_t>::max() - *counter);
  }
  const auto dead = [](const Decision& d) { return !std::holds_alternative<RetryAt>(d.verdict); };
  RC_ASSERT(!dead(book.after_run(outcome, lower, noon, 0)) ||
            dead(book.after_run(outcome, higher, noon, 0)));
  const auto stopped = [](const Decision& d) {
    return !std::holds_alternative<dlo::Run>(d.verdict);
  };
  RC_ASSERT(!stopped(book.before_run(lower)) || stopped(book.before_run(higher)));
}

/// No profile lets a message live for ever, whatever happens to it each time (R8).
RC_GTEST_PROP(Laws, EveryLifeEnds, ()) {
  const Profile profile = some_profile();
  const RuleBook book = book_from(profile);
  const Failure failure = some_failure();
  Counters counters;
  bool interrupted = false;
  std::uint32_t executions = 0;
  for (int claims = 0; claims < 1'000; ++claims) {
    ++counters.fetch;
    Decision decision = interrupted ? book.resume(counters) : book.before_run(counters);
    if (!std::holds_alternative<dlo::Run>(decision.verdict)) return;
    const bool crash = *rc::gen::arbitrary<bool>();
    counters = RuleBook::started(crash ? counters : decision.counters);
    ++executions;
    RC_ASSERT(executions <= 2 * (profile.limit + 10));
    interrupted = crash;
    if (crash) continue;
    decision = book.after_run({OutcomeKind::failed, failure}, counters, noon, 0);
    if (!std::holds_alternative<RetryAt>(decision.verdict)) return;
    counters = decision.counters;
  }
  RC_FAIL("still alive after 1000 claims");
}

/// S3-48, for every counter and comparison: a limit of N ends it after exactly the N that the
/// counter and the comparison imply.
RC_GTEST_PROP(Laws, PoisonComesAfterExactlyN, ()) {
  const auto n = *rc::gen::inRange<std::uint32_t>(1, 200);
  const std::vector<std::pair<std::string, std::uint32_t>> table = {
      {"standard", n},       {"service-bus", n},           {"booking", n},
      {"booking-outbox", n}, {"booking-retry-api", n + 1}, {"workflow", n + 1},
      {"durable", n},        {"durable+safe", n},          {"durable-fetch", n},
      {"kafka", n + 1}};
  const auto [name, executions] = *rc::gen::elementOf(table);
  const RuleBook book = must(RuleBook::build(with_limit(must(find_profile(name)), n)));
  const auto death = testing::live_failing(book, testing::failure_saying("temporary"));
  RC_ASSERT(death.has_value());
  RC_ASSERT(death->executions == executions);
}

RC_GTEST_PROP(Laws, TheFastClassifierAgreesWithTheSlowOne, ()) {
  std::vector<Rule> rules;
  const auto count = *rc::gen::inRange<std::size_t>(0, 12);
  for (std::size_t i = 0; i < count; ++i) rules.push_back(some_rule(i));
  const Classifier classifier = must(Classifier::build(rules, "default", "empty", re2_compiler()));
  for (int i = 0; i < 10; ++i) {
    const Failure failure = some_failure();
    const auto steps = classifier.trace(failure);
    const bool fired = !steps.empty() && steps.back().stopped_by.empty();
    RC_ASSERT(classifier.classify(failure).rule ==
              (fired ? steps.back().rule : std::string_view()));
  }
}

RC_GTEST_PROP(Laws, APolicyReadsBackWhatItPrints, ()) {
  const RetryPolicy policy = some_policy();
  const auto parsed = parse_policy(print(policy));
  if (!parsed) RC_FAIL(print(policy) + ": " + parsed.error().detail);
  RC_ASSERT(*parsed == policy);
}

RC_GTEST_PROP(Laws, WaitsWithoutJitterNeverShrinkAndWithItStayInBounds, ()) {
  RetryPolicy policy = retrying_policy();
  const auto random = *rc::gen::arbitrary<std::uint64_t>();
  const auto number =
      *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 100), rc::gen::arbitrary<std::uint64_t>());
  const Millis previous = *some_wait();
  const auto wait = delay_before(policy, number, previous, random, registered());
  RC_ASSERT(wait.has_value());
  RC_ASSERT(*wait >= Millis{0});
  RC_ASSERT(*wait <= policy.cap.value_or(std::chrono::hours{24} * 3650));
  if (policy.kind == PolicyKind::list) return;
  policy.jitter = Jitter::none;
  const auto next = number == std::numeric_limits<std::uint64_t>::max() ? number : number + 1;
  RC_ASSERT(delay_before(policy, number, previous, random, registered()).value() <=
            delay_before(policy, next, previous, random, registered()).value());
}

}  // namespace
}  // namespace dlo
