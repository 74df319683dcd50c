#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string after(const std::string& text, const std::string& mark) {
  const auto at = text.find(mark);
  return at == std::string::npos ? "" : text.substr(at + mark.size(), 64);
}

// Somebody with access to the disk changes one letter of what was done: it shows, and where.
TEST(Scenario, TheAuditTrailShowsTampering) {
  const TemporaryDirectory place;
  const auto audit = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"audit"};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--data", place.path()});
    return run_dlo(all);
  };
  for (const char* name : {"first", "second-holder", "third"}) {
    ASSERT_EQ(run_dlo({"token", "create", name, "--data", place.path()}).code, 0);
  }
  const auto whole = audit({"verify"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_NE(whole.out.find("All 3 entries"), std::string::npos) << whole.out;
  const std::string head = after(whole.out, "--head ");
  EXPECT_EQ(audit({"verify", "--head", head}).code, 0);
  const auto cut = audit({"verify", "--head", std::string(64, '0')});
  EXPECT_EQ(cut.code, 1);
  EXPECT_NE(cut.err.find("cut off"), std::string::npos) << cut.err;
  const auto list = audit({"list", "-o", "ndjson", "--after", "1", "--limit", "1"});
  EXPECT_NE(list.out.find("second-holder"), std::string::npos) << list.out;
  EXPECT_EQ(list.out.find("third"), std::string::npos) << list.out;

  // The trail says the name as JSON within JSON, the token's own document does not.
  const std::string path = place.path() + "/office.db";
  std::string bytes = read_file(path);
  const std::string in_trail = R"({"name":"second-holder","role":"reader"})";
  const auto at = bytes.find(in_trail);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 9] = 'S';
  std::ofstream(path, std::ios::binary) << bytes;
  const auto broken = audit({"verify"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.err.find("broken at entry 2"), std::string::npos) << broken.err;
}

// The log of a server has the head of the trail, so that a trail whose end is cut off shows (R25).
TEST(Scenario, AServerLogsTheHeadOfItsTrail) {
  const TemporaryDirectory place;
  ASSERT_EQ(run_dlo({"token", "create", "ana", "--role", "admin", "--data", place.path()}).code, 0);
  const auto verified = run_dlo({"audit", "verify", "--data", place.path()});
  const std::string head = after(verified.out, "--head ");
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  const std::string log = server.read_until("Audit head: entry 1, " + head);
  EXPECT_NE(log.find("/healthz"), std::string::npos) << log;
}

}  // namespace
}  // namespace dlo::testing
