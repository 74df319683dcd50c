#include "dlo/engine/handlers/command_handler.h"

#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "support/must.h"
#include "unit/handlers/world.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using dlo::testing::context_of_first_attempt;
using dlo::testing::eventually;
using dlo::testing::must;
using dlo::testing::open_descriptors;
using dlo::testing::Scratch;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Message message_with(std::optional<std::string> payload) {
  Message message;
  message.source = "orders";
  message.payload = std::move(payload);
  return message;
}

CommandOptions shell(std::string script) {
  CommandOptions options;
  options.argv = {"/bin/sh", "-c", std::move(script)};
  return options;
}

class Command : public ::testing::Test {
 protected:
  /// Whatever a test does, it leaves no child and no descriptor behind.
  void TearDown() override {
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a zombie or a running child is left";
  }
  static Outcome run(const std::string& script, const Message& message) {
    return must(CommandHandler::make(shell(script)))->run(message, context_of_first_attempt());
  }
  static Outcome run(const std::string& script) { return run(script, message_with("x")); }

  Scratch scratch_;

 private:
  std::size_t descriptors_ = open_descriptors();
};

struct Row {
  const char* name;
  const char* script;
  const char* type;
  const char* code;
  const char* text;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class CommandEnd : public Command, public ::testing::WithParamInterface<Row> {};

TEST_P(CommandEnd, FollowsTheTable) {
  const auto& row = GetParam();
  const Outcome outcome = run(row.script);
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  EXPECT_EQ(outcome.failure.type, row.type);
  EXPECT_EQ(outcome.failure.code, row.code);
  EXPECT_EQ(outcome.failure.text, row.text);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Ends, CommandEnd, ::testing::ValuesIn<Row>({
    {"ExitOne",          "echo no balance >&2; exit 1",   "CommandFailed", "exit:1",   "no balance"},
    {"TransientExit",    "echo busy >&2; exit 75",        "CommandFailed", "exit:75",  "busy"},
    {"LargestExit",      "exit 255",                      "CommandFailed", "exit:255", "/bin/sh exited with 255 and wrote nothing to stderr"},
    {"StdoutIfSilent",   "echo here it is; exit 2",       "CommandFailed", "exit:2",   "/bin/sh exited with 2 and wrote nothing to stderr; the last of its stdout:\nhere it is"},
    {"Killed",           "echo dying >&2; kill -KILL $$", "CommandKilled", "signal:9", "dying"},
    {"SilentlyKilled",   "kill -SEGV $$",                 "CommandKilled", "signal:11", "/bin/sh was killed by SIGSEGV and wrote nothing to stderr"},
    {"InvalidUtf8",      "printf 'bad \\377 byte\\000!' >&2; exit 1", "CommandFailed", "exit:1", "bad \uFFFD byte\uFFFD!"},
    {"ColoursGo",        "printf '\\033[1;31mred\\033[0m\\r\\nnext\\007' >&2; exit 1", "CommandFailed", "exit:1", "red\nnext"},
    {"LastWordsOfHelpers", "{ sleep 0.05; echo late >&2; } & exit 3", "CommandFailed", "exit:3", "late"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST_F(Command, ExitZeroIsDoneWhateverItWrote) {
  EXPECT_EQ(run("echo warning >&2; echo output; cat >/dev/null"), Outcome{});
}

TEST_F(Command, ThePayloadArrivesOnStdinByteForByte) {
  std::string every_byte;
  for (int i = 0; i < 70'000; ++i) every_byte += static_cast<char>(i % 256);
  EXPECT_EQ(run("cat > " + (scratch_ / "in"), message_with(every_byte)), Outcome{});
  EXPECT_EQ(scratch_.read("in"), every_byte);
}

TEST_F(Command, NullAndEmptyPayloadsAreToldApart) {
  const auto script = "cat > " + (scratch_ / "in") + "; echo \"${DLO_PAYLOAD_NULL-no}/" +
                      "${DLO_PAYLOAD_SIZE-none}\" > " + (scratch_ / "how");
  EXPECT_EQ(run(script, message_with(std::nullopt)), Outcome{});
  EXPECT_EQ(scratch_.read("how"), "1/none\n");
  EXPECT_EQ(run(script, message_with("")), Outcome{});
  EXPECT_EQ(scratch_.read("how"), "no/0\n");
  EXPECT_EQ(scratch_.read("in"), "");
}

TEST_F(Command, SixtyFourMegabytesInAndTwiceOutDoNotDeadlock) {
  const std::string big(64 * 1024 * 1024, 'z');
  EXPECT_EQ(run("tee /dev/stderr " + (scratch_ / "copy"), message_with(big)), Outcome{});
  EXPECT_EQ(std::filesystem::file_size(scratch_ / "copy"), big.size());
}

TEST_F(Command, OnlyTheEndOfALongErrorIsKept) {
  const Outcome outcome =
      run("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done >&2; "
          "echo the true cause >&2; exit 1");
  EXPECT_LE(outcome.failure.text.size(), 17U * 1024);
  EXPECT_THAT(outcome.failure.text, EndsWith("\nline 19999\nthe true cause"));
  EXPECT_THAT(outcome.failure.text, StartsWith("["));
  EXPECT_THAT(outcome.failure.text, HasSubstr(" bytes before this were left out]\nline "));
}

TEST_F(Command, AProgramThatClosesItsStdinEarlyMayStillSucceed) {
  EXPECT_EQ(run("exec <&-; exit 0", message_with(std::string(4 << 20, 'x'))), Outcome{});
  EXPECT_EQ(run("head -c 1 >/dev/null; exit 0", message_with(std::string(4 << 20, 'x'))),
            Outcome{});
}

TEST_F(Command, BrokenPipesStayInvisibleToTheProgramWeLiveIn) {
  struct sigaction before{};
  ::sigaction(SIGPIPE, nullptr, &before);
  ASSERT_EQ(before.sa_handler, SIG_DFL) << "a stray SIGPIPE must be able to kill this test";
  EXPECT_EQ(run("exec <&-; sleep 0.1", message_with(std::string(4 << 20, 'x'))), Outcome{});
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST_F(Command, TheEnvironmentTellsWhatIsKnown) {
  Message message = message_with("x");
  message.id = "m-1";
  message.event_type = "PaymentCreated";
  message.key = "k";
  message.position = Position{"3", 42};
  message.owner = Owner{"inst", 2, Activity{"Charge", 5}, ""};
  message.enqueued_at = dlo::testing::noon;
  message.headers = {
      {"x-tenant.id", "first", HeaderType::text},
      {"X-Tenant-Id", "acme\nline two", HeaderType::text},
      {"blob", std::string("\0\xFF", 2), HeaderType::bytes},
      {"with-nul", std::string("a\0b", 3), HeaderType::text},
      {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", HeaderType::text}};
  EXPECT_EQ(run("env > " + (scratch_ / "env"), message), Outcome{});
  const std::string env = "\n" + scratch_.read("env");
  for (const char* line :
       {"DLO_ID=00112233445566778899aabbccddeeff", "DLO_ATTEMPT=1", "DLO_SOURCE=orders",
        "DLO_MESSAGE_ID=m-1", "DLO_EVENT_TYPE=PaymentCreated", "DLO_KEY=k", "DLO_PARTITION=3",
        "DLO_OFFSET=42", "DLO_OWNER_INSTANCE=inst", "DLO_OWNER_EXECUTION=2",
        "DLO_OWNER_ACTIVITY=Charge", "DLO_OWNER_ACTIVITY_ID=5",
        "DLO_ENQUEUED_AT=2026-03-01T12:00:00.000Z", "DLO_HEADER_X_TENANT_ID=acme\nline two",
        "DLO_HEADER_BLOB_BASE64=AP8=", "DLO_HEADER_WITH_NUL_BASE64=YQBi", "DLO_PAYLOAD_SIZE=1"}) {
    EXPECT_THAT(env, HasSubstr("\n" + std::string(line) + "\n"));
  }
  EXPECT_THAT(env, HasSubstr("\nTRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-"));
  EXPECT_THAT(env, Not(HasSubstr("\nTRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad")));
  EXPECT_THAT(env, Not(HasSubstr("=first")));
}

TEST_F(Command, AMessageCannotSetAVariableOfTheProgram) {
  Message message = message_with("x");
  message.headers = {{"=LD_PRELOAD", "/evil.so", HeaderType::text},
                     {"A=B\nPATH", "/evil", HeaderType::text},
                     {std::string("N\0UL", 4), "v", HeaderType::text}};
  EXPECT_EQ(run("env -0 > " + (scratch_ / "env"), message), Outcome{});
  const std::string env = scratch_.read("env");
  EXPECT_THAT(env, HasSubstr("DLO_HEADER__LD_PRELOAD=/evil.so"));
  EXPECT_THAT(env, HasSubstr("DLO_HEADER_A_B_PATH=/evil"));
  EXPECT_THAT(env, HasSubstr("DLO_HEADER_N_UL=v"));
}

TEST_F(Command, AbsurdHeadersDoNotMakeAMessageImpossibleToRun) {
  Message message = message_with("x");
  message.key = std::string(1 << 20, 'k');
  message.headers.push_back({"huge", std::string(4 << 20, 'h'), HeaderType::text});
  for (int i = 0; i < 5'000; ++i) {
    message.headers.push_back({"many-" + std::to_string(i), std::string(200, 'm')});
  }
  EXPECT_EQ(run("echo $DLO_HEADERS_OMITTED > " + (scratch_ / "omitted"), message), Outcome{});
  EXPECT_GT(std::stoi(scratch_.read("omitted")), 3'000);
}

TEST_F(Command, OurOwnSettingsAreNotHandedDown) {
  ::setenv("DLO_TOKEN", "secret", 1);
  ::setenv("OTHER_SETTING", "ours", 1);
  auto options = shell("env > " + (scratch_ / "env"));
  options.environment = {{"OTHER_SETTING", "theirs"}, {"ADDED", "yes"}};
  const auto handler = must(CommandHandler::make(options));
  ::unsetenv("DLO_TOKEN");
  EXPECT_EQ(handler->run(message_with("x"), context_of_first_attempt()), Outcome{});
  const std::string env = "\n" + scratch_.read("env");
  EXPECT_THAT(env, Not(HasSubstr("secret")));
  EXPECT_THAT(env, HasSubstr("\nOTHER_SETTING=theirs\n"));
  EXPECT_THAT(env, Not(HasSubstr("=ours")));
  EXPECT_THAT(env, HasSubstr("\nADDED=yes\n"));
}

TEST_F(Command, TheTimeoutEndsASleepingProgram) {
  auto options = shell("echo waiting >&2; sleep 100");
  const auto handler = must(CommandHandler::make(options));
  auto context = context_of_first_attempt();
  context.timeout = 150ms;
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = handler->run(message_with("x"), context);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s);
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  EXPECT_EQ(outcome.failure.type, "HandlerTimeout");
  EXPECT_EQ(outcome.failure.code, "timed_out");
  EXPECT_THAT(outcome.failure.text, HasSubstr("longer than 150 ms"));
}

TEST_F(Command, AProgramThatIgnoresSigtermIsKilledAfterTheGrace) {
  auto options = shell("trap '' TERM; touch " + (scratch_ / "ready") + "; sleep 100; sleep 100");
  options.grace = 100ms;
  const auto handler = must(CommandHandler::make(options));
  std::stop_source source;
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  std::jthread stopper([&] {
    EXPECT_TRUE(eventually([&] { return scratch_.has("ready"); }));
    source.request_stop();
  });
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = handler->run(message_with("x"), context);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s);
  EXPECT_EQ(outcome.failure.code, "stopped");
  EXPECT_EQ(outcome.failure.type, "HandlerStopped");
}

TEST_F(Command, AStoppedRunIsAFailureEvenIfTheProgramThenExitsZero) {
  auto options =
      shell("trap 'exit 0' TERM; touch " + (scratch_ / "ready") + "; while :; do sleep 0.01; done");
  const auto handler = must(CommandHandler::make(options));
  std::stop_source source;
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  std::jthread stopper([&] {
    EXPECT_TRUE(eventually([&] { return scratch_.has("ready"); }));
    source.request_stop();
  });
  const Outcome outcome = handler->run(message_with("x"), context);
  EXPECT_EQ(outcome.kind, OutcomeKind::failed);
  EXPECT_EQ(outcome.failure.code, "stopped");
}

TEST_F(Command, WhatAProgramLeavesBehindInItsGroupEndsWithIt) {
  EXPECT_EQ(run("sleep 1000 & echo $! > " + (scratch_ / "pid")), Outcome{});
  const pid_t orphan = std::stoi(scratch_.read("pid"));
  EXPECT_TRUE(eventually([&] {
    std::ifstream stat("/proc/" + std::to_string(orphan) + "/stat");
    std::string line;
    std::getline(stat, line);
    return line.empty() || line.find(") Z") != std::string::npos;
  })) << "sleep is still running";
}

TEST_F(Command, ARunThatIsStoppedBeforeItBeganNeverStarted) {
  std::stop_source source;
  source.request_stop();
  auto context = context_of_first_attempt();
  context.stop = source.get_token();
  const auto handler = must(CommandHandler::make(shell("touch " + (scratch_ / "ran"))));
  EXPECT_EQ(handler->run(message_with("x"), context).kind, OutcomeKind::never_started);
  EXPECT_FALSE(scratch_.has("ran"));
}

TEST_F(Command, TheProgramStartsWithDefaultSignalsAndAnEmptyMask) {
  CommandOptions options;  // no shell: shells tidy up masks themselves
  options.argv = {"dd", "if=/proc/self/status", "of=" + (scratch_ / "status")};
  const auto handler = must(CommandHandler::make(options));
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto hangup = ::signal(SIGHUP, SIG_IGN);
  const Outcome outcome = handler->run(message_with("x"), context_of_first_attempt());
  ::signal(SIGHUP, hangup);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(outcome, Outcome{});
  const std::string status = scratch_.read("status");
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000\n"));
  // The C library may keep 32 and 33, its own, ignored.
  EXPECT_THAT(status, ::testing::ContainsRegex("SigIgn:\t0000000[01][08]0000000\n"));
}

TEST_F(Command, TheProgramInheritsOnlyItsThreeDescriptors) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  const std::string listing = scratch_ / "fds";
  EXPECT_EQ(run("ls /proc/self/fd > " + listing), Outcome{});
  ::close(leaked);
  EXPECT_EQ(scratch_.read("fds"), "0\n1\n2\n3\n");  // 3 is the directory ls reads
}

TEST_F(Command, ThirtyTwoRunsFromEightThreadsDoNotMixUp) {
  const auto handler = must(CommandHandler::make(shell("cat >&2; exit 7")));
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 4; ++i) {
        const std::string words = "run " + std::to_string(t) + "." + std::to_string(i);
        const Outcome outcome = handler->run(message_with(words), context_of_first_attempt());
        if (outcome.failure.text == words && outcome.failure.code == "exit:7") ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 32);
}

TEST_F(Command, AProgramThatVanishedSinceIsAFailureThatSaysSo) {
  const std::string path = scratch_ / "program";
  std::ofstream(path) << "#!/bin/sh\nexit 0\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  CommandOptions options;
  options.argv = {path};
  const auto handler = must(CommandHandler::make(options));
  EXPECT_EQ(handler->run(message_with("x"), context_of_first_attempt()), Outcome{});
  std::filesystem::remove(path);
  const Outcome outcome = handler->run(message_with("x"), context_of_first_attempt());
  EXPECT_EQ(outcome.failure.type, "CommandNotStarted");
  EXPECT_EQ(outcome.failure.code, "not_started");
  EXPECT_THAT(outcome.failure.text, HasSubstr(path + " could not be started: No such file"));
}

TEST_F(Command, RunsInTheDirectoryItWasGiven) {
  auto options = shell("touch here");
  options.directory = scratch_ / "";
  EXPECT_EQ(must(CommandHandler::make(options))->run(message_with("x"), context_of_first_attempt()),
            Outcome{});
  EXPECT_TRUE(scratch_.has("here"));
}

TEST_F(Command, WhatCannotRunIsRefusedWithTheReason) {
  const auto refusal = [](CommandOptions options) {
    const auto made = CommandHandler::make(std::move(options));
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().detail;
  };
  CommandOptions nothing;
  EXPECT_THAT(refusal(nothing), HasSubstr("needs a command"));
  CommandOptions missing;
  missing.argv = {"no-such-program-anywhere"};
  EXPECT_THAT(refusal(missing), HasSubstr("no-such-program-anywhere was not found"));
  missing.argv = {"/etc/passwd"};
  EXPECT_THAT(refusal(missing), HasSubstr("not executable"));
  auto lost = shell("true");
  lost.directory = "/no/such/place";
  EXPECT_THAT(refusal(lost), HasSubstr("/no/such/place"));
  auto variable = shell("true");
  variable.environment = {{"A=B", "c"}};
  EXPECT_THAT(refusal(variable), HasSubstr("'A=B'"));
}

}  // namespace
}  // namespace dlo
