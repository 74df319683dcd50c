#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string json = "Content-Type: application/json\r\n";

// A failure is reported while somebody looks: it appears without being asked for.
TEST(Scenario, DeadLettersAreFollowedAsTheyDie) {
  const TemporaryDirectory place;
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  HttpClient client(port_in(server.read_until("/healthz")));
  const auto report = [&](const std::string& id) {
    const std::string body =
        R"({"source":"orders","error":"timed out","id":")" + id + R"(","json":")" + id + R"("})";
    EXPECT_EQ(client.ask("POST", "/v1/dead-letters", body, json).status, 201);
  };
  report("before-1");
  report("before-2");
  Running tail({"tail", "source:orders", "-n", "1", "-o", "ndjson", "--data", place.path()});
  tail.read_until("before-2");
  for (const char* id : {"after-1", "after-2", "after-3"}) report(id);
  const std::string seen = tail.read_until("after-3");
  EXPECT_FALSE(has(seen, "before-1")) << seen;
  for (const char* id : {"before-2", "after-1", "after-2", "after-3"}) {
    const auto at = seen.find(id);
    EXPECT_TRUE(at != std::string::npos && seen.find(id, at + 1) == std::string::npos) << seen;
  }
  tail.stop(SIGTERM);

  Running watching({"list", "--watch", "-o", "id", "--data", place.path()});
  watching.read_until("\n\n");  // a second look
  watching.stop(SIGTERM);

  const Ended board = run_dlo({"top", "--data", place.path()});
  EXPECT_EQ(board.code, 0) << board.err;
  EXPECT_TRUE(has(board.out, "open 5") && has(board.out, "QUEUES") && has(board.out, "timed out"))
      << board.out;
  EXPECT_FALSE(has(board.out, "\x1b")) << "no escapes without a terminal";
}

// Something is wrong, and the doctor says what to do about it.
TEST(Scenario, TheDoctorSaysWhatToDo) {
  const TemporaryDirectory place;
  ASSERT_EQ(run_dlo({"queue", "send", "orders", "x", "--data", place.path()}).code, 0);
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  server.read_until("/healthz");
  const Ended healthy = run_dlo({"doctor", "--deep", "--data", place.path()});
  EXPECT_EQ(healthy.code, 0) << healthy.out;
  EXPECT_TRUE(has(healthy.out, "role admin") && has(healthy.out, "MB free")) << healthy.out;
  EXPECT_TRUE(has(healthy.out, "both are dlo ") && has(healthy.out, "clock")) << healthy.out;
  ASSERT_EQ(run_dlo({"queue", "pause", "orders", "--data", place.path()}).code, 0);
  const Ended paused = run_dlo({"doctor", "--data", place.path()});
  EXPECT_EQ(paused.code, 3) << paused.out;
  EXPECT_TRUE(has(paused.out, "dlo queue resume orders")) << paused.out;
  const Ended gone = run_dlo({"doctor", "--server", "http://127.0.0.1:1"});
  EXPECT_EQ(gone.code, 1);
  EXPECT_TRUE(has(gone.out, "fail") && has(gone.out, "dlo serve")) << gone.out;
}

// Who reads only the first line closes the pipe on us: no crash, no complaint. A narrow terminal
// is tests/unit/cli/table_test.cc.
TEST(Scenario, AClosedPipeIsNoError) {
  const TemporaryDirectory place;
  ASSERT_EQ(run_dlo({"demo", "--messages", "60", "--keep", "--data", place.path()}).code, 0);
  const Ended piped = run_shell("dlo list -o ndjson --data . 2>&1 | head -1", place.path());
  EXPECT_EQ(piped.code, 0) << piped.out;
  EXPECT_EQ(piped.out.find("{\"id\":"), 0U) << piped.out;
}

TEST(Scenario, TheShellCompletesVerbs) {
  const Ended words = run_shell(
      "bash -c 'eval \"$(dlo completion bash)\"; COMP_WORDS=(dlo group re); COMP_CWORD=2; _dlo; "
      "echo ${COMPREPLY[@]}'",
      "/tmp");
  EXPECT_EQ(words.out, "resolve reopen\n") << words.err;
}

}  // namespace
}  // namespace dlo::testing
