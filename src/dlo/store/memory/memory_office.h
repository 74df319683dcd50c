#pragma once

#include <cstdint>
#include <memory>

#include "dlo/store/office.h"

namespace dlo {

/// An office in memory: complete, shared by threads, gone with its process. For tests, for
/// embedding where loss is acceptable, and as the plainest reading of the contract. The one promise
/// of `Office` it cannot keep is Durable, and its memory grows with what it holds.
class MemoryOffice final : public Office {
 public:
  MemoryOffice();
  /// `lease_epoch` is the first half of every lease token: tokens of another epoch are foreign.
  explicit MemoryOffice(std::uint64_t lease_epoch);
  ~MemoryOffice() override;
  MemoryOffice(const MemoryOffice&) = delete;
  MemoryOffice& operator=(const MemoryOffice&) = delete;

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;
  Result<RecordDetail> get(const RecordId& id) override;
  Result<Page> list(const Query& query) override;
  Result<Aggregate> aggregate(const AggregateRequest& request) override;
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override;
  Result<std::vector<ChangeNote>> changes_since(std::uint64_t after, std::size_t limit) override;
  OfficeExtras extras() noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlo
