// Targets beyond this server take some and refuse others.
#include "unit/jobs/replaying.h"

namespace dlo {
namespace {

class OutsideTest : public ReplayTest {
 protected:
  Result<Stepped> go_outside(const Job& job, TimePoint now = noon) {
    ReplayTargets all = targets();
    all.check = [](const std::string&) -> Result<void> { return {}; };
    all.send = [](const std::string&, std::span<const Publication>, TimePoint) -> Result<void> {
      return Error{Code::invalid_argument, "test", "it is elsewhere"};
    };
    all.outside.covers = [](const std::string& target) { return target == "payments"; };
    all.outside.send = [this](const std::string&, std::span<const Publication> messages,
                              TimePoint) -> Result<std::vector<std::optional<Error>>> {
      if (gone_) return *gone_;
      std::vector<std::optional<Error>> outcomes;
      for (const Publication& each : messages) {
        outcomes.push_back(refuses_[each.message->id]);
        if (!outcomes.back()) arrived_.push_back(each);
      }
      return outcomes;
    };
    return replay_step(office_, all, job, must(book_.progress(job.id)), 100, now,
                       stop_.get_token());
  }
  std::map<std::string, std::optional<Error>> refuses_;
  std::optional<Error> gone_;
};

TEST_F(OutsideTest, WhatIsRefusedStaysDeadAndTheRestIsSent) {
  die(0, 4, "payments");
  refuses_["1"] = Error{Code::not_found, "test", "no such queue"};
  const Job job = plan_replay();
  must(go_outside(job));
  EXPECT_EQ(arrived_ids(), (std::vector<std::string>{"0", "2", "3"}));
  EXPECT_EQ(status_of(0), Status::replayed);
  EXPECT_EQ(status_of(1), Status::pending);
  EXPECT_EQ(status_of(2), Status::replayed);
  EXPECT_EQ(must(office_.get(id_of(1))).record.counters.replay, 0U) << "it was not sent";
  EXPECT_EQ(counts(job).refused, 1U);
  EXPECT_EQ(must(book_.progress(job.id)).unreachable,
            (std::vector<Unreachable>{{"payments", "no such queue", 1}}));
}

TEST_F(OutsideTest, WhatIsInDoubtIsSentAgainUnderTheSameIdAndNothingElseIs) {
  die(0, 2, "payments");
  refuses_["1"] = Error{Code::timed_out, "test", "nobody confirmed"};
  const Job job = plan_replay();
  EXPECT_FALSE(go_outside(job));
  EXPECT_EQ(status_of(0), Status::replayed);
  EXPECT_EQ(status_of(1), Status::replaying)
      << "it may have arrived: never a dead letter meanwhile";
  EXPECT_EQ(must(book_.progress(job.id)).blocked, "nobody confirmed");
  refuses_.clear();
  must(go_outside(job));
  EXPECT_EQ(arrived_ids(), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(status_of(1), Status::replayed);
}

TEST_F(OutsideTest, ABrokerThatIsAwayHoldsTheJobUp) {
  die(0, 2, "payments");
  gone_ = Error{Code::unavailable, "test", "nobody answers"};
  const Job job = plan_replay();
  EXPECT_FALSE(go_outside(job));
  EXPECT_TRUE(arrived_.empty());
  gone_.reset();
  must(go_outside(job));
  EXPECT_EQ(arrived_.size(), 2U);
  EXPECT_EQ(counts(job).ok, 2U);
}

TEST_F(OutsideTest, APlanShowsStrippedHeadersByTheNamesTheyHave) {
  die(0, 1, "payments");
  const auto before = must(office_.get(id_of(0))).record;
  const Change edit = AddVersion{
      id_of(0), before.version, {{"X-First-Death-Queue", "q"}, {"tenant", "a"}}, "", noon, "ana",
      ""};
  must(office_.apply({&edit, 1}));
  ReplaySpec spec;
  spec.strip = {"x-first-death-*", "x-nothing-*", "x-none"};
  const JobPreview preview = must(book_.preview(plan_replay(spec)));
  EXPECT_EQ(preview.strip,
            (std::map<std::string, std::uint64_t>{{"X-First-Death-Queue", 1}, {"x-none", 0}}));
  must(go_outside(must(book_.get("j1"))));
  const Headers& sent = arrived_.at(0).message->headers;
  EXPECT_EQ(find_header(sent, "x-first-death-queue"), nullptr);
  EXPECT_NE(find_header(sent, "tenant"), nullptr);
}

}  // namespace
}  // namespace dlo
