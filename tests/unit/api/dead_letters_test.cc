#include <gtest/gtest.h>
#include <set>
#include <string>

#include "unit/api/asking.h"

namespace dlo::api {
namespace {

class DeadLetters : public Asking {};

TEST_F(DeadLetters, AreListedNewestFirstAndFoundByQuery) {  // S1-33, S1-39
  dead(R"("id":"a")");
  clock_.advance(Millis{1000});
  dead(R"("id":"b","key":"k1")");
  const Told all = get("/v1/dead-letters");
  EXPECT_EQ(all.status(), 200);
  EXPECT_EQ(all.at("dead_letters.0.message_id"), "b") << all;
  EXPECT_EQ(all.at("dead_letters.1.message_id"), "a");
  EXPECT_EQ(all.at("next"), "null");
  EXPECT_EQ(get("/v1/dead-letters?order=oldest").at("dead_letters.0.message_id"), "a");
  const Told one = get("/v1/dead-letters?q=key%3Ak1");
  EXPECT_EQ(one.at("dead_letters.0.message_id"), "b");
  EXPECT_EQ(one.at("dead_letters.1.message_id"), "?");
}

TEST_F(DeadLetters, PagesFollowOneAnotherWithoutGapsOrRepeats) {
  for (int i = 0; i < 7; ++i) {
    dead(R"("id":"m)" + std::to_string(i) + "\"");
    clock_.advance(Millis{1});
  }
  std::set<std::string> seen;
  std::string target = "/v1/dead-letters?limit=3";
  int pages = 0;
  for (std::string next; next != "null"; ++pages) {
    const Told page = get(target + (next.empty() ? "" : "&cursor=" + next));
    ASSERT_EQ(page.status(), 200) << page;
    for (int i = 0; page.at("dead_letters." + std::to_string(i) + ".id") != "?"; ++i) {
      EXPECT_TRUE(seen.insert(page.at("dead_letters." + std::to_string(i) + ".id")).second);
    }
    next = page.at("next");
  }
  EXPECT_EQ(seen.size(), 7U);
  EXPECT_EQ(pages, 3);
}

TEST_F(DeadLetters, ABadQueryIsRefusedWithItsPlace) {
  const Told told = get("/v1/dead-letters?q=colour%3Ared");
  EXPECT_EQ(told.status(), 400);
  EXPECT_TRUE(told.says("column 1")) << told;
  EXPECT_EQ(get("/v1/dead-letters?cursor=nonsense").status(), 400);
  EXPECT_EQ(get("/v1/dead-letters?limit=0").status(), 400);
  EXPECT_EQ(get("/v1/dead-letters?limit=9999").status(), 400);
  EXPECT_EQ(get("/v1/dead-letters?order=random").status(), 400);
}

TEST_F(DeadLetters, ColumnsAreLiftedOutOfPayloads) {  // S1-37
  dead(R"("json":{"PaymentId":"p7","Amount":12345678901234567890.10})");
  const Told told =
      get("/v1/dead-letters?columns=payment_id%3Dbody.PaymentId,amount%3Dbody.Amount");
  EXPECT_EQ(told.at("dead_letters.0.columns.payment_id"), "p7") << told;
  EXPECT_EQ(told.at("dead_letters.0.columns.amount"), "12345678901234567890.10");
}

TEST_F(DeadLetters, NdjsonGivesAllThatMatchALineEach) {
  for (int i = 0; i < 12; ++i) dead(R"("id":"m)" + std::to_string(i) + "\"");
  const Told told = get("/v1/dead-letters", {{"Accept", "application/x-ndjson"}});
  EXPECT_EQ(told.http.content_type, "application/x-ndjson");
  EXPECT_EQ(std::count(told.body().begin(), told.body().end(), '\n'), 12);
}

TEST_F(DeadLetters, NdjsonGivesNoMoreThanTheLimit) {
  for (int i = 0; i < 300; ++i) dead(R"("id":"m)" + std::to_string(i) + "\"");
  for (const int limit : {1, 250, 251, 300, 1000}) {
    const Told told = get("/v1/dead-letters?limit=" + std::to_string(limit),
                          {{"Accept", "application/x-ndjson"}});
    EXPECT_EQ(std::count(told.body().begin(), told.body().end(), '\n'), std::min(limit, 300));
  }
  const Told all = get("/v1/dead-letters", {{"Accept", "application/x-ndjson"}});
  EXPECT_EQ(std::count(all.body().begin(), all.body().end(), '\n'), 300);
}

TEST_F(DeadLetters, OneIsShownWithEverythingAndAnETag) {
  const std::string id =
      dead(R"("id":"a","payload":"hello","headers":[{"name":"tenant","value":"acme"}],)"
           R"("tags":["vip"],"metadata":{"n":1.50},"handler":"charge")");
  const Told told = get("/v1/dead-letters/" + id);
  EXPECT_EQ(told.status(), 200);
  EXPECT_EQ(told.at("message.payload"), "hello");
  EXPECT_EQ(told.at("message.headers.0.value"), "acme");
  EXPECT_EQ(told.at("failure.text"), "card expired");
  EXPECT_EQ(told.at("metadata.n"), "1.50");
  EXPECT_EQ(told.at("tags.0"), "vip");
  EXPECT_EQ(told.at("handler"), "charge");
  EXPECT_EQ(told.at("attempts.0.error_text"), "card expired");
  EXPECT_EQ(told.header("ETag"), "\"" + told.at("version") + "\"");
}

TEST_F(DeadLetters, OneThatIsNotThereIs404ByItsIdAndByItsTaskId) {
  EXPECT_EQ(get("/v1/dead-letters/" + std::string(32, '0')).status(), 404);
  EXPECT_EQ(get("/v1/dead-letters/abc").status(), 404);
}

TEST_F(DeadLetters, FormsAreThoseOfTheDocuments) {  // R14
  const std::string id = dead();
  EXPECT_EQ(get("/v1/dead-letters/" + id + "?form=booking").at("SourceQueue"), "payments");
  EXPECT_EQ(get("/v1/dead-letters?form=booking-document").at("dead_letters.0.source_queue"),
            "payments");
  EXPECT_EQ(get("/v1/dead-letters/" + id + "?form=nonsense").status(), 400);
}

TEST_F(DeadLetters, APayloadIsGivenByteForByteAndNeverAsSomethingABrowserRuns) {
  const std::string id = dead(R"("payload":"/wD+","payload_encoding":"base64",)"
                              R"("content_type":"text/html")");
  const Told told = get("/v1/dead-letters/" + id + "/payload");
  EXPECT_EQ(told.body(), std::string("\xff\x00\xfe", 3));
  EXPECT_EQ(told.http.content_type, "application/octet-stream");
  EXPECT_EQ(told.header("Dlo-Content-Type"), "text/html");
  EXPECT_EQ(get("/v1/dead-letters/" + dead(R"("id":"none")") + "/payload").at("code"),
            "no_payload");
}

TEST_F(DeadLetters, SuggestionsComeFromWhatIsThere) {
  dead();
  EXPECT_TRUE(get("/v1/suggestions?q=source%3Apay").says("payments"));
}

}  // namespace
}  // namespace dlo::api
