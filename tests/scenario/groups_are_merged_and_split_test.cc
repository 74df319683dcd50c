#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// Two groups turn out to be one problem and become one; a third of the dead letters turn out to be
// another problem, of one handler, and become a group of their own; then all is as it was.
TEST(Scenario, GroupsAreMergedAndSplit) {
  const TemporaryDirectory place;
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  const std::uint16_t port = port_in(server.read_until("/healthz"));
  HttpClient client(port);
  const auto dlo = [port](std::vector<std::string> words) {
    words.insert(words.end(), {"--server", "http://127.0.0.1:" + std::to_string(port)});
    return run_dlo(words);
  };
  const auto die = [&](int i, const std::string& error, const std::string& handler) {
    const auto told = client.ask("POST", "/v1/dead-letters",
                                 R"({"source":"orders","error":")" + error + R"(","handler":")" +
                                     handler + R"(","id":")" + std::to_string(i) + "\"}",
                                 "Content-Type: application/json\r\n");
    ASSERT_EQ(told.status, 201) << told.body;
  };
  for (int i = 0; i < 4; ++i) die(i, "card expired", i < 3 ? "billing" : "refunds");
  for (int i = 4; i < 6; ++i) die(i, "no such customer", "billing");
  const auto groups = [&] {
    std::vector<std::string> ids;
    const std::string out = dlo({"group", "list", "-o", "id"}).out;
    for (std::size_t at = 0; at + 32 < out.size(); at += 33) ids.push_back(out.substr(at, 32));
    return ids;
  };
  const auto count = [&](const std::string& query) {
    return dlo({"count", query}).out.substr(0, 1);
  };
  ASSERT_EQ(groups().size(), 2U);
  const std::string into = groups()[0];  // most open first
  const std::string from = groups()[1];

  const Ended merged = dlo({"group", "merge", into, from});
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_NE(merged.out.find("6 open"), std::string::npos) << merged.out;
  EXPECT_EQ(groups().size(), 1U);
  EXPECT_EQ(count("group:" + into), "6");
  const Ended facets = dlo({"group", "facets", into, "-o", "csv"});
  EXPECT_NE(facets.out.find("handler,billing,5"), std::string::npos) << facets.out;

  const Ended preview = dlo({"group", "split", into, "--by", "handler=refunds", "--dry-run"});
  EXPECT_EQ(preview.code, 0) << preview.err;
  EXPECT_NE(preview.err.find("1 dead letters have handler refunds"), std::string::npos)
      << preview.err;
  EXPECT_EQ(groups().size(), 1U);
  const Ended split = dlo({"group", "split", into, "--by", "handler=refunds", "--wait"});
  ASSERT_EQ(split.code, 0) << split.err;
  const auto mark = split.out.find("new group ");
  ASSERT_NE(mark, std::string::npos) << split.out;
  const std::string out = split.out.substr(mark + 10, 32);
  EXPECT_EQ(count("group:" + out), "1");
  EXPECT_EQ(count("group:" + into), "5");
  EXPECT_NE(dlo({"group", "show", out}).out.find("handler refunds"), std::string::npos);
  EXPECT_EQ(dlo({"group", "split", into, "--by", "handler=nobody"}).code, 4);
  EXPECT_EQ(dlo({"group", "split", into, "--by", "colour=red"}).code, 2);

  EXPECT_EQ(dlo({"group", "unmerge", into, from}).code, 0);
  EXPECT_EQ(count("group:" + from), "2");
  EXPECT_EQ(count("group:" + into), "3");
  EXPECT_EQ(dlo({"group", "trend", into, "-o", "csv"}).code, 0);
}

}  // namespace
}  // namespace dlo::testing
