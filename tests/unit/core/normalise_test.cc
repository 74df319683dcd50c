#include <ctime>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include "dlo/core/encoding.h"
#include "dlo/core/fingerprint.h"

namespace dlo {
namespace {

struct Row {
  const char* name;
  std::string text;
  std::string expected;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Normalise : public ::testing::TestWithParam<Row> {};

TEST_P(Normalise, FoldsWhatVaries) {
  EXPECT_EQ(normalise(GetParam().text), GetParam().expected);
  EXPECT_EQ(normalise(GetParam().expected), GetParam().expected) << "not idempotent";
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Text, Normalise, ::testing::ValuesIn<Row>({
    {"Empty",          "",                                                     ""},
    {"Plain",          "Balance not found for merchant",                       "Balance not found for merchant"},
    {"Number",         "order 4711 not found",                                 "order <n> not found"},
    {"Negative",       "amount -5 is below 0",                                 "amount <n> is below <n>"},
    {"Decimal",        "paid 1,234.50 of 99.9",                                "paid <n> of <n>"},
    {"Joined",         "order1234 failed",                                     "order<n> failed"},
    {"Underscore",     "job_17 failed",                                        "job_<n> failed"},
    {"Uuid",           "payment 3f2504e0-4f89-11d3-9a0c-0305e82c3301 failed",  "payment <id> failed"},
    {"UuidBraces",     "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}",               "{<id>}"},
    {"Hex",            "at address 0x7ffee4c0",                                "at address <id>"},
    {"CommitHash",     "build 9fceb02d0ae598 broke",                           "build <id> broke"},
    {"ObjectHash",     "com.acme.Order@1b6d3586 is closed",                    "com.acme.Order@<id> is closed"},
    {"PodName",        "pod api-7d9f8c6b5-x2v4k gone",                         "pod api-<id>-<id> gone"},
    {"Ulid",           "id 01ARZ3NDEKTSV4RRFFQ69G5FAV",                        "id <id>"},
    {"IsoTime",        "at 2026-03-01T12:00:00.123Z failed",                   "at <time> failed"},
    {"IsoOffset",      "at 2026-03-01T12:00:00+01:00 failed",                  "at <time> failed"},
    {"LogTime",        "2026-03-01 12:00:00,123 ERROR x",                      "<time> ERROR x"},
    {"DateOnly",       "due 2026-03-01.",                                      "due <time>."},
    {"ClockOnly",      "since 12:34:56.789",                                   "since <time>"},
    {"HttpDate",       "Date: Sun, 01 Mar 2026 12:00:00 GMT",                  "Date: <time>"},
    {"UnixDate",       "on Sun Mar 01 12:00:00 UTC 2026 it broke",             "on <time> it broke"},
    {"AccessLog",      "[01/Mar/2026:12:00:00 +0000]",                         "[<time>]"},
    {"UsDate",         "on Mar 1, 2026 12:00:00 PM",                           "on <time>"},
    {"Duration",       "timed out after 30000ms",                              "timed out after <duration>"},
    {"DurationWords",  "timed out after 30 seconds",                           "timed out after <duration>"},
    {"DurationGo",     "deadline 1m30.5s exceeded",                            "deadline <duration> exceeded"},
    {"Ipv4",           "connect 10.0.0.7:5432 refused",                        "connect <ip> refused"},
    {"Ipv6",           "connect [2001:db8::1]:443 refused",                    "connect [<ip>]:<n> refused"},
    {"Loopback6",      "bind ::1 failed",                                      "bind <ip> failed"},
    {"Version",        "driver 1.2.3 is old",                                  "driver <n> is old"},
    {"Email",          "no mailbox bob.smith+x@mail.example.com here",         "no mailbox <email> here"},
    {"SingleQuotes",   "Cannot find column 'user_id' in x",                    "Cannot find column <text> in x"},
    {"DoubleQuotes",   "key \"a b\" missing",                                  "key <text> missing"},
    {"Backtick",       "undefined method `pay' for nil",                       "undefined method <text> for nil"},
    {"Apostrophe",     "can't open it, don't know why",                        "can't open it, don't know why"},
    {"ScratchPath",    "cannot write /tmp/upload_8f3/a.csv: full",             "cannot write <path>: full"},
    {"Route",          "GET /v1/orders/42 failed",                             "GET /v<n>/orders/<n> failed"},
    {"List",           "missing ids [1, 2, 3]",                                "missing ids [<n>]"},
    {"WhiteSpace",     "  a \t b\r\n\n c ",                                    "a b c"},
    {"HttpStatus",     "HTTP/1.1 503 for order 12",                            "HTTP/1.1 503 for order <n>"},
    {"StatusCode",     "status code 404 after 12 tries",                       "status code 404 after <n> tries"},
    {"Oracle",         "ORA-00942: table missing",                             "ORA-00942: table missing"},
    {"ExitCode",       "exit code 137",                                        "exit code 137"},
    {"ErrorNumber",    "Error 1205 (40001): Deadlock",                         "Error 1205 (40001): Deadlock"},
    {"LongAfterCode",  "error 123456789",                                      "error <n>"},
    {"CppScope",       "std::vector out of range",                             "std::vector out of range"},
    {"Umlaut",         "Größe 12 ungültig",                                    "Größe <n> ungültig"},
    {"InvalidUtf8",    "a\xff" "b 7",                                          "a\xef\xbf\xbd" "b <n>"},
    {"UnclosedQuote",  "unexpected \" at 5",                                   "unexpected \" at <n>"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(NormaliseText, TreatsNulAsAGap) {
  EXPECT_EQ(normalise(std::string("a\0b", 3)), "a b");
}

TEST(NormaliseText, IgnoresWhatLiesBeyondFourKilobytes) {
  const std::string text(normalised_text_limit, 'x');
  EXPECT_EQ(normalise(text + "y"), text);
  EXPECT_EQ(normalise(text + "z"), text);
}

TEST(NormaliseText, DoesNotTearACharacterAtTheLimit) {
  std::string text(normalised_text_limit - 1, 'x');
  text += "\xc3\xa9";
  EXPECT_EQ(normalise(text), std::string(normalised_text_limit - 1, 'x'));
}

std::string gen_text() {
  static const std::vector<std::string> pieces = {
      "1",        "12",
      "2026",     "-",
      ":",        "/",
      ".",        ",",
      " ",        "T",
      "Z",        "a",
      "fe",       "Mar",
      "Sun",      "12:00:00",
      "'",        "\"",
      "`",        "\\",
      "<",        ">",
      "<n>",      "<id>",
      "<text>",   "<time>",
      "@",        "x.com",
      "0x",       "ms",
      "s",        "error",
      "code",     "HTTP",
      "/tmp/",    "::",
      "\n",       "\xff",
      "\xc3\xa9", "(",
      ")",        "=",
      "_",        "h",
      "min",      "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
      "10.0.0.7", "+",
      "#",        "[",
      "]",        "9fceb02d",
      "UTC",      "pm"};
  std::string text;
  for (const std::size_t pick : *rc::gen::container<std::vector<std::size_t>>(
           rc::gen::inRange<std::size_t>(0, pieces.size()))) {
    text += pieces[pick];
  }
  return text;
}

TEST(NormaliseText, IsIdempotent) {
  EXPECT_TRUE(rc::check([] {
    const std::string once = normalise(gen_text());
    RC_ASSERT(normalise(once) == once);
  }));
}

TEST(NormaliseText, IsTotalBoundedAndUtf8OnRandomBytes) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const std::string once = normalise(text);
    RC_ASSERT(once.size() <= normalised_text_limit);
    RC_ASSERT(is_utf8(once));
    RC_ASSERT(normalise(once) == once);
  }));
}

TEST(NormaliseText, FoldsAnyTwoNumbersAlike) {
  EXPECT_TRUE(rc::check([](std::uint64_t a, std::uint64_t b) {
    RC_ASSERT(normalise("order " + std::to_string(a) + " failed") ==
              normalise("order " + std::to_string(b) + " failed"));
  }));
}

TEST(NormaliseText, IsBoundedInTimeForAnyFourKilobytes) {
  for (const std::string piece :
       {"'a", "1:", "a@", "1.", "f:", "\"", "2026-", "<", "a1", "Sun ", "1m"}) {
    std::string text;
    while (text.size() < normalised_text_limit) text += piece;
    const std::clock_t began = std::clock();  // our own time, however busy the machine is
    EXPECT_LE(normalise(text).size(), normalised_text_limit);
    // Some ten thousand times what it takes: fails only if the work is not bounded.
    EXPECT_LT(std::clock() - began, 5 * CLOCKS_PER_SEC) << piece;
  }
}

}  // namespace
}  // namespace dlo
