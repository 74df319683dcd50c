#pragma once

#include <optional>
#include <vector>

#include "dlo/engine/writer.h"

namespace dlo::collector {

/// Names what was collected, so that one message of a dead-letter queue is one record however often
/// it is handed out: as every source does (R3), and by the queue in which it failed. A message that
/// was sent to several consumers and failed at each is in one dead-letter queue several times,
/// under one id and with one content.
/// Threads  One.
class CollectingWriter final : public RecordWriter {
 public:
  explicit CollectingWriter(Office& office) : office_(office), appending_(office) {}

  Result<std::optional<DeadLetter>> find_repeat(const Delivery& delivery) override;
  Result<void> name(const Delivery& delivery, DeadLetter& record) override;
  void write(const Delivery& delivery, const DeadLetterPtr& record, std::vector<Attempt> attempts,
             TimePoint now, std::vector<Change>& out) override {
    appending_.write(delivery, record, std::move(attempts), now, out);
  }
  [[nodiscard]] bool is_office() const noexcept override { return false; }

  /// Which records stand for what is in hand, where only its content tells.
  [[nodiscard]] ContentClaims* claims() noexcept override { return appending_.claims(); }

 private:
  Result<std::optional<DeadLetter>> get(const RecordId& id);
  Result<std::optional<DeadLetter>> find_by_content(const Message& message);

  Office& office_;
  AppendingWriter appending_;
};

}  // namespace dlo::collector
