#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dlo/core/decide.h"
#include "dlo/engine/handler_table.h"
#include "dlo/engine/item.h"
#include "dlo/engine/record.h"
#include "dlo/engine/suspects.h"
#include "dlo/engine/validator.h"
#include "dlo/engine/writer.h"
#include "dlo/store/change.h"

namespace dlo {

/// What is to be done with one delivery. Carried out in this order: `record` and `changes` durable
/// in the office, owner effect, `ending` at the source.
struct Plan {
  enum class Kind : std::uint8_t { complete, retry, wait, dead, repeat, drop, release, reject };
  Kind kind = Kind::complete;
  Ending ending = Completed{};
  std::shared_ptr<DeadLetter> record;  // dead, wait; of a repeat: what the office has
  bool named = false;                  // the record has its id
  std::vector<Attempt> attempts;
  std::vector<Change> changes;   // beside the record
  std::optional<RetryAt> again;  // retry, wait
  Decision decision;

  /// Nothing to write: straight to the source.
  [[nodiscard]] bool needs_office() const noexcept {
    return kind == Kind::dead || kind == Kind::wait || kind == Kind::repeat || !changes.empty();
  }
};

/// What the steps before the handler said.
struct RunIt {};
struct LookAgain {  // the office could not be asked
  Error error;
};
struct Postpone {  // its circuit is open
  TimePoint until;
};
using Prepared = std::variant<RunIt, Plan, LookAgain, Postpone>;

/// The decision procedure of DESIGN 3 for one delivery, step by step. Decides nothing itself: every
/// rule is asked of the rule book. Threads: any method from any thread, one item at a time.
class Procedure {
 public:
  Procedure(std::shared_ptr<const RuleBook> book, const HandlerTable& handlers,
            Validators validators, RecordWriter& writer, Suspects& suspects, Origin origin);

  /// Steps 2 and 3, after the look-up of repeats (R2). Sets `item.entry` if it is to be run.
  [[nodiscard]] Prepared prepare(Item& item, TimePoint now, std::uint64_t random) const;

  /// Steps 5 to 7: the attempt that began at `started` ended, and not well.
  [[nodiscard]] Plan after_failure(Item& item, Outcome outcome, TimePoint started, TimePoint now,
                                   std::uint64_t random, bool final = false) const;
  /// ... ended well.
  [[nodiscard]] Plan after_success(Item& item) const;

  /// The attempt ended, however, and somebody had closed its record meanwhile: no more than a row.
  void overruled(const Item& item, const RecordId& record, Outcome outcome, TimePoint started,
                 TimePoint now) const;

  /// A failure somebody else reports: decided and recorded as if it had happened here.
  /// `final`: whoever reports it has given up.
  [[nodiscard]] Plan after_report(Item& item, Failure failure, TimePoint now, std::uint64_t random,
                                  bool final = false) const;

  [[nodiscard]] const RuleBook& rules(const Item& item) const noexcept {
    return item.rules ? *item.rules : *rules_;
  }
  /// By which name the record of this delivery goes, if it has one.
  [[nodiscard]] std::optional<KnownRecord> record_of(const Item& item) const {
    return writer_.record_of(item.delivery);
  }
  [[nodiscard]] const Origin& origin() const noexcept { return origin_; }
  /// Whoever stands in line for it (BreakerGuard) is to come.
  void circuit_closed() const { writer_.circuit_closed(); }

 private:
  struct Death {
    Decision decision;
    Failure failure;
    std::optional<Attempt> last;
    bool quarantine = false;
  };
  [[nodiscard]] std::optional<Prepared> recall(Item& item) const;
  [[nodiscard]] std::optional<Prepared> check_before_run(Item& item, TimePoint now) const;
  [[nodiscard]] std::optional<Prepared> account_for_crash(Item& item, TimePoint now) const;
  [[nodiscard]] std::optional<Plan> validate(Item& item, TimePoint now, std::uint64_t random) const;
  [[nodiscard]] std::optional<Failure> check(Stage stage, const Delivery& delivery) const;
  [[nodiscard]] Plan plan(Item& item, Death death, TimePoint now) const;
  void plan_record(Plan& plan, Item& item, const Death& death, TimePoint now) const;
  void plan_retry(Plan& plan, Item& item, Death& death, const RetryAt& again, TimePoint now) const;
  void plan_drop(Plan& plan, const Item& item, const Drop& drop, TimePoint now) const;

  std::shared_ptr<const RuleBook> rules_;
  const HandlerTable& handlers_;
  Validators validators_;
  RecordWriter& writer_;
  Suspects& suspects_;
  Origin origin_;
};

}  // namespace dlo
