#include "dlo/core/fingerprint.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include "dlo/core/encoding.h"

namespace dlo {
namespace {

Failure failed(std::string type, std::string text, std::string stack = {},
               std::vector<Cause> causes = {}) {
  Failure failure;
  failure.type = std::move(type);
  failure.text = std::move(text);
  failure.stack = std::move(stack);
  failure.causes = std::move(causes);
  return failure;
}
Failure with_status(std::string text, int status) {
  Failure failure = failed("", std::move(text));
  failure.status = status;
  return failure;
}
Failure with_code(std::string code) {
  Failure failure;
  failure.code = std::move(code);
  return failure;
}

// One place in the application, entered from two builds, with a library that raised the error.
const std::string deep_java =
    "\tat "
    "org.postgresql.core.v3.QueryExecutorImpl.receiveErrorResponse(QueryExecutorImpl.java:2676)\n"
    "\tat com.acme.orders.Repository.save(Repository.java:41)\n"
    "\tat com.acme.orders.Handler.handle(Handler.java:12)\n";
const std::string deep_java_next_build =
    "\tat "
    "org.postgresql.core.v3.QueryExecutorImpl.receiveErrorResponse(QueryExecutorImpl.java:2713)\n"
    "\tat org.postgresql.jdbc.PgStatement.execute(PgStatement.java:490)\n"
    "\tat com.acme.orders.Repository.save(Repository.java:57)\n"
    "\tat com.acme.orders.Handler.handle(Handler.java:19)\n"
    "\tat com.zaxxer.hikari.pool.Pool.run(Pool.java:1)\n";
const std::string own_java =
    "\tat com.acme.orders.Validator.check(Validator.java:7)\n"
    "\tat com.acme.orders.Handler.handle(Handler.java:12)\n";
const std::string own_java_elsewhere = "\tat com.acme.orders.Pricing.total(Pricing.java:7)\n";
const std::string node_stack = "    at charge (/srv/v1/pay/gateway.js:10:5)\n";
const std::string node_stack_moved = "    at charge (/srv/v2/pay/gateway.js:14:9)\n";
const std::string odd_stack = "<<< dump 17 of worker >>>\n%%% registers follow %%%\n";

struct Row {
  const char* name;
  Failure a;
  Failure b;
  bool together;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Grouping : public ::testing::TestWithParam<Row> {};

TEST_P(Grouping, FollowsTheTable) {
  const Fingerprint a = fingerprint_of(GetParam().a, "OrderPlaced", "NonRetryableError");
  const Fingerprint b = fingerprint_of(GetParam().b, "OrderPlaced", "NonRetryableError");
  EXPECT_EQ(a.hash == b.hash, GetParam().together) << a.basis << " | " << a.title << "\n"
                                                   << b.basis << " | " << b.title;
  EXPECT_TRUE(a.title == b.title || !GetParam().together) << a.title << "\n" << b.title;
}

// UI row 18: odd stacks, errors outside handlers, varying text.
// clang-format off
INSTANTIATE_TEST_SUITE_P(Together, Grouping, ::testing::ValuesIn<Row>({
    {"TextThatVariesInANumber",       failed("E", "order 1 not found"), failed("E", "order 99 not found"), true},
    {"TextThatVariesInAUuid",         failed("", "no row 3f2504e0-4f89-11d3-9a0c-0305e82c3301"), failed("", "no row 9c858901-8a57-4791-81fe-4c455b099bc9"), true},
    {"TextThatVariesInAQuote",        failed("", "unknown merchant 'acme'"), failed("", "unknown merchant 'globex gmbh'"), true},
    {"TextThatVariesInADuration",     failed("T", "timed out after 30s"), failed("T", "timed out after 1500 ms"), true},
    {"TextThatVariesInAnAddress",     failed("", "connect 10.0.0.7:5432: refused"), failed("", "connect 10.9.8.7:5433: refused"), true},
    {"ListsOfAnyLength",              failed("", "missing [1, 2]"), failed("", "missing [1, 2, 3, 4]"), true},
    {"TheSamePlaceInTwoBuilds",       failed("PSQLException", "duplicate key (id)=(7)", deep_java), failed("PSQLException", "duplicate key (id)=(8)", deep_java_next_build), true},
    {"OwnErrorsThatNameCustomers",    failed("Bad", "Customer Bob Smith not found", own_java), failed("Bad", "Customer Jane Doe not found", own_java), true},
    {"OwnErrorsThatNameValues",       failed("Bad", "rejected customer=bob", own_java), failed("Bad", "rejected customer=jane7", own_java), true},
    {"DeploymentsThatMoved",          failed("TypeError", "x is undefined", node_stack), failed("TypeError", "x is undefined", node_stack_moved), true},
    {"OddStacksByTheirText",          failed("", "segfault in worker 3", odd_stack), failed("", "segfault in worker 4", odd_stack + "0xdeadbeef\n"), true},
    {"WrappersWithTheSameRoot",       failed("AggregateException", "one", "", {{"Io", "disk 1 full"}}), failed("TargetInvocation", "two", "", {{"Wrap", "x"}, {"Io", "disk 2 full"}}), true},
    {"TypesTheRunTimeNumbers",        failed("com.acme.$Proxy17", "is gone"), failed("com.acme.$Proxy42", "is gone"), true},
    {"TypesWithAnAddress",            failed("A$$Lambda$14/0x0000000800066840", "is gone"), failed("A$$Lambda$9/0x0000000800c0ffee", "is gone"), true},
    {"TypesThatAreIds",               failed("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "is gone"), failed("9c858901-8a57-4791-81fe-4c455b099bc9", "is gone"), true},
    {"NothingAtAll",                  Failure{}, Failure{}, true},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Apart, Grouping, ::testing::ValuesIn<Row>({
    {"DifferentText",                 failed("E", "order not found"), failed("E", "order not paid"), false},
    {"DifferentTypes",                failed("KeyError", "x"), failed("ValueError", "x"), false},
    {"DifferentStatus",               with_status("upstream failed", 404), with_status("upstream failed", 503), false},
    {"StatusInTheTextOnly",           failed("", "HTTP 404"), failed("", "HTTP 503"), false},
    {"DatabaseErrorNumbers",          failed("", "Error 1205: x"), failed("", "Error 1062: x"), false},
    {"DifferentCodes",                with_code("ECONNREFUSED"), with_code("EPIPE"), false},
    {"NumberedTypes",                 failed("E11000", "write failed"), failed("E11001", "write failed"), false},
    {"NumberedCodes",                 with_code("23505"), with_code("40001"), false},
    {"ExitCodes",                     with_code("exit:75"), with_code("exit:1"), false},
    {"HexadecimalCodes",              with_code("0x80070005"), with_code("0x80004005"), false},
    {"OneRepositoryTwoDatabaseErrors", failed("PSQLException", "deadlock detected", deep_java), failed("PSQLException", "duplicate key", deep_java), false},
    {"OneValidatorTwoRules",          failed("Bad", "amount must be positive", own_java), failed("Bad", "currency is missing", own_java), false},
    {"TwoPlacesOneText",              failed("Bad", "is null", own_java), failed("Bad", "is null", own_java_elsewhere), false},
    {"WrappersWithDifferentRoots",    failed("AggregateException", "failed", "", {{"Io", "disk full"}}), failed("AggregateException", "failed", "", {{"Net", "reset"}}), false},
    {"ErrorsOutsideHandlers",         failed("", "cannot decode header"), failed("", "no handler for this type"), false},
    {"RoutesOfAnApi",                 failed("", "GET /orders/7 failed"), failed("", "GET /users/7 failed"), false},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(FingerprintOf, FallsBackStepByStepAndSaysWhere) {
  const auto basis = [](const Failure& failure, std::string_view event, std::string_view reason) {
    return fingerprint_of(failure, event, reason).basis;
  };
  EXPECT_EQ(basis(failed("E", "text", own_java), "T", "R"), "frames");
  EXPECT_EQ(basis(failed("E", "text", odd_stack), "T", "R"), "text");
  EXPECT_EQ(basis(failed("E", "text"), "T", "R"), "text");
  EXPECT_EQ(basis(failed("E", "text", "\tat java.lang.Thread.run(Thread.java:1)"), "T", "R"),
            "text");
  EXPECT_EQ(basis(failed("E", "", "\tat java.lang.Thread.run(Thread.java:1)"), "T", "R"), "frames");
  EXPECT_EQ(basis(failed("E", "4711"), "T", "R"), "type") << "a number alone says nothing";
  EXPECT_EQ(basis(failed("E", ""), "T", "R"), "type");
  EXPECT_EQ(basis(with_code("exit:75"), "T", "R"), "type");
  EXPECT_EQ(basis(with_status("", 500), "T", "R"), "type");
  EXPECT_EQ(basis(Failure{}, "T", "R"), "event");
  EXPECT_EQ(basis(Failure{}, "", "R"), "reason");
  EXPECT_EQ(basis(Failure{}, "", ""), "reason");
}

TEST(FingerprintOf, KeepsEventTypesApart) {
  const Failure failure = failed("E", "it broke");
  EXPECT_NE(fingerprint_of(failure, "A", "R").hash, fingerprint_of(failure, "B", "R").hash);
  EXPECT_EQ(fingerprint_of(failure, "A", "R").hash, fingerprint_of(failure, "A", "Q").hash)
      << "a cause is the same whichever limit ended it";
}

TEST(FingerprintOf, FindsTheRootInTheStackWhenNobodyGaveCauses) {
  const std::string wrapped =
      "Wrapper: failed\n\tat com.acme.A.b(A.java:1)\nCaused by: com.acme.Root: disk 3 full\n" +
      own_java;
  const Fingerprint a = fingerprint_of(failed("Wrapper", "failed 1", wrapped), "T", "R");
  EXPECT_EQ(a.title, "com.acme.Root in com.acme.orders.Validator.check");
}

TEST(FingerprintOf, GivesATitlePeopleCanRead) {
  const auto title = [](const Failure& failure) {
    return fingerprint_of(failure, "OrderPlaced", "PoisonMessage").title;
  };
  EXPECT_EQ(title(failed("PSQLException", "x", deep_java)),
            "PSQLException in com.acme.orders.Repository.save");
  EXPECT_EQ(title(failed("", "x", own_java)), "Error in com.acme.orders.Validator.check");
  EXPECT_EQ(title(failed("Timeout", "no answer in 30s")), "Timeout: no answer in <duration>");
  EXPECT_EQ(title(failed("", "no answer")), "no answer");
  EXPECT_EQ(title(failed("Timeout", "")), "Timeout");
  EXPECT_EQ(title(with_status("", 503)), "HTTP 503");
  EXPECT_EQ(title(Failure{}), "OrderPlaced: PoisonMessage");
  EXPECT_EQ(fingerprint_of(Failure{}, "", "").title, "Failed without an error");
}

TEST(FingerprintOf, AlwaysGivesAShortUtf8TitleAndAGroup) {
  EXPECT_TRUE(rc::check([](const std::string& type, const std::string& text,
                           const std::string& stack, const std::string& event) {
    const Failure failure = failed(type, text, "at " + stack + "(x)");
    const Fingerprint first = fingerprint_of(failure, event, "");
    RC_ASSERT(!first.title.empty());
    RC_ASSERT(first.title.size() <= 163U);
    RC_ASSERT(is_utf8(first.title));
    RC_ASSERT(first.hash == fingerprint_of(failure, event, "").hash);
  }));
  const Fingerprint huge =
      fingerprint_of(failed(std::string(100'000, 'E'), "x", std::string(1 << 20, '(')), "T", "R");
  EXPECT_LE(huge.title.size(), 163U);
}

}  // namespace
}  // namespace dlo
