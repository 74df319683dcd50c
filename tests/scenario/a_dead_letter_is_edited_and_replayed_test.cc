#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>
#include <sys/stat.h>

#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

class ADeadLetterIsEdited : public ::testing::Test {
 protected:
  ADeadLetterIsEdited() {
    HttpClient client(port_);
    client.ask("PUT", "/v1/queues/orders", "{}", json_);
    client.ask("POST", "/v1/dead-letters",
               R"({"source":"orders","error":"no currency","id":"1","json":{"amount":7},)"
               R"("headers":[{"name":"tenant","value":"a"},{"name":"dlo-via","value":"x"}]})",
               json_);
    const std::string listed = dlo({"list", "-o", "id"}).out;
    id_ = listed.substr(0, listed.find('\n'));
  }
  Ended dlo(std::vector<std::string> words) {
    words.insert(words.end(), {"--server", "http://127.0.0.1:" + std::to_string(port_)});
    return run_dlo(words);
  }
  /// $EDITOR is a command that changes the file it is given.
  void editor_does(const std::string& substitution) {
    const std::string script = place_.path() + "/editor";
    std::ofstream(script) << "#!/bin/sh\nsed -i '" << substitution << "' \"$1\"\n";
    ::chmod(script.c_str(), 0700);
    ::unsetenv("VISUAL");
    ::setenv("EDITOR", script.c_str(), 1);
  }

  const std::string json_ = "Content-Type: application/json\r\n";
  const TemporaryDirectory place_;
  Running server_{{"serve", "--data", place_.path() + "/office", "--listen", "127.0.0.1:0"}};
  const std::uint16_t port_ = port_in(server_.read_until("/healthz"));
  std::string id_;
};

// Somebody mends a payload in an editor, looks at the difference, and sends the new version back;
// the message as it died is still there.
TEST_F(ADeadLetterIsEdited, AndTheNewVersionIsReplayed) {
  editor_does("s/\"amount\":7/\"amount\":7,\"currency\":\"EUR\"/; s/tenant: a/tenant: b/");
  const Ended made = dlo({"edit", id_, "--reason", "ticket 12", "--yes"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("+ /currency: \"EUR\""), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("version 1"), std::string::npos) << made.out;
  const Ended compared = dlo({"diff", id_, "v0", "v1"});
  EXPECT_NE(compared.out.find("- header tenant: a\n+ header tenant: b"), std::string::npos)
      << compared.out;
  const Ended table = dlo({"diff", id_, "-o", "csv"});
  EXPECT_NE(table.out.find("/currency,,"), std::string::npos) << table.out;

  const Ended sent = dlo({"replay", id_, "--watch-for", "0s", "--yes", "--wait"});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const std::string message = HttpClient(port_).ask("POST", "/v1/queues/orders/receive").body;
  EXPECT_NE(message.find("currency"), std::string::npos) << message;
  EXPECT_NE(message.find(R"("name":"tenant","value":"b")"), std::string::npos) << message;
  const std::string shown = HttpClient(port_).ask("GET", "/v1/dead-letters/" + id_).body;
  EXPECT_NE(shown.find("ticket 12"), std::string::npos) << "who asks why is told: " << shown;
  EXPECT_NE(shown.find(R"("number":0)"), std::string::npos) << "as it died: " << shown;
}

TEST_F(ADeadLetterIsEdited, ButNotALockedHeaderAndNotWithoutAReason) {
  editor_does("s/dlo-via: x/dlo-via: y/");
  const Ended locked = dlo({"edit", id_, "--reason", "why not", "--yes"});
  EXPECT_NE(locked.code, 0);
  EXPECT_NE(locked.err.find("locked"), std::string::npos) << locked.err;
  EXPECT_NE(locked.err.find("What you wrote is in"), std::string::npos) << locked.err;
  editor_does("s/tenant: a/tenant: b/");
  const Ended silent = dlo({"edit", id_, "--yes"});
  EXPECT_EQ(silent.code, 2) << silent.err;
  EXPECT_NE(silent.err.find("--reason"), std::string::npos) << silent.err;
  editor_does("");
  const Ended same = dlo({"edit", id_, "--reason", "none", "--yes"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(dlo({"diff", id_}).code, 4) << "there is still one version";
}

}  // namespace
}  // namespace dlo::testing
