#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/sealed/sealing.h"

namespace dlo {

/// An office over another one, which sees sealed values only. As `Office` says, and:
/// Search   Payloads and headers are found by declared paths only; see `sealed_query`.
/// Damage   What does not open is an error that names record and key. A claim passes over such a
///          record and puts it before people as a dead letter: it must not stand in the way of the
///          others.
class SealedOffice final : public Office {
 public:
  SealedOffice(std::shared_ptr<Office> inner, std::shared_ptr<const Sealer> sealer,
               std::vector<FieldPath> indexed = {});
  ~SealedOffice() override;
  SealedOffice(const SealedOffice&) = delete;
  SealedOffice& operator=(const SealedOffice&) = delete;

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
  class Books;  // Ledger and PoisonBook
  Result<void> put_aside(const Claim& claim, const Error& why, TimePoint now);

  std::shared_ptr<Office> owned_;
  std::shared_ptr<const Sealer> owned_sealer_;
  Office& inner_;
  const Sealer& sealer_;
  const std::vector<FieldPath> indexed_;
  std::unique_ptr<Books> books_;
};

}  // namespace dlo
