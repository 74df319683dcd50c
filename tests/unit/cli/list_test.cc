#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/cli/verbs.h"
#include "dlo/engine/clock.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

using dlo::testing::must;
using dlo::testing::noon;

DeadLetter a_payment(std::uint64_t n) {
  auto message = std::make_shared<Message>();
  message->source = "payments";
  message->event_type = "PaymentRetryFailed";
  message->headers = {{"tenant", n == 1 ? "acme" : "umbrella"}};
  message->payload = R"({"PaymentId": )" + std::to_string(n) + R"(, "Note": "a, b"})";
  DeadLetter letter;
  letter.id = RecordId{Id128{n, n}};
  letter.message = message;
  letter.reason = "MaxRetries";
  letter.failure.text = "payment service timed out";
  letter.died_at = noon - std::chrono::hours{n};
  return letter;
}

class List : public ::testing::Test {
 protected:
  List() {
    const auto office = must(SqliteOffice::open(place_.path(), {}));
    std::vector<Change> changes;
    for (const std::uint64_t n : {1U, 2U}) {
      changes.emplace_back(Append{std::make_shared<DeadLetter>(a_payment(n)), {}});
    }
    must(office->apply(changes));
  }

  int run(Format format, ListArguments arguments) {
    out_.str("");
    err_.str("");
    const ManualClock clock(noon);
    Context context{out_, err_, noon, false, 0, place_.path(), format};
    context.clock = &clock;
    return list(context, arguments);
  }
  static ListArguments asking(std::string query, std::vector<std::string> columns = {}) {
    ListArguments arguments;
    arguments.selection.query = {std::move(query)};
    arguments.columns = std::move(columns);
    return arguments;
  }

  dlo::testing::TemporaryDirectory place_;
  std::ostringstream out_;
  std::ostringstream err_;
};

const std::vector<std::string> lifted = {"payment_id=body.PaymentId", "note=body.Note",
                                         "tenant=header.tenant"};

TEST_F(List, AnswersAQuery) {
  const std::string first = to_string(Id128{1, 1}) + "\n";
  const std::string second = to_string(Id128{2, 2}) + "\n";
  EXPECT_EQ(run(Format::id, asking("status:open error:\"timed out\" age:>30m")), exit_ok);
  EXPECT_EQ(out_.str(), first + second);
  EXPECT_EQ(run(Format::id, asking("timed out age:>90m")), exit_ok);
  EXPECT_EQ(out_.str(), second);
  EXPECT_EQ(run(Format::id, asking("body.PaymentId:1 header.Tenant:acme")), exit_ok);
  EXPECT_EQ(out_.str(), first);
  EXPECT_EQ(run(Format::id, asking("order:oldest")), exit_ok);
  EXPECT_EQ(out_.str(), second + first);
  EXPECT_EQ(run(Format::id, asking("source:orders")), exit_nothing_matched);
}

TEST_F(List, TakesOptionsAsTermsThatMustHoldToo) {
  ListArguments arguments = asking("age:>90m");
  arguments.selection.source = "payments";
  arguments.selection.statuses = {"open"};
  arguments.selection.words = "service \"timed\"";
  EXPECT_EQ(run(Format::id, arguments), exit_ok);
  EXPECT_EQ(out_.str(), to_string(Id128{2, 2}) + "\n");
  arguments.selection.statuses = {"resolved"};
  EXPECT_EQ(run(Format::id, arguments), exit_nothing_matched);
  arguments.selection.statuses = {"opne"};
  EXPECT_EQ(run(Format::id, arguments), exit_usage);
  EXPECT_NE(err_.str().find("did you mean \"open\"?"), std::string::npos) << err_.str();
}

TEST_F(List, LiftsFieldsIntoEveryForm) {  // S1-37
  const ListArguments one = asking("tenant:acme", lifted);
  EXPECT_EQ(run(Format::csv, one), exit_usage);  // tenant is a header
  EXPECT_EQ(run(Format::csv, asking("header.tenant:acme", lifted)), exit_ok);
  EXPECT_NE(out_.str().find(",payment_id,note,tenant,ERROR\r\n"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find(",1,\"a, b\",acme,payment service timed out\r\n"), std::string::npos)
      << out_.str();
  EXPECT_EQ(run(Format::table, asking("", lifted)), exit_ok);
  EXPECT_NE(out_.str().find("payment_id  note  tenant    ERROR"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("2           a, b  umbrella  payment"), std::string::npos)
      << out_.str();
  const std::string columns = R"("columns":{"payment_id":1,"note":"a, b","tenant":"acme"}})";
  EXPECT_EQ(run(Format::ndjson, asking("", lifted)), exit_ok);
  EXPECT_NE(out_.str().find("," + columns + "\n"), std::string::npos) << out_.str();
  EXPECT_EQ(run(Format::json, asking("", lifted)), exit_ok);
  EXPECT_EQ(out_.str().find("{\"dead_letters\":[{\"id\":"), 0U) << out_.str();
  EXPECT_NE(out_.str().find("," + columns + ",{\"id\":"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("}],\"next\":null,\"partial\":false}\n"), std::string::npos);
}

TEST_F(List, SaysWhatIsWrongWithAQuery) {
  EXPECT_EQ(run(Format::table, asking("source:payments stauts:open")), exit_usage);
  EXPECT_NE(err_.str().find("column 17: unknown qualifier \"stauts\": did you mean \"status\"?"),
            std::string::npos)
      << err_.str();
  EXPECT_EQ(run(Format::table, asking("", {"x=status"})), exit_usage);
}

}  // namespace
}  // namespace dlo::cli
