#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "dlo/store/office.h"

namespace dlo {

/// An office that remembers what is wrong with it: damage, a full disk, a file that cannot be
/// reached. Callers get the same answers; whoever looks after the program can ask, and is told when
/// it changes. What a write met is over once a write succeeds, a full disk once as much is written
/// as did not fit: less often finds room in what is there already. Damage is not over until the
/// office is opened anew.
/// Threads  As `Office`; `told` is called from the thread that met it, and must not call back.
class WatchedOffice final : public Office {
 public:
  /// Empty: it works again.
  using Told = std::function<void(const std::optional<Error>& trouble)>;
  /// References outlive it.
  explicit WatchedOffice(Office& inner, Told told = nullptr)
      : inner_(inner), told_(std::move(told)) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;
  Result<RecordDetail> get(const RecordId& id) override;
  Result<Page> list(const Query& query) override;
  Result<Aggregate> aggregate(const AggregateRequest& request) override;
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override;
  Result<std::vector<ChangeNote>> changes_since(std::uint64_t after, std::size_t limit) override;
  OfficeExtras extras() noexcept override { return inner_.extras(); }

  [[nodiscard]] std::optional<Error> trouble() const;
  /// Writes as much as shows whether what is wrong is over; nothing if all is well.
  void try_again();

 private:
  void met(const Error& error, std::size_t bytes = 0);
  void wrote(std::size_t bytes);
  template <typename T>
  Result<T> watched(Result<T> answer) {
    if (!answer) met(answer.error());
    return answer;
  }

  Office& inner_;
  const Told told_;
  mutable std::mutex mutex_;
  std::optional<Error> trouble_;
  std::size_t unfit_ = 0;  // about how much did not fit on a full disk
};

}  // namespace dlo
