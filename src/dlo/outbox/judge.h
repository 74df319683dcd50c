#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/decide.h"
#include "dlo/engine/handler_table.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/suspects.h"
#include "dlo/engine/writer.h"
#include "dlo/outbox/row.h"
#include "dlo/store/office.h"

namespace dlo::outbox {

/// The rules that hold for a message; never null.
using RulesFor = std::function<std::shared_ptr<const RuleBook>(const Message&)>;

/// What is to be done with a row.
struct Judgement {
  enum class What : std::uint8_t {
    send,
    later,  // at `failures.due`
    dead,   // `record` first, then the row is marked
    known,  // the office has `record` already: the row is only marked
    drop,   // a legal loss: `changes` say so, then the row is marked
  };
  What what = What::send;
  Failures failures{};
  std::shared_ptr<DeadLetter> record{};
  std::vector<Attempt> attempts{};
  std::vector<Change> changes{};
  std::optional<Error> trouble{};  // the office could not be asked
};

/// As every source outside the office, but each message goes by rules of its own.
class RuledWriter final : public RecordWriter {
 public:
  RuledWriter(Office& office, RulesFor rules) : appending_(office), rules_(std::move(rules)) {}
  void use(RulesFor rules) { rules_ = std::move(rules); }

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
  [[nodiscard]] std::shared_ptr<const RuleBook> rules(const Delivery& delivery) override {
    return rules_(*delivery.message);
  }
  [[nodiscard]] bool is_office() const noexcept override { return false; }

 private:
  AppendingWriter appending_;
  RulesFor rules_;
};

/// Asks the engine's procedure about rows, as if they were deliveries. Decides nothing itself.
/// Belongs to one thread.
class Judge {
 public:
  /// `table` is for people.
  Judge(Office& office, const RulesFor& rules, Origin origin, std::string outbox,
        std::string table);

  void use(RulesFor rules) { writer_.use(std::move(rules)); }
  /// Before it is sent. Only a row that failed before is looked up in the office (R2): nothing else
  /// can have a record.
  [[nodiscard]] Judgement before(const Row& row, TimePoint now);
  /// It was sent at `started` and did not arrive.
  [[nodiscard]] Judgement after(const Row& row, const Error& error, TimePoint started,
                                TimePoint now);

 private:
  void take(Plan plan, const Row& row, const Delivery& delivery, TimePoint now, Judgement& into);

  const std::string outbox_;
  const std::string table_;
  RuledWriter writer_;
  Suspects suspects_;
  HandlerTable sender_;
  Procedure procedure_;
};

/// A publication that did not arrive, as a failure of its handler.
[[nodiscard]] Failure failure_of(const Error& error);

}  // namespace dlo::outbox
