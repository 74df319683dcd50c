#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <signal.h>
#include <string>
#include <vector>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

const std::string json = "Content-Type: application/json\r\n";

/// A variable for as long as this lives.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

/// Which of what was planted stands in any file of the directory, whatever the file is for.
std::set<std::string> found_in(const std::string& directory, const std::vector<std::string>& all) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    for (const std::string& each : all) {
      if (bytes.find(each) != std::string::npos) found.insert(each);
    }
  }
  return found;
}

// Words that nobody writes by chance; each says where it was planted.
const std::vector<std::string> planted = {
    "zqpayloadsecret", "zqheadersecret",      "zqmetadatasecret",  "zqversionsecret",
    "zqqueuesecret",   "zqqueueheadersecret", "zqrecipesecret",    "zqnotesecret",
    "zqquerysecret",   "zqsetheadersecret",   "zqjobrecipesecret", "zqstacksecret"};
const std::string in_error = "zqpasswordsecret";

struct Planted {
  std::string letter;
};

/// Plants everything through the server: a report with all its parts, an edit, a queue whose first
/// message is failed once, and one that waits.
Planted plant(HttpClient& client) {
  const auto reported = client.ask(
      "POST", "/v1/dead-letters",
      R"({"source":"payments","id":"p1","json":{"card":"zqpayloadsecret","order":7},)"
      R"("headers":[{"name":"authorization","value":"zqheadersecret"}],"metadata":{"note":"zqmetadatasecret"},)"
      R"("failure":{"type":"CardError","text":"login failed: password=zqpasswordsecret",)"
      R"x("stack":"CardError: no\n\tat com.acme.Card.check(Card.java:1)\n)x"
      R"x(\tat com.acme.Pay.zqstacksecret(Pay.java:2)"}})x",
      json);
  EXPECT_EQ(reported.status, 201) << reported.body;
  Planted out{member(reported.body, "id")};
  const auto edited =
      client.ask("POST", "/v1/dead-letters/" + out.letter + "/edit",
                 R"({"json":{"card":"zqversionsecret","order":8},"reason":"typo"})", json);
  EXPECT_EQ(edited.status, 201) << edited.body;
  EXPECT_EQ(client.ask("PUT", "/v1/queues/orders", R"({"profile":"service-bus"})", json).status,
            201);
  for (const char* id : {"1", "2"}) {
    const auto sent = client.ask("POST", "/v1/queues/orders/messages",
                                 R"({"id":")" + std::string(id) +
                                     R"(","payload":"zqqueuesecret",)"
                                     R"("headers":[{"name":"x","value":"zqqueueheadersecret"}]})",
                                 json);
    EXPECT_EQ(sent.status, 201) << sent.body;
  }
  const auto taken = client.ask("POST", "/v1/queues/orders/receive");
  EXPECT_TRUE(taken.has("zqqueuesecret")) << taken.body;
  const auto failed =
      client.ask("POST", "/v1/queues/orders/settle",
                 R"({"lease":")" + member(taken.body, "lease") +
                     R"(","outcome":"fail","error":"unavailable, password=zqpasswordsecret"})",
                 json);
  EXPECT_EQ(failed.status, 200) << failed.body;
  return out;
}

/// What is said in them are values of messages: neither they nor the trail may show it.
void plant_recipe_and_note(HttpClient& client, const Planted& letter) {
  const auto recipe =
      client.ask("PUT", "/v1/recipes/card",
                 R"({"steps":[{"set":"body.card","value":"zqrecipesecret"}]})", json);
  EXPECT_LT(recipe.status, 300) << recipe.body;
  const auto note = client.ask("POST", "/v1/dead-letters/" + letter.letter + "/notes",
                               R"({"text":"the card is zqnotesecret"})", json);
  EXPECT_EQ(note.status, 201) << note.body;
}

/// Jobs say which values they look for and which they write: a query by a place that is indexed, a
/// header that is set, a recipe.
void plant_jobs(HttpClient& client) {
  for (const char* body :
       {R"({"act":"tag","tags":["a"],"query":"body.card:zqquerysecret","start":true})",
        R"({"act":"replay","query":"source:nobody","set_headers":{"x":"zqsetheadersecret"}})",
        R"({"act":"repair","query":"source:nobody",)"
        R"("recipe":[{"set":"card","value":"zqjobrecipesecret"}]})"}) {
    const auto planned = client.ask("POST", "/v1/jobs", body, json);
    EXPECT_EQ(planned.status, 201) << planned.body;
    EXPECT_TRUE(planned.has("secret")) << "whoever may look sees it plain: " << planned.body;
  }
}

