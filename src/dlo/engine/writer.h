#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/decide.h"
#include "dlo/core/result.h"
#include "dlo/engine/content_claims.h"
#include "dlo/store/change.h"
#include "dlo/store/office.h"

namespace dlo {

/// What the office knows of a delivery that came from one of its records.
struct KnownRecord {
  RecordId id;
  std::uint32_t occurrence = 1;
  std::string metadata{};
};

/// How the end of a delivery reaches the office: as a new record, or, for a message that came from
/// the office, as a move of the record it has there already.
/// Threads  Any method from any thread.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;

  /// R2: the record the office has of this very delivery, if any.
  virtual Result<std::optional<DeadLetter>> find_repeat(const Delivery& delivery) = 0;

  /// Gives `record` its id and occurrence. Asks the office only where it must.
  virtual Result<void> name(const Delivery& delivery, DeadLetter& record) = 0;

  /// What to apply, so that the record is kept.
  virtual void write(const Delivery& delivery, const DeadLetterPtr& record,
                     std::vector<Attempt> attempts, TimePoint now, std::vector<Change>& out) = 0;

  /// The rules that decide about this delivery; null: those of the processor.
  [[nodiscard]] virtual std::shared_ptr<const RuleBook> rules(const Delivery& /*delivery*/) {
    return nullptr;
  }
  /// The record that this delivery is of, if it came from one.
  [[nodiscard]] virtual std::optional<KnownRecord> record_of(const Delivery& /*delivery*/) {
    return std::nullopt;
  }

  /// Somebody closed this record while it ran, so what came of these runs moves it no more. They
  /// are written down as far as possible: their starts are counted in it.
  virtual void overruled(const RecordId& /*id*/, std::vector<Attempt> /*attempts*/,
                         TimePoint /*now*/) {}

  /// Which records stand for which deliveries, where only their content tells; null: they are told
  /// apart otherwise.
  [[nodiscard]] virtual ContentClaims* claims() noexcept { return nullptr; }

  /// What was given back because a circuit was open may come. Must not block.
  virtual void circuit_closed() {}

  /// True if retries of this source wait in the office anyway.
  [[nodiscard]] virtual bool is_office() const noexcept = 0;
  /// False: its source hands out again at once or not at all, so what waits waits in the office
  /// (core/parking.h).
  [[nodiscard]] virtual bool source_keeps_waits() const noexcept { return true; }
};

/// For sources outside the office: deaths and waits are appended (R3).
class AppendingWriter final : public RecordWriter {
 public:
  /// Of several that share an office each is a `node`: what another has in hand is not ours to
  /// find by its content. Empty: it is the only one.
  explicit AppendingWriter(Office& office, std::string node = {})
      : office_(office), node_(std::move(node)) {}
  Result<std::optional<DeadLetter>> find_repeat(const Delivery& delivery) override;
  Result<void> name(const Delivery& delivery, DeadLetter& record) override;
  void write(const Delivery& delivery, const DeadLetterPtr& record, std::vector<Attempt> attempts,
             TimePoint now, std::vector<Change>& out) override;
  [[nodiscard]] ContentClaims* claims() noexcept override { return &claims_; }
  [[nodiscard]] bool is_office() const noexcept override { return false; }

 private:
  Result<std::optional<DeadLetter>> get(const RecordId& id);
  Result<std::optional<DeadLetter>> find_by_content(const Message& message);
  /// A record, and which of its occurrences the death of `message` is.
  struct Returned {
    DeadLetter record;
    std::uint32_t occurrence = 1;
  };
  /// What `message` is a replay of, if it is one.
  Result<std::optional<Returned>> find_sender(const Message& message);

  Office& office_;
  const std::string node_;
  ContentClaims claims_;
};

}  // namespace dlo
