#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// What is the office's own, not the dead letter's.
std::string without_places(std::string line) {
  for (const std::string name : {"version", "change", "number"}) {
    const std::string mark = "\"" + name + "\":";
    const auto at = line.find(mark, line.find("\"died\":"));
    const auto end = line.find_first_of(",}", at);
    line.replace(at, end - at, mark + "0");
  }
  return line;
}

// A bug is looked at on a laptop: its dead letters come along in a file, every byte of them.
TEST(Scenario, DeadLettersTravelInAFile) {
  const TemporaryDirectory here;
  const TemporaryDirectory there;
  const std::string file = here.path() + "/letters.ndjson";
  {
    Running server({"serve", "--data", here.path(), "--listen", "127.0.0.1:0"});
    HttpClient client(port_in(server.read_until("/healthz")));
    const std::string binary =
        R"({"source":"cam","id":"b","payload":"AP+AAQ==","payload_encoding":"base64",)"
        R"("headers":[{"name":"x","value":"/w==","value_encoding":"base64"}],"error":"broken"})";
    const auto kept =
        client.ask("POST", "/v1/dead-letters", binary, "Content-Type: application/json\r\n");
    ASSERT_EQ(kept.status, 201) << kept.body;
    const std::string id = first_line(run_dlo({"list", "-o", "id", "--data", here.path()}).out);
    ASSERT_EQ(run_dlo({"note", id, "look at byte 0", "--data", here.path()}).code, 0);
    ASSERT_EQ(run_dlo({"tag", id, "vip", "--data", here.path()}).code, 0);
    const Ended out = run_dlo({"export", "source:cam", "--file", file, "--data", here.path()});
    ASSERT_EQ(out.code, 0) << out.err;
  }
  const Ended in = run_dlo({"import", file, "--data", there.path()});
  EXPECT_EQ(in.code, 0) << in.err;
  EXPECT_EQ(in.out, "imported 1, were here already 0, refused 0\n");
  EXPECT_EQ(run_dlo({"import", file, "--data", there.path()}).out,
            "imported 0, were here already 1, refused 0\n");

  std::ifstream written(file, std::ios::binary);
  const std::string before(std::istreambuf_iterator<char>(written), {});
  const Ended again = run_dlo({"export", "--data", there.path()});
  EXPECT_EQ(without_places(again.out), without_places(before));
  EXPECT_TRUE(has(again.out, "AP+AAQ==") && has(again.out, "look at byte 0")) << again.out;
}

// Whoever has a file of masks has lost the messages, and notices when they are needed.
TEST(Scenario, MaskedDeadLettersAreExportedOnlyIfThatIsSaid) {
  const TemporaryDirectory here;
  const TemporaryDirectory there;
  const std::string file = here.path() + "/letters.ndjson";
  const std::string config = here.path() + "/dlo.yaml";
  std::ofstream(config) << "data: " << here.path() << "/office\nmasked: [body.card]\n";
  ::setenv("DLO_CONFIG", config.c_str(), 1);
  const Ended made = run_dlo(
      {"report", "--source", "shop", "--error", "declined", "--task", R"({"card":"4111"})"});
  EXPECT_LT(made.code, 2) << made.err;
  const Ended refused = run_dlo({"export", "--file", file});
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_TRUE(has(refused.err, "--reveal") && has(refused.err, "--masked")) << refused.err;
  EXPECT_FALSE(std::ifstream(file).is_open()) << "nothing is left behind";
  EXPECT_EQ(run_dlo({"export", "--file", file, "--masked"}).code, 0);
  const Ended taken = run_dlo({"import", file, "--data", there.path()});
  EXPECT_EQ(taken.code, 3) << taken.out;
  EXPECT_TRUE(has(taken.err, "masked")) << taken.err;
  EXPECT_EQ(run_dlo({"export", "--file", file, "--reveal"}).code, 0);
  EXPECT_EQ(run_dlo({"import", file, "--data", there.path()}).code, 0);
  ::unsetenv("DLO_CONFIG");
}

// Payloads of pictures: together more than a server takes at once, and one of them by itself.
TEST(Scenario, LargeDeadLettersTravelOverHttpInAsManyRequestsAsTheyNeed) {
  const TemporaryDirectory here;
  const TemporaryDirectory there;
  const std::string file = here.path() + "/letters.ndjson";
  {
    Running server({"serve", "--data", here.path(), "--listen", "127.0.0.1:0"});
    HttpClient client(port_in(server.read_until("/healthz")));
    for (int i = 0; i < 60; ++i) {
      const auto kept =
          client.ask("POST", "/v1/dead-letters",
                     R"({"source":"cam","id":")" + std::to_string(i) +
                         R"(","error":"x","payload":")" + std::string(200'000, 'x') + "\"}",
                     "Content-Type: application/json\r\n");
      ASSERT_EQ(kept.status, 201) << kept.body;
    }
    ASSERT_EQ(run_dlo({"export", "--file", file, "--data", here.path()}).code, 0);
  }
  {
    std::ofstream more(file, std::ios::binary | std::ios::app);
    more << R"({"id":")" << std::string(9'000'000, 'y') << "\"}\n";
  }
  Running server({"serve", "--data", there.path(), "--listen", "127.0.0.1:0"});
  server.read_until("/healthz");
  const Ended in = run_dlo({"import", file, "--data", there.path()});
  EXPECT_EQ(in.code, 3) << in.err;
  EXPECT_EQ(in.out, "imported 60, were here already 0, refused 1\n") << in.err;
  EXPECT_TRUE(has(in.err, "line 61: It is larger than the server takes")) << in.err;
}

TEST(Scenario, AnImportCountsWhatItDoesNotUnderstand) {
  const TemporaryDirectory here;
  const TemporaryDirectory there;
  ASSERT_EQ(run_dlo({"demo", "--messages", "60", "--keep", "--data", here.path()}).code, 0);
  const Ended out = run_dlo({"export", "--data", here.path()});
  ASSERT_EQ(out.code, 0) << out.err;
  const Ended in =
      run_dlo({"import", "--data", there.path()}, "{\"nonsense\":\n" + first_line(out.out) + "\n");
  EXPECT_EQ(in.code, 3) << in.err;
  EXPECT_EQ(in.out, "imported 1, were here already 0, refused 1\n");
  EXPECT_TRUE(has(in.err, "line 1: ")) << in.err;
  // With its attempts, in their order.
  EXPECT_EQ(without_places(run_dlo({"export", "--data", there.path()}).out),
            without_places(first_line(out.out) + "\n"));
  EXPECT_EQ(run_dlo({"import", "nowhere", "--data", there.path()}).code, 4);
}

}  // namespace
}  // namespace dlo::testing
