#include <algorithm>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <vector>

#include "unit/api/asking.h"

#include "dlo/store/passing_office.h"

namespace dlo::api {
namespace {

/// Lets those who are about to write down a key go on together: each of them has seen that it is
/// new.
class MeetingOffice final : public PassingOffice {
 public:
  MeetingOffice(Office& inner, std::size_t number) : PassingOffice(inner), missing_(number) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (std::any_of(changes.begin(), changes.end(), keeps_a_key)) meet();
    return inner().apply(changes);
  }

 private:
  static bool keeps_a_key(const Change& change) {
    const auto* document = std::get_if<PutDocument>(&change);
    return document != nullptr && document->kind == "idempotency" && document->body;
  }
  void meet() {
    std::unique_lock lock(mutex_);
    if (missing_ > 0) --missing_;
    all_here_.notify_all();
    all_here_.wait_for(lock, std::chrono::seconds{30}, [this] { return missing_ == 0; });
  }

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::size_t missing_;
};

class IdempotencyRace : public Asking {
 protected:
  static constexpr std::size_t number = 6;

  void start() override {
    service_ = std::make_unique<Service>(meeting_, nullptr, clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  /// The same request on as many threads at once.
  std::vector<HttpResponse> together(const std::string& target, const std::string& body) {
    std::vector<std::shared_ptr<Asked>> all;
    for (std::size_t i = 0; i < number; ++i) {
      all.push_back(begin("POST", target, body,
                          {{"Content-Type", "application/json"}, {"Idempotency-Key", "the same"}}));
    }
    std::vector<HttpResponse> answers;
    for (const auto& each : all) answers.push_back(each->answer());
    return answers;
  }

  MeetingOffice meeting_{office_, number};
};

TEST_F(IdempotencyRace, ANoteIsWrittenOnceAndNobodyIsRefused) {
  const std::string id = dead();
  int written = 0;
  for (const HttpResponse& each :
       together("/v1/dead-letters/" + id + "/notes", R"({"text":"called ana"})")) {
    EXPECT_TRUE(each.status == 200 || each.status == 201) << each.status << each.body;
    written += each.status == 201 ? 1 : 0;
  }
  EXPECT_EQ(written, 1);
  EXPECT_EQ(get("/v1/dead-letters/" + id).at("notes.1"), "?");
}

TEST_F(IdempotencyRace, AnEditMakesOneVersionAndIsAnsweredAlike) {
  const std::string id = dead(R"("json":{"card":1})");
  const auto answers =
      together("/v1/dead-letters/" + id + "/edit", R"({"json":{"card":2},"reason":"typo"})");
  for (const HttpResponse& each : answers) {
    EXPECT_EQ(each.status, 201) << each.body;
    EXPECT_EQ(each.body, answers.front().body);
  }
  EXPECT_EQ(get("/v1/dead-letters/" + id + "/versions").at("newest"), "1");
}

TEST_F(IdempotencyRace, AnActIsDoneOnceAndIsAnsweredAlike) {
  const std::string id = dead();
  for (const HttpResponse& each :
       together("/v1/dead-letters/" + id + "/resolve", R"({"by":"ana"})")) {
    EXPECT_EQ(each.status, 200) << each.body;
  }
}

}  // namespace
}  // namespace dlo::api
