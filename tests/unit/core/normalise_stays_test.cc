// Offices hold fingerprints: the group of a death must be the group of the like deaths of last
// year. What is here was computed when it was written down and is never adapted to the code.
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "dlo/core/fingerprint.h"
#include "dlo/core/id.h"
#include "dlo/core/sha256.h"

namespace dlo {
namespace {

struct Row {
  const char* name;
  Failure failure;
  const char* hash;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Known : public ::testing::TestWithParam<Row> {};

TEST_P(Known, FailureKeepsItsFingerprint) {
  const Fingerprint found = fingerprint_of(GetParam().failure, "OrderPlaced", "NonRetryableError");
  EXPECT_EQ(to_string(found.hash), GetParam().hash) << found.basis << " | " << found.title;
}

Failure failed(std::string type, std::string text, std::string code = {}, std::string stack = {},
               std::optional<int> status = {}) {
  Failure failure;
  failure.type = std::move(type);
  failure.text = std::move(text);
  failure.code = std::move(code);
  failure.stack = std::move(stack);
  failure.status = status;
  return failure;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Fingerprint, Known, ::testing::ValuesIn<Row>({
    {"Plain",    failed("OrderRejected", "the order names a customer we do not have"), "d9a87443a8c965c204dde07a9c46daa6"},
    {"Number",   failed("OrderRejected", "422 unprocessable: the order names a customer we do not have", "", "", 422), "940b422c37de1694b486d92b6c4df636"},
    {"Status",   failed("", "HTTP/1.1 503 for order 12 after 30s"), "2cbd871bb6eccc7bda1ea73caf73b1e0"},
    {"Times",    failed("Late", "due Sun, 01 Mar 2026 12:00:00 GMT, was [01/Mar/2026:12:00:00 +0000] at 12:34:56.789"), "b9a3e83d98a846dcf833378160e4f9c1"},
    {"Ids",      failed("", "pod api-7d9f8c6b5-x2v4k of abcdefab-abcd-abcd-abcd-abcdefabcdef at 0x7ffee4c0"), "2779bdabbf1d5d25e48bef4b35395fee"},
    {"Places",   failed("Io", "cannot write /tmp/a.csv for bob@example.com from [2001:db8::1]:443: 'disk' full"), "ff7c504f8282f88ce9e9dda469427502"},
    {"Lists",    failed("", "missing ids [1, 2, 3]; <n> <n>, <id>"), "f0fb23692a3b04190bbb21f753139c1f"},
    {"Code",     failed("java.lang.$Proxy17", "", "0x80070005"), "07b08d7fa04d61b44b2a17100e7aeec9"},
    {"Frames",   failed("Bad", "Customer Bob not found", "", "\tat com.acme.orders.Validator.check(Validator.java:7)\n"), "a7031416cc3e6e378a53f784e290eb7a"},
    {"Umlaut",   failed("Fehler", "Gr\xc3\xb6\xc3\x9f" "e 12 ung\xc3\xbcltig \xff"), "379c8a13b7d917ecd8c368ab37c8720d"},
    {"Nothing",  Failure{}, "bda610269689e152415b35c65c35b2eb"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

/// Numbers that are the same everywhere and for ever.
class Drawn {
 public:
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    return static_cast<std::size_t>(state_ >> 33U) % limit;
  }

 private:
  std::uint64_t state_ = 2'026;
};

constexpr auto pieces = std::to_array<std::string_view>(
    {"1",        "12",     "2026",    "-",        ":",        "/",          ".",
     ",",        " ",      " ",       " ",        "T",        "Z",          "a",
     "fe",       "Mar",    "Sun",     "12:00:00", "'",        "\"",         "`",
     "\\",       "<",      ">",       "<n>",      "<id>",     "<time>",     "@",
     "x.com",    "0x",     "ms",      "s",        "error",    "code",       "HTTP",
     "/tmp/",    "::",     "\n",      "\xff",     "\xc3\xa9", "(",          ")",
     "=",        "_",      "min",     "10.0.0.7", "9fceb02d", "UTC",        "pm",
     ", ",       "; ",     "the",     "order",    "names",    "a customer", "Monday",
     "$Proxy7",  "status", "ORA-942", "fe80::1",  "1m30.5s",  "5 days",     "#",
     "abcdefab-"});

std::string text_of(Drawn& drawn) {
  std::string text;
  for (std::size_t left = drawn.below(12); left > 0; --left) {
    text += pieces[drawn.below(pieces.size())];
    if (drawn.below(2) == 0) text += ' ';
  }
  return text;
}

TEST(Fingerprint, OfTwentyThousandDrawnFailuresIsWhatItWas) {
  Drawn drawn;
  Sha256 all;
  for (int i = 0; i < 20'000; ++i) {
    Failure failure;  // filled in this order by every compiler
    failure.type = text_of(drawn);
    failure.text = text_of(drawn);
    if (drawn.below(3) == 0) failure.code = text_of(drawn);
    const std::string reason = text_of(drawn);
    const Fingerprint found = fingerprint_of(failure, "OrderPlaced", reason);
    all.update(to_string(found.hash));
    all.update(found.title);
  }
  EXPECT_EQ(to_hex(all.finish()),
            "100ab4d5388870e0090e7504eb9370e916cb908f07c5d05fc1fd753ffc1d7b99");
}

}  // namespace
}  // namespace dlo
