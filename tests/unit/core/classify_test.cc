#include "dlo/core/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/core/profile.h"
#include "dlo/core/text_finder.h"
#include "dlo/regex/re2_compiler.h"

namespace dlo {
namespace {

using ::testing::HasSubstr;
using testing::must;

Failure saying(std::string text) {
  Failure failure;
  failure.text = std::move(text);
  return failure;
}

Rule rule(std::string name, MatchKind match, std::vector<std::string> values,
          std::vector<std::string> except = {}) {
  return {name, match, std::move(values), std::move(except), name};
}

Classifier classifier(std::vector<Rule> rules) {
  return must(Classifier::build(std::move(rules), "default", "empty", re2_compiler()));
}

Classifier classifier_of(std::string_view profile) {
  const Profile found = must(find_profile(profile));
  return must(Classifier::build(found.rules, found.default_category, found.empty_error_category));
}

struct Row {
  const char* name;
  const char* profile;
  const char* text;
  const char* category;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Texts : public ::testing::TestWithParam<Row> {};

TEST_P(Texts, FallIntoTheStatedCategory) {
  const Classifier rules = classifier_of(GetParam().profile);
  EXPECT_EQ(rules.classify(saying(GetParam().text)).category, GetParam().category);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(ServiceBus, Texts, ::testing::ValuesIn<Row>({   // S0-26..29, R0-7, R0-10
    {"Timeout",          "service-bus", "Execution TIMEOUT after 30 s",            "non_retryable"},
    {"Duration",         "service-bus", "budget: exceeded maximum duration",       "non_retryable"},
    {"Deserialization",  "service-bus", "Deserialization of body failed",          "non_retryable"},
    {"InvalidFormat",    "service-bus", "Invalid format in field x",               "non_retryable"},
    {"BadRequest",       "service-bus", "400 Bad Request",                         "non_retryable"},
    {"Unauthorized",     "service-bus", "Unauthorized",                            "non_retryable"},
    {"Forbidden",        "service-bus", "403 forbidden",                           "non_retryable"},
    {"NotFound",         "service-bus", "customer not found",                      "non_retryable"},
    {"Conflict",         "service-bus", "409 Conflict",                            "non_retryable"},
    {"Network",          "service-bus", "network error",                           "retryable"},
    {"RateLimited",      "service-bus", "429 too many requests",                   "retryable"},
    {"Internal",         "service-bus", "500 internal server error",               "retryable"},
    {"TimedOutIsNotTimeout", "service-bus", "the request timed out",               "retryable"},
    {"Empty",            "service-bus", "",                                        "retryable"},
}), [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(Workflow, Texts, ::testing::ValuesIn<Row>({     // R2-8, D8
    {"RateLimit",        "workflow", "API Rate Limit hit",                   "transient"},
    {"TransientBeforeNetwork", "workflow", "connection temporary down",      "transient"},
    {"NetworkBeforeResource",  "workflow", "connection out of memory",       "network"},
    {"Ssl",              "workflow", "SSL error",                            "network"},
    {"Memory",           "workflow", "cannot allocate memory",               "resource"},
    {"IndexIsNoResource","workflow", "list index out of bounds",             "permanent"},
    {"RangeIsNoResource","workflow", "value out of range",                   "permanent"},
    {"RangeThenLaterRule","workflow", "memory range access violation",       "permission"},
    {"Denied",           "workflow", "Access denied",                        "permission"},
    {"Schema",           "workflow", "schema mismatch",                      "validation"},
    {"Unknown",          "workflow", "something odd",                        "permanent"},
    {"Empty",            "workflow", "",                                     "permanent"},
}), [](const auto& row) { return std::string(row.param.name); });

// R2-11: the document's table keeps its false hits, the +safe one does not.
INSTANTIATE_TEST_SUITE_P(FalseHits, Texts, ::testing::ValuesIn<Row>({
    {"TooManyRequestsBase",  "workflow", "HTTP 429 Too Many Requests",       "permanent"},
    {"TooManyRequestsSafe",  "workflow+safe", "HTTP 429 Too Many Requests",  "transient"},
    {"InternalErrorBase",    "workflow", "Internal server error (500)",      "permanent"},
    {"InternalErrorSafe",    "workflow+safe", "Internal server error (500)", "transient"},
    {"DurationBase",         "workflow", "exceeded maximum duration",        "resource"},
    {"DurationSafe",         "workflow+safe", "exceeded maximum duration",   "network"},
    {"WorkspaceBase",        "workflow", "KeyError: 'workspace'",            "resource"},
    {"WorkspaceSafe",        "workflow+safe", "KeyError: 'workspace'",       "permanent"},
    {"AuthorBase",           "workflow", "author not set",                   "permission"},
    {"AuthorSafe",           "workflow+safe", "author not set",              "permanent"},
    {"InformationBase",      "workflow", "information missing",              "validation"},
    {"InformationSafe",      "workflow+safe", "information missing",         "permanent"},
    {"AuthAloneSafe",        "workflow+safe", "auth failed",                 "permission"},
    {"DiskSafe",             "workflow+safe", "no space left on device",     "resource"},
    {"FormatAloneSafe",      "workflow+safe", "wrong format: x",             "validation"},
    {"PortIsNoStatusSafe",   "workflow+safe", "order 15003 is unknown",      "permanent"},
}), [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(Standard, Texts, ::testing::ValuesIn<Row>({     // R12: unknown is retried
    {"Timeout",   "standard", "upstream timed out",          "timeout"},
    {"Refused",   "standard", "connect: Connection refused", "network"},
    {"Unknown",   "standard", "boom",                        "unknown"},
    {"Empty",     "standard", "",                            "unknown"},
}), [](const auto& row) { return std::string(row.param.name); });
// clang-format on

TEST(Classifier, KafkaGoesByTheTypeOfTheException) {  // S4-4, S4-7..9
  const Classifier rules = classifier_of("kafka");
  Failure failure;
  failure.type = "System.Text.Json.JsonException";
  EXPECT_EQ(rules.classify(failure).category, "deserialization");
  failure.type = "InvalidOperationException";
  EXPECT_EQ(rules.classify(failure).category, "business");
  failure.type = "Npgsql.NpgsqlException";
  EXPECT_EQ(rules.classify(failure).category, "database");
  failure.type = "Exception";
  EXPECT_EQ(rules.classify(failure).category, "unexpected");
}

TEST(Classifier, StatusBeatsWordsInTheSafeWorkflow) {  // D10
  const Classifier rules = classifier_of("workflow+safe");
  Failure failure = saying("invalid credential format");
  failure.status = 503;
  EXPECT_EQ(rules.classify(failure).category, "transient");
  failure.status = 403;
  EXPECT_EQ(rules.classify(failure).category, "permission");
}

TEST(Classifier, TheFirstRuleThatMatchesFiresAndIsNamed) {
  const Classifier rules = classifier(
      {rule("one", MatchKind::substring, {"b"}), rule("two", MatchKind::substring, {"a"})});
  EXPECT_EQ(rules.classify(saying("a b")).rule, "one");
  EXPECT_EQ(rules.classify(saying("a")).rule, "two");
  EXPECT_EQ(rules.classify(saying("c")).rule, "");
  EXPECT_EQ(rules.classify(saying("c")).category, "default");
}

TEST(Classifier, AnExceptionStopsOnlyItsOwnRule) {
  const Classifier rules = classifier({rule("disk", MatchKind::substring, {"space"}, {"WORK"}),
                                       rule("later", MatchKind::substring, {"space"})});
  EXPECT_EQ(rules.classify(saying("no space")).rule, "disk");
  EXPECT_EQ(rules.classify(saying("workspace")).rule, "later");
}

TEST(Classifier, EmptyMeansThatNothingIsKnown) {
  const Classifier rules = classifier({});
  EXPECT_EQ(rules.classify({}).category, "empty");
  EXPECT_EQ(rules.classify(saying(" \n\t")).category, "empty");
  Failure typed;
  typed.type = "Error";
  EXPECT_EQ(rules.classify(typed).category, "default");
  Failure caused;
  caused.causes.push_back({});
  EXPECT_EQ(rules.classify(caused).category, "default");
  Failure status;
  status.status = 0;
  EXPECT_EQ(rules.classify(status).category, "default");
}

TEST(Classifier, CodesAreExactTypesIgnoreCaseAndQualification) {
  const Classifier rules =
      classifier({rule("code", MatchKind::code, {"EPIPE", "exit:75"}),
                  rule("type", MatchKind::type, {"KeyError", "std::bad_alloc"})});
  Failure failure;
  failure.code = "exit:75";
  EXPECT_EQ(rules.classify(failure).rule, "code");
  failure.code = "epipe";
  EXPECT_EQ(rules.classify(failure).rule, "");
  for (const char* type :
       {"KEYERROR", "builtins.KeyError", "a::KeyError", "Outer$keyError", "std::bad_alloc"}) {
    failure.type = type;
    EXPECT_EQ(rules.classify(failure).rule, "type") << type;
  }
  for (const char* type : {"bad_alloc", "MyKeyError", "KeyError2", "KeyError."}) {
    failure.type = type;
    EXPECT_EQ(rules.classify(failure).rule, "") << type;
  }
}

TEST(Classifier, ACauseCountsByItsType) {
  const Classifier rules = classifier({rule("type", MatchKind::type, {"SocketException"})});
  Failure failure;
  failure.type = "HttpRequestException";
  failure.causes = {{"IOException", ""}, {"System.Net.Sockets.SocketException", ""}};
  EXPECT_EQ(rules.classify(failure).rule, "type");
}

TEST(Classifier, StatusesAreNumbersRangesOrClasses) {
  const Classifier rules = classifier({rule("one", MatchKind::status, {"404"}),
                                       rule("range", MatchKind::status, {"410-412"}),
                                       rule("class", MatchKind::status, {"5XX"})});
  const auto of = [&](int status) {
    Failure failure;
    failure.status = status;
    return std::string(rules.classify(failure).rule);
  };
  EXPECT_EQ(of(404), "one");
  EXPECT_EQ(of(409), "");
  EXPECT_EQ(of(410), "range");
  EXPECT_EQ(of(412), "range");
  EXPECT_EQ(of(413), "");
  EXPECT_EQ(of(500), "class");
  EXPECT_EQ(of(599), "class");
  EXPECT_EQ(of(600), "");
  for (const int odd : {-1, 0, 1'000, 2'147'483'647, -2'147'483'647 - 1}) EXPECT_EQ(of(odd), "");
}

TEST(Classifier, WordsStandAlone) {
  const Classifier rules = classifier({rule("word", MatchKind::word, {"auth", "(500)"})});
  for (const char* text : {"auth", "AUTH failed", "no-auth", "bad (auth)", "x(500)y"}) {
    EXPECT_EQ(rules.classify(saying(text)).rule, "word") << text;
  }
  for (const char* text : {"author", "oauth", "auth2", "my_auth", "auth\xc3\xa9", "(5000)"}) {
    EXPECT_EQ(rules.classify(saying(text)).rule, "") << text;
  }
  EXPECT_EQ(rules.classify(saying("author without auth")).rule, "word");
}

TEST(Classifier, OnlyTheFirst16KBAreRead) {  // R18
  const Classifier rules = classifier({rule("text", MatchKind::substring, {"needle"}),
                                       rule("pattern", MatchKind::regex, {"haystack$"})});
  const std::string padding(classified_text_limit - 6, '.');
  EXPECT_EQ(rules.classify(saying(padding + "needle")).rule, "text");
  EXPECT_EQ(rules.classify(saying(padding + ".needle")).rule, "");
  EXPECT_EQ(rules.classify(saying(std::string(64 * 1024 * 1024, 'n'))).rule, "");
}

TEST(Classifier, ARegexIsAskedInItsPlace) {
  const Classifier rules = classifier({rule("early", MatchKind::substring, {"early"}),
                                       rule("pattern", MatchKind::regex, {"o+ps", "^x"}, {"not"}),
                                       rule("late", MatchKind::substring, {"late"})});
  EXPECT_EQ(rules.classify(saying("early ooops")).rule, "early");
  EXPECT_EQ(rules.classify(saying("late ooops")).rule, "pattern");
  EXPECT_EQ(rules.classify(saying("xyz late")).rule, "pattern");
  EXPECT_EQ(rules.classify(saying("not ooops, late")).rule, "late");
  EXPECT_EQ(rules.classify(saying("ps")).rule, "");
}

TEST(Classifier, BinaryRubbishIsJustText) {
  const Classifier rules = classifier({rule("nul", MatchKind::substring, {std::string("a\0b", 3)}),
                                       rule("high", MatchKind::substring, {"\xff\xfe"}),
                                       rule("pattern", MatchKind::regex, {"z+"})});
  EXPECT_EQ(rules.classify(saying(std::string("..a\0b..", 7))).rule, "nul");
  EXPECT_EQ(rules.classify(saying("\x80\xff\xfe")).rule, "high");
  EXPECT_EQ(rules.classify(saying("\xff\xffzz")).rule, "pattern");
}

TEST(Classifier, ManyRulesKeepTheirOrder) {
  std::vector<Rule> many;
  for (std::size_t i = 0; i < most_rules; ++i) {
    many.push_back(rule("r" + std::to_string(i), MatchKind::substring,
                        {"<" + std::to_string(most_rules - i) + ">"}));
  }
  const Classifier rules = classifier(many);
  EXPECT_EQ(rules.classify(saying("<1> <700> <2>")).rule, "r324");
  EXPECT_EQ(rules.classify(saying("<1>")).rule, "r1023");
}

TEST(Classifier, AHostileTextAgainstNestedValuesTakesNoTime) {
  std::vector<std::string> nested;
  for (std::size_t n = 1; n <= 300; ++n) nested.emplace_back(n, 'a');
  const Classifier rules = classifier({rule("nested", MatchKind::word, nested)});
  EXPECT_EQ(rules.classify(saying(std::string(classified_text_limit, 'a') + "!")).rule, "");
}

struct Refusal {
  const char* name;
  Rule rule;
  const char* says;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}
class RefusedRule : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedRule, IsNamed) {
  const auto built = Classifier::build({GetParam().rule}, "d", "e", re2_compiler());
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().detail, HasSubstr(GetParam().says));
  EXPECT_THAT(built.error().detail, HasSubstr(GetParam().rule.name));
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(Classifier, RefusedRule, ::testing::ValuesIn<Refusal>({
    {"NoValues",     rule("mine", MatchKind::substring, {}), "no values"},
    {"EmptyValue",   rule("mine", MatchKind::substring, {"x", ""}), "empty value"},
    {"EmptyExcept",  rule("mine", MatchKind::substring, {"x"}, {""}), "empty value"},
    {"NoName",       {"", MatchKind::substring, {"x"}, {}, "c"}, "number 1"},
    {"NoCategory",   {"mine", MatchKind::substring, {"x"}, {}, ""}, "no category"},
    {"StatusText",   rule("mine", MatchKind::status, {"teapot"}), "three digits"},
    {"StatusRange",  rule("mine", MatchKind::status, {"599-500"}), "500-599"},
    {"StatusLong",   rule("mine", MatchKind::status, {"4040"}), "4040"},
    {"BadPattern",   rule("mine", MatchKind::regex, {"fine", "("}), "\"(\""},
    {"BackReference", rule("mine", MatchKind::regex, {"(a)\\1"}), "Back-references"},
    {"TooLong",      rule("mine", MatchKind::substring, {std::string(most_rule_text + 1, 'x')}), "64 KB"},
}), [](const auto& row) { return std::string(row.param.name); });
// clang-format on

TEST(Classifier, ARegexWithoutACompilerIsRefused) {
  const auto built = Classifier::build({rule("mine", MatchKind::regex, {"x"})}, "d", "e");
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().detail, HasSubstr("\"mine\""));
}

TEST(Classifier, TwoRulesOfOneNameAreRefused) {
  const auto built = Classifier::build(
      {rule("a", MatchKind::code, {"x"}), rule("a", MatchKind::code, {"y"})}, "d", "e");
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().detail, HasSubstr("shares its name"));
}

TEST(Classifier, TooManyRulesAreRefused) {
  std::vector<Rule> many;
  for (std::size_t i = 0; i <= most_rules; ++i) {
    many.push_back(rule("r" + std::to_string(i), MatchKind::code, {"x"}));
  }
  EXPECT_FALSE(Classifier::build(many, "d", "e"));
}

TEST(Trace, TellsWhatMatchedAndWhatStoppedIt) {
  const Classifier rules = classifier(
      {rule("disk", MatchKind::substring, {"full", "space"}, {"work"}),
       rule("absent", MatchKind::code, {"x"}), rule("pattern", MatchKind::regex, {"q", "sp.ce"}),
       rule("after", MatchKind::substring, {"space"})});
  const auto steps = rules.trace(saying("Workspace"));
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].rule, "disk");
  EXPECT_EQ(steps[0].value, "space");
  EXPECT_EQ(steps[0].stopped_by, "work");
  EXPECT_EQ(steps[1].rule, "pattern");
  EXPECT_EQ(steps[1].value, "sp.ce");
  EXPECT_EQ(steps[1].stopped_by, "");
}

TEST(TextFinder, FindsANeedleWhereverItStands) {
  // Four walks share a text: every place, also where one walk hands over to the next, must be seen.
  const TextFinder finder(std::vector<TextFinder::Needle>{{"needle"}, {"another longer one"}});
  for (std::size_t size = 6; size <= 300; ++size) {
    for (std::size_t at = 0; at + 6 <= size; ++at) {
      std::string text(size, 'n');
      text.replace(at, 6, "NEEDLE");
      std::size_t found = 0;
      finder.scan(text, [&](std::size_t index) { found += index == 0 ? 1 : 1000; });
      ASSERT_GE(found, 1U) << size << " " << at;
      ASSERT_LT(found, 1000U) << size << " " << at;
    }
  }
}

TEST(TextFinder, AWideTableFindsTheSame) {
  // More states than 16-bit offsets can name.
  std::vector<TextFinder::Needle> needles;
  for (int i = 0; i < 3'000; ++i) {
    needles.push_back({"k" + std::to_string(i * 7919) + "qwertzuiopasdfghjklyxcvbnm"});
  }
  const TextFinder finder(needles);
  for (std::size_t i = 0; i < needles.size(); i += 97) {
    std::size_t found = needles.size();
    finder.scan("...." + needles[i].text + std::string(200, '.'),
                [&](std::size_t index) { found = index; });
    EXPECT_EQ(found, i);
  }
}

}  // namespace
}  // namespace dlo
