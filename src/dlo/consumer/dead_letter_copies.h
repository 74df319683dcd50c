#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/consumer/dead_letter_copy.h"
#include "dlo/core/result.h"
#include "dlo/engine/events.h"
#include "dlo/store/office.h"

namespace dlo {

/// Publishes to a dead-letter queue, confirmed: what became of each; empty: it is there. An error
/// of the whole call means that nothing was sent.
using SendCopies =
    std::function<Result<std::vector<std::optional<Error>>>(std::span<const MessagePtr> copies)>;

/// Sends a copy of each death to the dead-letter queue of its consumer. The source is settled after
/// that (step 8), so a crash repeats the copy and loses none. What dies after it waited in the
/// office has no source left that could repeat it: `owed` says in the same list as the death that
/// its copy is still to be sent, and `sent` takes that back. Threads  Any method from any thread.
class DeadLetterCopies {
 public:
  /// Told of what is wrong when that begins, and with nothing when it ends.
  using Told = std::function<void(const std::optional<Error>&)>;
  DeadLetterCopies(SendCopies send, consumer::CopyForm form, std::string source, Told told = {});

  /// An answer each, in order.
  std::vector<Result<void>> send(std::span<const DeadLetter* const> records);

  [[nodiscard]] PutDocument owed(const RecordId& id) const;
  [[nodiscard]] PutDocument sent(const RecordId& id) const;
  /// Whose copies are owed, at most `limit`, beginning after `after`.
  [[nodiscard]] Result<std::vector<RecordId>> find_owed(Office& office, const std::string& after,
                                                        std::size_t limit) const;

  /// What is wrong with the queue; empty: nothing that is known.
  [[nodiscard]] std::string trouble() const;

 private:
  std::optional<Error> send(std::span<const DeadLetter* const> records, consumer::Telling telling,
                            std::vector<std::optional<Error>>& outcomes);
  void became(const std::optional<Error>& trouble);

  const SendCopies send_;
  const consumer::CopyForm form_;
  const std::string kind_;
  const Told told_;
  mutable std::mutex mutex_;
  std::string trouble_;
};

/// The copies of those that died at their source.
class CopyAtDeath final : public DeathListener {
 public:
  explicit CopyAtDeath(DeadLetterCopies& copies) : copies_(copies) {}
  Result<void> on_death(const DeadLetter& record, OwnerEffect effect) override;
  std::vector<Result<void>> on_deaths(std::span<const DeadLetter* const> records,
                                      OwnerEffect effect) override;

 private:
  DeadLetterCopies& copies_;
};

/// The copies of those that died after they had waited in the office.
class CopyOwed final : public DeathListener {
 public:
  CopyOwed(DeadLetterCopies& copies, Office& office) : copies_(copies), office_(office) {}
  Result<void> on_death(const DeadLetter& record, OwnerEffect effect) override;
  std::vector<Result<void>> on_deaths(std::span<const DeadLetter* const> records,
                                      OwnerEffect effect) override;

 private:
  DeadLetterCopies& copies_;
  Office& office_;
};

}  // namespace dlo
