#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// An operator starts the office, checks its health, tries to start it twice, and stops it.
TEST(Scenario, AServerStartsAnswersRefusesASecondWriterAndStopsOnSigterm) {
  const TemporaryDirectory place;
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  const int port = port_in(server.read_until("/healthz"));
  ASSERT_NE(port, 0);
  EXPECT_NE(http_get(port, "/healthz").find("200 OK"), std::string::npos);
  EXPECT_NE(http_get(port, "/nowhere").find("404"), std::string::npos);

  const Ended second = run_dlo({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find(std::to_string(server.pid())), std::string::npos)
      << "R19: the owner's pid must be named: " << second.err;

  const Ended beside = run_dlo({"stats", "--data", place.path()});
  EXPECT_EQ(beside.code, 4) << beside.err;  // readable beside the writer, and empty

  EXPECT_EQ(server.stop(SIGTERM), 0);
  const Ended again = run_dlo({"list", "--data", place.path()});
  EXPECT_EQ(again.code, 4) << again.err;
}

// Nobody is told that everything is there when it is not.
TEST(Scenario, AServerWhoseOfficeWasDestroyedDoesNotSayThatEverythingIsThere) {
  const auto cut = [](const std::string& file) { std::filesystem::resize_file(file, 0); };
  const auto removed = [](const std::string& file) { std::filesystem::remove(file); };
  const auto replaced = [](const std::string& file) {
    std::filesystem::rename(file, file + ".old");
    std::filesystem::copy_file(file + ".old", file);
  };
  const std::vector<std::function<void(const std::string&)>> deeds{cut, removed, replaced};
  for (std::size_t i = 0; i < deeds.size(); ++i) {
    const TemporaryDirectory place;
    ASSERT_EQ(run_dlo({"demo", "--messages", "14", "--keep", "--data", place.path()}).code, 0);
    Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
    server.read_until("/healthz");
    deeds[i](place.path() + "/office.db");
    EXPECT_EQ(::kill(server.pid(), SIGTERM), 0);
    EXPECT_NO_THROW(server.read_until("Stopped.\n")) << i;  // and nothing else in that line
    EXPECT_EQ(server.stop(0), 1) << i;
  }
}

TEST(Scenario, AServerThatHadToCutSomethingOffPromisesWhatWasAcknowledgedSince) {
  const TemporaryDirectory place;
  const std::vector<std::string> serve{"serve", "--data", place.path(), "--listen", "127.0.0.1:0"};
  {
    Running server(serve);
    server.read_until("/healthz");
    const Ended sent =
        run_dlo({"queue", "send", "orders", "the last body", "--data", place.path()});
    ASSERT_EQ(sent.code, 0) << sent.err;
    EXPECT_EQ(server.stop(SIGKILL), -SIGKILL);
  }
  for (const auto& file : std::filesystem::directory_iterator(place.path() + "/queues")) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string all(std::istreambuf_iterator<char>(bytes), {});
    const auto at = all.find("the last body");
    if (at == std::string::npos) continue;
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put('T');
  }
  Running server(serve);
  server.read_until("/healthz");
  EXPECT_EQ(::kill(server.pid(), SIGTERM), 0);
  EXPECT_NO_THROW(server.read_until("Everything that was acknowledged since the start is in '"));
  EXPECT_EQ(server.stop(0), 0);
}

TEST(Scenario, AServerStopsOnCtrlCAsItDoesOnSigterm) {
  const TemporaryDirectory place;
  Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
  const int port = port_in(server.read_until("/healthz"));
  EXPECT_NE(http_get(port, "/healthz").find("200 OK"), std::string::npos);
  EXPECT_EQ(server.stop(SIGINT), 0);
  const Ended again = run_dlo({"list", "--data", place.path()});
  EXPECT_EQ(again.code, 4) << again.err;  // it opens, and is empty
}

// An office that takes long to open, here because its key comes from somebody who does not answer.
TEST(Scenario, ASignalEndsAServerThatIsStillOpening) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryDirectory place;
    const std::string pipe = place.path() + "/key";
    const std::string config = place.path() + "/dlo.yaml";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::ofstream(config) << "vault: {key_file: " << pipe << "}\n";
    Running server({"serve", "--data", place.path() + "/office", "--listen", "127.0.0.1:0",
                    "--config", config});
    const int writer = ::open(pipe.c_str(), O_WRONLY);  // returns once the server reads
    EXPECT_EQ(server.stop(signal), 128 + signal);
    ::close(writer);
  }
}

TEST(Scenario, AKilledServerLeavesAnOfficeThatOpensAgain) {
  const TemporaryDirectory place;
  for (int life = 0; life < 3; ++life) {
    Running server({"serve", "--data", place.path(), "--listen", "127.0.0.1:0"});
    EXPECT_NE(port_in(server.read_until("/healthz")), 0);
    EXPECT_EQ(server.stop(SIGKILL), -SIGKILL);
  }
}

TEST(Scenario, WithoutTokensOnlyTheMachineItselfIsServed) {
  const TemporaryDirectory place;
  const Ended open = run_dlo({"serve", "--data", place.path(), "--listen", "0.0.0.0:0"});
  EXPECT_EQ(open.code, 1);
  EXPECT_NE(open.err.find("127.0.0.1"), std::string::npos) << open.err;
}

}  // namespace
}  // namespace dlo::testing
