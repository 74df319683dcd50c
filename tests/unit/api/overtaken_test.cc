// Whoever names no version is not refused because somebody else touched the thing meanwhile.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/api/asking.h"

#include "dlo/store/passing_office.h"

namespace dlo::api {
namespace {

/// Touches what is about to be changed, so often, as a duty of the server does.
class BusyOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (touches_ > 0 && !changes.empty()) touch(changes.front());
    return inner().apply(changes);
  }
  void touch_next(int times) { touches_ = times; }

 private:
  void touch(const Change& change) {
    --touches_;
    if (const auto* group = std::get_if<EditGroup>(&change)) {
      EditGroup other;
      other.fingerprint = group->fingerprint;
      other.ticket = "T-" + std::to_string(touches_);
      const Change touched = other;
      testing::must(inner().apply({&touched, 1}));
    }
    const auto* move = std::get_if<Transition>(&change);
    const auto* version = std::get_if<AddVersion>(&change);
    if (move == nullptr && version == nullptr) return;
    const RecordId id = move != nullptr ? move->id : version->id;
    const auto now = testing::must(inner().get(id));
    Transition same;
    same.id = id;
    same.expected_version = now.record.version;
    same.to = now.record.status;
    same.now = testing::noon;
    const Change touched = same;
    testing::must(inner().apply({&touched, 1}));
  }

  int touches_ = 0;
};

class OvertakenTest : public Asking {
 protected:
  void start() override { service_ = std::make_unique<Service>(busy_, nullptr, clock_, options_); }
  void TearDown() override { service_.reset(); }

  BusyOffice busy_{office_};
};

TEST_F(OvertakenTest, AnActIsNotRefusedBecauseSomebodyTouchedTheRecord) {
  for (const auto& [act, body] : std::vector<std::pair<std::string, std::string>>{
           {"resolve", R"({"by":"ana"})"},
           {"archive", "{}"},
           {"discard", "{}"},
           {"quarantine", "{}"},
           {"attempts", R"({"error":"still down"})"},
           {"edit", R"({"json":{"a":2},"reason":"typo"})"}}) {
    const std::string id = dead(R"("id":")" + act + R"(","json":{"a":1})");
    busy_.touch_next(3);
    const Told told = say("POST", "/v1/dead-letters/" + id + "/" + act, body);
    EXPECT_TRUE(told.status() == 200 || told.status() == 201) << act << told;
  }
  const std::string id = dead(R"("id":"tagged")");
  busy_.touch_next(3);
  EXPECT_EQ(say("PUT", "/v1/dead-letters/" + id + "/tags", R"({"tags":["vip"]})").status(), 200);
  const std::string group = get("/v1/dead-letters/" + id).at("group.id");
  busy_.touch_next(3);
  const Told owned = say("PATCH", "/v1/groups/" + group, R"({"owner":"ana"})");
  EXPECT_EQ(owned.status(), 200) << owned;
  EXPECT_EQ(owned.at("owner"), "ana") << owned;
  EXPECT_EQ(owned.at("ticket"), "T-0") << "what the others said stays: " << owned;
}

TEST_F(OvertakenTest, WhoeverNamesAVersionIsToldThatItIsOver) {
  const std::string id = dead();
  const Headers first{{"If-Match", get("/v1/dead-letters/" + id).header("ETag")}};
  busy_.touch_next(1);
  const Told told = say("POST", "/v1/dead-letters/" + id + "/archive", "{}", first);
  EXPECT_EQ(told.status(), 412) << told;
  EXPECT_EQ(get("/v1/dead-letters/" + id).at("status"), "pending");
}

TEST_F(OvertakenTest, NobodyTriesForEver) {
  const std::string id = dead();
  busy_.touch_next(1'000);
  const Told told = say("POST", "/v1/dead-letters/" + id + "/archive", "{}");
  EXPECT_EQ(told.status(), 409) << told;
}

}  // namespace
}  // namespace dlo::api