class Office {
 public:
  explicit Office(const std::string& directory)
      : server_({"serve", "--data", directory, "--listen", "127.0.0.1:0"}),
        client_(port_in(server_.read_until("/healthz"))) {}
  HttpClient& client() { return client_; }
  int stop(int signal) { return server_.stop(signal); }

 private:
  Running server_;
  HttpClient client_;
};

std::set<std::string> left_behind(const std::string& directory, bool with_restart) {
  std::vector<std::string> all = planted;
  all.push_back(in_error);
  {
    Office office(directory);
    const Planted letter = plant(office.client());
    plant_recipe_and_note(office.client(), letter);
    plant_jobs(office.client());
    const auto shown = office.client().ask("GET", "/v1/dead-letters/" + letter.letter);
    for (const char* each :
         {"zqpayloadsecret", "zqheadersecret", "zqmetadatasecret", "zqversionsecret"}) {
      EXPECT_TRUE(shown.has(each)) << "whoever may look sees it plain: " << shown.body;
    }
    EXPECT_FALSE(shown.has(in_error)) << shown.body;
    const auto attempt =
        office.client().ask("POST", "/v1/dead-letters/" + letter.letter + "/attempts",
                            R"({"error":"card zqattempttext again"})", json);
    EXPECT_EQ(attempt.status, 200) << attempt.body;
    const auto trail = office.client().ask("GET", "/v1/audit?limit=1000");
    EXPECT_TRUE(trail.has("job.plan")) << trail.body;
    EXPECT_FALSE(trail.has("zq")) << "the trail has digests: " << trail.body;
    EXPECT_EQ(office.stop(SIGKILL), -SIGKILL);
  }
  std::set<std::string> found = found_in(directory, all);  // -wal and the open segment included
  if (!with_restart) return found;
  {
    Office office(directory);  // reads it all back, writes checkpoints when it stops
    const auto again = office.client().ask("POST", "/v1/queues/orders/receive?wait_ms=10000");
    EXPECT_TRUE(again.has("zqqueuesecret")) << again.body;
    EXPECT_EQ(office.stop(SIGTERM), 0);
  }
  found.merge(found_in(directory, all));
  return found;
}

TEST(Scenario, WithoutAKeyWhatWasPlantedStandsInTheFilesButForPasswordsInErrors) {
  const TemporaryDirectory place;
  const std::set<std::string> everything(planted.begin(), planted.end());
  EXPECT_EQ(left_behind(place.path(), false), everything);
}

TEST(Scenario, WithAKeyNothingOfWhatWasPlantedStandsInAnyFile) {
  const TemporaryDirectory place;
  const TemporaryDirectory keys;
  const std::string file = keys.path() + "/dlo.keys";
  const auto made = run_dlo({"key", "create", file});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string id = made.out.substr(0, 16);
  {
    const Variable named("DLO_VAULT_KEY_FILE", file);
    const Variable indexed("DLO_VAULT_INDEXED", "body.card");
    EXPECT_EQ(left_behind(place.path(), true), std::set<std::string>{});
    EXPECT_NE(run_dlo({"doctor", "--data", place.path()}).out.find("encrypted under key " + id),
              std::string::npos);
    const auto words = run_dlo({"list", "--data", place.path(), "payload:zqpayloadsecret"});
    EXPECT_NE(words.code, 0);
    EXPECT_NE(words.err.find("encrypted"), std::string::npos) << words.err;
  }
  // Nobody without the key gets in, and is told which one it is.
  const auto refused = run_dlo({"list", "--data", place.path()});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find(id), std::string::npos) << refused.err;
}

