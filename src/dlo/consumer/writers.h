#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/consumer/dead_letter_copies.h"
#include "dlo/consumer/line_events.h"
#include "dlo/engine/office_source.h"
#include "dlo/engine/writer.h"

namespace dlo::consumer {

/// For a broker that keeps nothing until later: what waits is a record in the office, what dies
/// too.
class SourceWriter final : public RecordWriter {
 public:
  SourceWriter(Office& office, std::string node, CurrentRules rules)
      : appending_(office, std::move(node)), rules_(std::move(rules)) {}

  Result<std::optional<DeadLetter>> find_repeat(const Delivery& delivery) override {
    return appending_.find_repeat(delivery);
  }
  Result<void> name(const Delivery& delivery, DeadLetter& record) override {
    return appending_.name(delivery, record);
  }
  void write(const Delivery& delivery, const DeadLetterPtr& record, std::vector<Attempt> attempts,
             TimePoint now, std::vector<Change>& out) override {
    appending_.write(delivery, record, std::move(attempts), now, out);
  }
  [[nodiscard]] std::shared_ptr<const RuleBook> rules(const Delivery& /*delivery*/) override {
    return rules_();
  }
  [[nodiscard]] ContentClaims* claims() noexcept override { return appending_.claims(); }
  [[nodiscard]] bool is_office() const noexcept override { return false; }
  [[nodiscard]] bool source_keeps_waits() const noexcept override { return false; }

 private:
  AppendingWriter appending_;
  const CurrentRules rules_;
};

/// For what waits in the office: as `OfficeSource` has it, and a death says in the same list that
/// its copy is owed.
class WaitingWriter final : public RecordWriter {
 public:
  /// `copies` null: nobody gets one.
  WaitingWriter(OfficeSource& source, const DeadLetterCopies* copies)
      : source_(source), copies_(copies) {}

  Result<std::optional<DeadLetter>> find_repeat(const Delivery& delivery) override {
    return source_.find_repeat(delivery);
  }
  Result<void> name(const Delivery& delivery, DeadLetter& record) override {
    return source_.name(delivery, record);
  }
  void write(const Delivery& delivery, const DeadLetterPtr& record, std::vector<Attempt> attempts,
             TimePoint now, std::vector<Change>& out) override {
    source_.write(delivery, record, std::move(attempts), now, out);
    if (copies_ != nullptr && !is_live(record->status)) out.emplace_back(copies_->owed(record->id));
  }
  [[nodiscard]] std::shared_ptr<const RuleBook> rules(const Delivery& delivery) override {
    return source_.rules(delivery);
  }
  [[nodiscard]] std::optional<KnownRecord> record_of(const Delivery& delivery) override {
    return source_.record_of(delivery);
  }
  void overruled(const RecordId& id, std::vector<Attempt> attempts, TimePoint now) override {
    source_.overruled(id, std::move(attempts), now);
  }
  void circuit_closed() override { source_.circuit_closed(); }
  [[nodiscard]] bool is_office() const noexcept override { return true; }

 private:
  OfficeSource& source_;
  const DeadLetterCopies* const copies_;
};

}  // namespace dlo::consumer
