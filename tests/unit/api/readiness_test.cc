#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unit/api/asking.h"

namespace dlo::api {
namespace {

/// An office whose disk can be full.
class NarrowOffice final : public Office {
 public:
  explicit NarrowOffice(Office& inside) : inside_(inside) {}
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (full) return Error{Code::full, "test", "no room is left on the disk"};
    return inside_.apply(changes);
  }
  Result<RecordDetail> get(const RecordId& id) override { return inside_.get(id); }
  Result<Page> list(const Query& query) override { return inside_.list(query); }
  Result<Aggregate> aggregate(const AggregateRequest& request) override {
    return inside_.aggregate(request);
  }
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const std::string& source) override {
    return inside_.claim(limit, now, lease_for, source);
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override {
    return inside_.renew(leases, now, lease_for);
  }
  Result<std::vector<ChangeNote>> changes_since(std::uint64_t after, std::size_t limit) override {
    return inside_.changes_since(after, limit);
  }
  OfficeExtras extras() noexcept override { return inside_.extras(); }

  std::atomic<bool> full = false;

 private:
  Office& inside_;
};

class ReadinessTest : public Asking {
 protected:
  void start() override {
    service_ = std::make_unique<Service>(narrow_, nullptr, clock_, options_);
  }
  void TearDown() override { service_.reset(); }
  int report() { return say("POST", "/v1/dead-letters", R"({"source":"a","error":"x"})").status(); }
  NarrowOffice narrow_{office_};
};

TEST_F(ReadinessTest, AServerWithoutRoomAsksForNoMoreUntilThereIsSome) {
  EXPECT_EQ(report(), 201);
  EXPECT_EQ(get("/readyz").status(), 200);
  narrow_.full = true;
  EXPECT_EQ(report(), 507);
  const Told full = get("/readyz");
  EXPECT_EQ(full.status(), 503) << full;
  EXPECT_EQ(full.at("status"), "full");
  EXPECT_EQ(get("/healthz").status(), 200) << "it lives, and a restart would not help";
  narrow_.full = false;
  EXPECT_EQ(get("/readyz").status(), 200) << "nobody reported since, and it knows all the same";
}

TEST_F(ReadinessTest, AKeyedReportTellsItToo) {
  narrow_.full = true;
  EXPECT_EQ(
      say("POST", "/v1/dead-letters", R"({"source":"a","error":"x"})", {{"Idempotency-Key", "k"}})
          .status(),
      507);
  EXPECT_EQ(get("/readyz").at("status"), "full");
}

}  // namespace
}  // namespace dlo::api