TEST(Scenario, AKeyFileThatEverybodyCanReadIsComplainedAbout) {
  const TemporaryDirectory place;
  const std::string keys = place.path() + "/dlo.keys";
  const std::string config = place.path() + "/dlo.yaml";
  const std::string office = place.path() + "/office";
  ASSERT_EQ(run_dlo({"key", "create", keys}).code, 0);
  std::ofstream(config) << "data: " << office << "\nvault:\n  key_file: " << keys << "\n";
  const Variable named("DLO_CONFIG", config);
  ASSERT_EQ(run_dlo({"token", "create", "ana"}).code, 0);  // makes the office
  const auto complains = [&] {
    const auto checked = run_dlo({"config", "check", config});
    EXPECT_EQ(checked.code, 0) << checked.err;
    const auto doctor = run_dlo({"doctor", "--data", office});
    const bool both =
        checked.err.find("dlo.yaml:3: vault.key_file: everybody") != std::string::npos;
    EXPECT_EQ(doctor.out.find("everybody on this machine") != std::string::npos, both)
        << doctor.out << checked.err;
    return both;
  };
  EXPECT_FALSE(complains()) << "it is made for its owner only";
  const std::string elsewhere = place.path() + "/elsewhere.yaml";
  std::ofstream(elsewhere) << "data: " << office << "\nvault:\n  key_file: /nonexistent\n";
  const auto missing = run_dlo({"config", "check", elsewhere});
  EXPECT_EQ(missing.code, 0) << missing.err;
  EXPECT_NE(missing.err.find("vault.key_file: '/nonexistent' cannot be read here"),
            std::string::npos)
      << missing.err;
  std::filesystem::permissions(keys, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_TRUE(complains());
}

TEST(Scenario, AKeyIsReplacedAndTheOldOneIsNeededNoMore) {
  const TemporaryDirectory place;
  const TemporaryDirectory keys;
  const std::string file = keys.path() + "/dlo.keys";
  ASSERT_EQ(run_dlo({"key", "create", file}).code, 0);
  const Variable named("DLO_VAULT_KEY_FILE", file);
  std::string letter;
  {
    Office office(place.path());
    letter = plant(office.client()).letter;
    EXPECT_EQ(office.stop(SIGTERM), 0);
  }
  const auto second = run_dlo({"key", "create", file});
  ASSERT_EQ(second.code, 0) << second.err;
  const auto rotated = run_dlo({"key", "rotate", "--data", place.path()});
  ASSERT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_NE(rotated.out.find(second.out.substr(0, 16)), std::string::npos) << rotated.out;
  // Only the new key's line stays.
  std::string text;
  {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(second.out.substr(0, 16))) text = line + "\n";
    }
  }
  std::ofstream(file) << text;
  Office office(place.path());
  EXPECT_TRUE(office.client().ask("GET", "/v1/dead-letters/" + letter).has("zqpayloadsecret"));
  EXPECT_TRUE(
      office.client().ask("POST", "/v1/queues/orders/receive?wait_ms=10000").has("zqqueuesecret"));
  EXPECT_EQ(office.stop(SIGTERM), 0);
}

// What was kept before there was a key: rotating encrypts it, and leaves nothing in free pages. The
// queues are another matter: what waits there goes when it is worked on.
TEST(Scenario, AnOfficeThatWasPlainIsEncryptedByRotating) {
  const TemporaryDirectory place;
  const TemporaryDirectory keys;
  std::string letter;
  {
    Office office(place.path());
    letter = plant(office.client()).letter;
    EXPECT_EQ(office.stop(SIGTERM), 0);
  }
  std::filesystem::remove_all(place.path() + "/queues");
  ASSERT_FALSE(found_in(place.path(), planted).empty());
  const std::string file = keys.path() + "/dlo.keys";
  ASSERT_EQ(run_dlo({"key", "create", file}).code, 0);
  const Variable named("DLO_VAULT_KEY_FILE", file);
  const auto rotated = run_dlo({"key", "rotate", "--data", place.path()});
  ASSERT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_NE(rotated.out.find("1 encrypted anew"), std::string::npos) << rotated.out;
  EXPECT_EQ(found_in(place.path(), planted), std::set<std::string>{});
  const auto again = run_dlo({"key", "rotate", "--data-key", "--data", place.path()});
  EXPECT_NE(again.out.find("1 encrypted anew"), std::string::npos) << again.out << again.err;
  const auto shown = run_dlo({"show", letter, "-o", "json", "--data", place.path()});
  EXPECT_NE(shown.out.find("zqpayloadsecret"), std::string::npos) << shown.out;
}

}  // namespace
}  // namespace dlo::testing
