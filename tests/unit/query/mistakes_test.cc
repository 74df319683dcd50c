// What is not a query is refused with its column, what was expected there and the nearest spelling.

#include <gtest/gtest.h>
#include <string>

#include "dlo/query/query_text.h"

namespace dlo::testing {
namespace {

const TimePoint now{Millis{1'772'366'400'000}};

struct Mistake {
  std::string text;
  int column;
  std::string says;
};

TEST(Mistakes, SayWhereAndWhatWasExpected) {
  const std::vector<Mistake> table = {
      {"stauts:open", 1, R"(unknown qualifier "stauts": did you mean "status"? Valid: status, )"},
      {"source:a -stauts:open", 11, R"(did you mean "status"?)"},
      {"http://x", 1, "To search for it as text, put it into double quotes"},
      {"owner:ana", 1, "owners belong to groups"},
      {"since:2d", 1, "age:<2d"},
      {"header:x", 1, "header.tenant:acme"},
      {"body:x", 1, "body.order.id:7"},
      {"status:opne", 8, R"(unknown status "opne": did you mean "open"? Valid: open, waiting, )"},
      {"status:pending,x", 16, "Valid: open, waiting, parked, pending, "},
      {"status:>open", 8, "unknown status"},
      {"status:pending status:resolved", 16, "no status is left"},
      {"status:open resolved:yes", 13, "no status is left"},
      {"source:", 8, "expected a value"},
      {"source: a", 8, "expected a value"},
      {"source:a,", 10, "expected a value"},
      {"source:,a", 8, "expected a value"},
      {"source:>", 9, "expected a value"},
      {"source:>a", 8, "without < or >: source: compares for equality only"},
      {"source:a source:b", 10, "source: was given before"},
      {"source:\"a", 8, "expected a closing quote"},
      {"source:\"a\"b", 11, "expected a blank or a comma after the closing quote"},
      {"source:a\"b\"", 9, "no quote inside a word"},
      {R"(source:"a\n")", 10, R"(expected \" or \\)"},
      {"\"a\"b", 4, "expected a blank after the closing quote"},
      {"a -", 4, "expected a qualifier or a word right after the minus"},
      {"a - b", 4, "right after the minus"},
      {"--source:kq", 2, "right after the minus"},
      {"a OR b", 3, "there are no AND, OR, NOT"},
      {"(a", 1, "no brackets"},
      {"?!", 1, "expected a word to search for"},
      {"error:\"...\"", 7, "expected a word to search for"},
      {"header.:x", 8, "expected the name of a header"},
      {"header.tenant", 14, "expected a colon and a value after header.tenant"},
      {"body.:x", 6, "expected a path"},
      {"body.a..b:x", 1, "has an empty step"},
      {"body.a:>3", 8, "body.a: compares for equality only"},
      {"id:12", 4, "expected an id, 32 hex digits, found \"12\""},
      {"group:x", 7, "expected an id, 32 hex digits"},
      {"age:2d", 5, "expected >, >=, < or <= before it"},
      {"age:>2x", 5, "the unit is missing or unknown"},
      {"age:>2026-03-01", 5, "expected a duration"},
      {"age:3d..1d", 5, "ends before it begins"},
      {"age:..", 5, "expected a range with an end"},
      {"-age:>2d", 1, "age: cannot be negated"},
      {"age:>1d,>2d", 9, "expected one value only"},
      {"died:>tomorrow", 6, "such as 2026-03-01, 2026-03-01T12:30:00Z or 2d"},
      {"died:2026-02-30", 6, "expected a date"},
      {"died:2026-03-02..2026-03-01", 6, "ends before it begins"},
      {"died:1d..2026-03-01", 6, "expected a date, a time or a duration"},
      {"resolved:maybe", 10, "yes and no are allowed, too"},
      {"next_retry:1h", 12, "expected >, >=, < or <= before it"},
      {"attempts:many", 10, "expected a whole number up to 4294967295"},
      {"attempts:>-1", 10, "expected a whole number"},
      {"attempts:4294967296", 10, "expected a whole number up to 4294967295"},
      {"attempts:5..3", 10, "ends before it begins"},
      {"unsettled:ys", 11, R"(did you mean "yes"? Valid: yes, no)"},
      {"order:newst", 7, R"(did you mean "newest"? Valid: newest, oldest)"},
      {"order:oldest order:newest", 14, "was given before"},
      {"change:4711", 8, "expected <= and the number of a change"},
      // Columns count characters, not bytes.
      {"\"K\xC3\xB6ln\" stauts:x", 8, "did you mean \"status\"?"},
  };
  for (const Mistake& row : table) {
    const auto refused = parse_query(row.text, now);
    ASSERT_FALSE(refused) << row.text;
    const std::string& detail = refused.error().detail;
    EXPECT_EQ(refused.error().code, Code::invalid_argument) << row.text;
    EXPECT_EQ(detail.find("column " + std::to_string(row.column) + ": "), 0U) << row.text << "\n"
                                                                              << detail;
    EXPECT_NE(detail.find(row.says), std::string::npos) << row.text << "\n" << detail;
  }
}

TEST(Mistakes, AreBoundsToo) {
  std::string many = "source:a";
  for (std::size_t i = 0; i < most_values; ++i) many += ",a";
  EXPECT_FALSE(parse_query(many, now));
  std::string terms;
  for (std::size_t i = 0; i < most_tests; ++i) terms += "tag:a ";
  EXPECT_TRUE(parse_query(terms, now));
  EXPECT_FALSE(parse_query(terms + "tag:a", now));
}

}  // namespace
}  // namespace dlo::testing
