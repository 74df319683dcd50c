// What those who watch a server are told of its queues.
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

#include "support/eventually.h"
#include "support/fault_file_system.h"
#include "support/must.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"

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

}  // namespace
}  // namespace dlo::api
