#include <gtest/gtest.h>
#include <string>

#include "unit/api/asking.h"

#include "dlo/jobs/discard_keeper.h"

namespace dlo::api {
namespace {

class ImportsTest : public Asking {
 protected:
  Told import(const std::string& lines) {
    return ask("POST", "/v1/import", lines, {{"Content-Type", "application/x-ndjson"}});
  }
};

class OtherOffice : public Asking {
 public:
  void TestBody() override {}
  std::string letter(const std::string& closed = "archive") {
    const std::string id = dead(R"("id":"p-1","payload":"AP8=","payload_encoding":"base64")");
    say("POST", "/v1/dead-letters/" + id + "/notes", R"({"text":"asked the bank"})");
    say("POST", "/v1/dead-letters/" + id + "/" + closed, "{}");
    return get("/v1/dead-letters/" + id).body();
  }
};

TEST_F(ImportsTest, ADeadLetterComesWithAllThatIsKnownOfIt) {
  OtherOffice other;
  const std::string letter = other.letter();
  const Told kept = import(letter);
  EXPECT_EQ(kept.status(), 200) << kept;
  EXPECT_EQ(kept.at("effect"), "kept");
  const Told here = get("/v1/dead-letters/" + kept.at("id"));
  EXPECT_EQ(here.at("status"), "archived") << here;
  EXPECT_EQ(here.at("message.payload"), "AP8=");
  EXPECT_EQ(here.at("notes.0.text"), "asked the bank");
  EXPECT_EQ(get("/v1/audit").at("entries.0.act"), "import");
}

TEST_F(ImportsTest, OneThatHeldItsKeyThereHoldsNothingHere) {
  OtherOffice other;
  std::string letter = other.letter();
  letter.insert(letter.rfind('}'), R"(,"holds_key":{"waiting":2})");
  const Told kept = import(letter);
  EXPECT_EQ(kept.at("effect"), "kept") << kept;
  EXPECT_FALSE(get("/v1/dead-letters/" + kept.at("id")).says("holds_key"));
}

TEST_F(ImportsTest, WhatWasBeingDiscardedHasItsGraceHereAndIsThenRemoved) {
  OtherOffice other;
  // As of an office in which everything older was looked for long ago.
  EXPECT_EQ(testing::must(sweep_discarded(office_, Millis{0}, clock_.now())), 0U);
  const Told kept = import(other.letter("discard"));
  EXPECT_EQ(get("/v1/dead-letters/" + kept.at("id")).at("status"), "discarding");
  const Millis grace = std::chrono::hours{1};
  EXPECT_EQ(testing::must(sweep_discarded(office_, grace, clock_.now())), 0U);
  EXPECT_EQ(testing::must(sweep_discarded(office_, grace, clock_.now() + grace)), 1U);
}

TEST_F(ImportsTest, WhatIsHereStaysAsItIs) {
  OtherOffice other;
  const std::string letter = other.letter();
  const std::string id = import(letter).at("id");
  say("POST", "/v1/dead-letters/" + id + "/restore", "{}");
  const std::string before = get("/v1/dead-letters/" + id).body();
  EXPECT_EQ(import(letter).at("effect"), "merged");
  EXPECT_EQ(get("/v1/dead-letters/" + id).body(), before);
}

TEST_F(ImportsTest, ALineThatIsNotUnderstoodHarmsNoOther) {
  OtherOffice other;
  const Told mixed = import("{\"id\":7}\n" + other.letter());
  EXPECT_EQ(mixed.status(), 207) << mixed;
  EXPECT_TRUE(mixed.says(R"("line":1,"code":"invalid_argument")")) << mixed;
  EXPECT_TRUE(mixed.says(R"("effect":"kept")")) << mixed;
  EXPECT_EQ(say("POST", "/v1/import", "{}").status(), 415);
}

}  // namespace
}  // namespace dlo::api
