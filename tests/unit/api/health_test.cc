// What those who watch a server are told of its queues.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "support/eventually.h"
#include "support/fault_file_system.h"
#include "support/must.h"
#include "unit/api/asking.h"
#include "unit/engine/faults.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/store/passing_office.h"

namespace dlo::api {
namespace {

using testing::eventually;
using testing::FaultFileSystem;
using testing::must;

class HealthTest : public Asking {
 protected:
  void start() override {
    EmbeddedOptions options;
    options.checkpoint_every = 4096;
    queues_ = must(EmbeddedQueues::open(disk_, clock_.now(), options));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  void fail(FaultFileSystem::Op failing, const std::string& prefix, Code code) {
    disk_.set_fault([=](FaultFileSystem::Op op, const std::string& name) {
      const bool fails = op == failing && name.starts_with(prefix);
      return fails ? std::optional(code) : std::nullopt;
    });
  }
  int send() {
    return ask("POST", "/v1/queues/orders/messages", std::string(1000, 'x'),
               {{"Content-Type", "text/plain"}})
        .status();
  }

  FaultFileSystem disk_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(HealthTest, QueuesThatTakeNothingMoreAreUnavailable) {
  say("PUT", "/v1/queues/orders", "{}");
  EXPECT_EQ(get("/readyz").at("status"), "ok");
  fail(FaultFileSystem::Op::sync, "", Code::unavailable);
  EXPECT_GE(send(), 500);
  disk_.set_fault({});  // it stays so until they are opened anew
  for (const char* path : {"/healthz", "/readyz"}) {
    const Told told = get(path);
    EXPECT_EQ(told.status(), 503) << path;
    EXPECT_EQ(told.at("status"), "queues unavailable");
  }
}

TEST_F(HealthTest, QueuesWhoseCheckpointsFailAreInTroubleAndWork) {
  say("PUT", "/v1/queues/orders", "{}");
  fail(FaultFileSystem::Op::open, "checkpoint", Code::full);
  ASSERT_TRUE(eventually([&] {
    EXPECT_LT(send(), 300);
    return get("/healthz").at("status") == "queues in trouble";
  }));
  EXPECT_EQ(get("/healthz").status(), 200);
  EXPECT_EQ(get("/readyz").status(), 200);
  disk_.set_fault({});
  EXPECT_TRUE(eventually([&] {
    EXPECT_LT(send(), 300);
    return get("/healthz").at("status") == "ok";
  }));
}

/// An office whose writes fail when told to.
class OfficeHealthTest : public Asking {
 protected:
  void start() override {
    options_.on_office_trouble = [this](const std::optional<Error>& trouble) {
      const std::lock_guard lock(mutex_);
      log_.push_back(trouble ? trouble->detail : "well");
    };
    service_ = std::make_unique<Service>(flaky_, nullptr, clock_, options_);
  }
  void TearDown() override { service_.reset(); }
  std::string health() { return get("/healthz").at("status"); }
  int report() {
    return say("POST", "/v1/dead-letters", R"({"source":"orders","error":"boom"})").status();
  }

  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::atomic<std::optional<Code>> fault_{std::nullopt};
  std::mutex mutex_;
  std::vector<std::string> log_;
  testing::FlakyOffice flaky_{office_, [this](std::span<const Change>) -> std::optional<Error> {
                                const auto met = fault_.load();
                                if (!met) return std::nullopt;
                                return Error{*met, "disk", "no luck with the disk"};
                              }};
};

TEST_F(OfficeHealthTest, AnOfficeThatCannotWriteIsInTroubleUntilItCan) {
  EXPECT_EQ(report(), 201);
  fault_ = Code::unavailable;
  EXPECT_GE(report(), 500);
  EXPECT_GE(report(), 500);
  EXPECT_EQ(health(), "office in trouble");
  EXPECT_EQ(get("/healthz").status(), 200) << "a restart would not help";
  EXPECT_EQ(get("/readyz").status(), 503);
  fault_ = std::nullopt;
  EXPECT_EQ(get("/readyz").at("status"), "ok") << "though nobody wrote";
  EXPECT_EQ(health(), "ok");
  EXPECT_EQ(log(), (std::vector<std::string>{"no luck with the disk", "well"})) << "once each";
}

TEST_F(OfficeHealthTest, WhatCannotBeWrittenIsToldWithTheCallersError) {  // S2-16, R2-10
  fault_ = Code::unavailable;
  const std::string task = R"({"source":"w","profile":"workflow+safe","error":"card expired"})";
  for (const Headers& headers : {Headers{}, Headers{{"Idempotency-Key", "k1"}}}) {
    const Told told = say("POST", "/v1/dead-letters", task, headers);
    EXPECT_EQ(told.status(), 503) << told;
    EXPECT_EQ(told.at("code"), "unavailable");
    EXPECT_EQ(told.at("error"), "card expired");
  }
  const Told lines =
      ask("POST", "/v1/dead-letters", task + "\n", {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(lines.status(), 207);
  EXPECT_TRUE(lines.says(R"("status":503,"code":"unavailable")")) << lines;
  EXPECT_TRUE(lines.says(R"("error":"card expired")")) << lines;
  fault_ = std::nullopt;
  EXPECT_EQ(get("/v1/stats").at("open"), "0") << "no phantom";
}

TEST_F(OfficeHealthTest, ABatchThatTheServerIsTooBusyForKeepsEveryCallersError) {  // S2-16
  EXPECT_EQ(report(), 201);
  service_->stop();  // no thread takes anything in
  const Told lines = ask("POST", "/v1/dead-letters",
                         "{\"source\":\"w\",\"error\":\"card expired\"}\n{\n"
                         "{\"source\":\"w\",\"failure\":{\"text\":\"no funds\"}}\n",
                         {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(lines.status(), 207) << lines;
  EXPECT_TRUE(lines.says(R"({"line":1,"status":503,"code":"unavailable")")) << lines;
  EXPECT_TRUE(lines.says(R"("error":"card expired")")) << lines;
  EXPECT_TRUE(lines.says(R"({"line":2,"status":400)")) << lines;
  EXPECT_TRUE(lines.says(R"("error":"no funds")")) << lines;
  const Told one =
      say("POST", "/v1/dead-letters", R"({"source":"w","failure":{"text":"no funds"}})");
  EXPECT_EQ(one.status(), 503) << one;
  EXPECT_EQ(one.at("error"), "no funds");
}

TEST_F(OfficeHealthTest, AServerWithoutRoomAsksForNoMoreUntilThereIsSome) {
  fault_ = Code::full;
  EXPECT_EQ(say("POST", "/v1/dead-letters", R"({"source":"orders","error":"boom"})",
                {{"Idempotency-Key", "k"}})
                .status(),
            503);
  EXPECT_EQ(get("/readyz").at("status"), "full");
  EXPECT_EQ(get("/healthz").status(), 200) << "it lives, and a restart would not help";
  fault_ = std::nullopt;
  EXPECT_EQ(get("/readyz").status(), 200) << "nobody reported since, and it knows all the same";
}

TEST_F(OfficeHealthTest, ADamagedOfficeStaysDamaged) {
  fault_ = Code::corrupt;
  EXPECT_GE(report(), 500);
  fault_ = std::nullopt;
  EXPECT_EQ(report(), 201);
  EXPECT_EQ(health(), "office damaged");
  EXPECT_EQ(get("/readyz").status(), 503);
}

TEST_F(OfficeHealthTest, DamageThatNobodyAskedForIsDamageToo) {  // its own threads have met it
  fault_ = Code::corrupt;
  EXPECT_EQ(health(), "office damaged");
  EXPECT_EQ(get("/healthz").status(), 503);
  EXPECT_EQ(log().size(), 1U) << "and is said once";
}

/// Its pages cannot be read any more.
class HurtOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<Aggregate> aggregate(const AggregateRequest&) override {
    return Error{Code::corrupt, "test", "a page is noise"};
  }
};

TEST_F(OfficeHealthTest, DamageThatIsMetByLookingIsCalledDamage) {
  HurtOffice hurt(office_);
  service_ = std::make_unique<Service>(hurt, nullptr, clock_, options_);
  EXPECT_EQ(health(), "office damaged");
  EXPECT_EQ(get("/readyz").at("status"), "office damaged");
  service_.reset();
}

TEST_F(OfficeHealthTest, WhatCallersDoWrongIsNoTrouble) {
  fault_ = Code::conflict;
  EXPECT_GE(report(), 400);
  EXPECT_EQ(health(), "ok");
}

}  // namespace
}  // namespace dlo::api
