// Claim: classify + decide takes < 500 ns with 50 code, status, type and substring rules on a
// 200-byte error, and < 3 us with 10 regexes among them.
//
// The worst case is the interesting one: no rule fires, so nothing ends early. `Late` fires the
// last rule, `Early` the first. `Naive` is the plain way (one search per value), for comparison.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dlo/core/decide.h"
#include "dlo/core/spelling.h"
#include "dlo/regex/re2_compiler.h"

namespace {

using namespace dlo;

constexpr const char* phrases[] = {
    "rate limit",        "throttled",        "temporarily",        "resource busy",
    "unavailable",       "offline",          "connection refused", "connection reset",
    "timed out",         "timeout",          "network down",       "socket closed",
    "handshake",         "certificate",      "out of memory",      "disk full",
    "quota exceeded",    "no space left",    "permission denied",  "forbidden",
    "unauthorized",      "invalid format",   "malformed",          "schema mismatch",
    "duplicate invoice", "invalid customer", "already cancelled",  "negative amount",
    "deserialization",   "unexpected token"};

constexpr const char* patterns[] = {
    R"(HTTP/1\.[01] 5\d\d)",     R"((?i)deadlock (found|detected))",  R"(ORA-\d{5})",
    R"(errno=\d+ EAGAIN)",       R"((?i)lock wait timeout)",          R"(\bSQLSTATE\[\w{5}\])",
    R"(code[:=] ?(16|17|18))",   R"((?i)could not serialize access)", R"(^panic: )",
    R"(OOMKilled|exit code 137)"};

/// 50 rules: 30 substrings, 8 types, 6 statuses, 6 codes; the last ten may become regexes.
Profile profile_with(int regexes) {
  Profile profile = *find_profile("standard");
  profile.rules.clear();
  profile.categories.clear();
  const auto add = [&](MatchKind match, std::string value) {
    const std::string number = std::to_string(profile.rules.size());
    profile.rules.push_back({"rule" + number, match, {std::move(value)}, {}, "category" + number});
  };
  for (int i = 0; i < regexes; ++i) add(MatchKind::regex, patterns[i]);
  for (const char* code : {"ECONNRESET", "EPIPE", "exit:75", "exit:65", "E1205", "E40001"}) {
    add(MatchKind::code, code);
  }
  for (const char* status : {"400", "404", "409", "422", "429", "503-504"}) {
    add(MatchKind::status, status);
  }
  for (const char* type : {"JsonException", "SqlException", "DbUpdateException", "IOException",
                           "TimeoutException", "ValidationException", "KeyError", "bad_alloc"}) {
    add(MatchKind::type, type);
  }
  for (const char* phrase : phrases) {
    if (profile.rules.size() < 50) add(MatchKind::substring, phrase);
  }
  return profile;
}

RuleBook book_with(int regexes) {
  auto book = RuleBook::build(profile_with(regexes), re2_compiler());
  if (!book) {
    std::fprintf(stderr, "%s\n", book.error().detail.c_str());
    std::abort();
  }
  return std::move(*book);
}

Outcome failure_of(std::string text) {
  Outcome outcome{OutcomeKind::failed, {}};
  outcome.failure.type = "System.InvalidOperationException";
  outcome.failure.code = "E99";
  outcome.failure.status = 418;
  outcome.failure.text = std::move(text);
  return outcome;
}

/// 200 bytes of what services really say, matching none of the rules.
std::string unmatched_text() {
  std::string text =
      "Payment 8812-4471 for merchant 5521 could not be booked: the balance service answered that "
      "the ledger entry 0x7f3a91c2 is still pending review by the operations team since yesterday; "
      "try it later";
  text.resize(200, '.');
  return text;
}

void decide(benchmark::State& state, const RuleBook& book, const Outcome& outcome) {
  Counters counters;
  counters.fetch = counters.attempt = counters.total = 2;
  counters.failure = counters.retry = 1;
  std::uint64_t random = 88172645463325252;
  for (auto _ : state) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    benchmark::DoNotOptimize(book.after_run(outcome, counters, TimePoint{}, random));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(outcome.failure.text.size()) *
                          state.iterations());
}

void Fifty_NoRuleFires(benchmark::State& state) {
  const RuleBook book = book_with(0);
  decide(state, book, failure_of(unmatched_text()));
}
void Fifty_LateRuleFires(benchmark::State& state) {
  const RuleBook book = book_with(0);
  decide(state, book, failure_of(unmatched_text().substr(0, 184) + "unexpected token"));
}
void Fifty_EarlyRuleFires(benchmark::State& state) {
  const RuleBook book = book_with(0);
  Outcome outcome = failure_of(unmatched_text());
  outcome.failure.code = "ECONNRESET";
  decide(state, book, outcome);
}
void TenRegexes_NoRuleFires(benchmark::State& state) {
  const RuleBook book = book_with(10);
  decide(state, book, failure_of(unmatched_text()));
}
void TenRegexes_OneFires(benchmark::State& state) {
  const RuleBook book = book_with(10);
  decide(state, book, failure_of(unmatched_text().substr(0, 191) + "ORA-12541"));
}
void Workflow_16KB(benchmark::State& state) {
  const auto book = RuleBook::build(*find_profile("workflow+safe"));
  std::string text;
  while (text.size() < classified_text_limit) text += unmatched_text();
  decide(state, *book, failure_of(text));
}

/// The peer: lower-case the text once, then one search per value.
void Naive_Fifty_NoRuleFires(benchmark::State& state) {
  const Profile profile = profile_with(0);
  const Outcome outcome = failure_of(unmatched_text());
  for (auto _ : state) {
    const std::string lower = ascii_lower(outcome.failure.text);
    const auto fired =
        std::find_if(profile.rules.begin(), profile.rules.end(), [&](const Rule& rule) {
          return rule.match == MatchKind::substring &&
                 lower.find(rule.values.front()) != std::string::npos;
        });
    benchmark::DoNotOptimize(fired);
  }
}

BENCHMARK(Fifty_NoRuleFires);
BENCHMARK(Fifty_LateRuleFires);
BENCHMARK(Fifty_EarlyRuleFires);
BENCHMARK(TenRegexes_NoRuleFires);
BENCHMARK(TenRegexes_OneFires);
BENCHMARK(Workflow_16KB);
BENCHMARK(Naive_Fifty_NoRuleFires);

}  // namespace

BENCHMARK_MAIN();
