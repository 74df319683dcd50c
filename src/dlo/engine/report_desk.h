#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/decide.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/handler_table.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/suspects.h"
#include "dlo/engine/writer.h"
#include "dlo/store/office.h"

namespace dlo {

/// A failure that happened somewhere else.
struct Report {
  MessagePtr message;
  Failure failure;
  Counters counters;     // the attempt that failed included
  Id128 delivery;        // tells messages apart that have neither id nor position (R3)
  std::string handler;   // who failed; may be empty
  std::string metadata;  // JSON text, kept as given; may be empty
  std::vector<std::string> tags;
  bool final = false;          // whoever reports has given up: a retry is out of the question
  std::string by = "library";  // who tells of it, for the audit trail
};

/// What the core decided about one report.
struct Reported {
  Decision decision;               // with views into `rules`
  std::optional<RecordId> record;  // of a death or a wait, durable
  Effect effect = Effect::applied;
  std::shared_ptr<const RuleBook> rules;  // that decided
};

/// Where programs that run their messages themselves tell of failures: classified, decided and
/// recorded as if they had happened here, many with one write. Who reports holds the message, so
/// nothing is settled anywhere; a verdict other than a death or a wait leaves no record.
/// Threads  Any method from any thread.
class ReportDesk {
 public:
  ReportDesk(Office& office, std::shared_ptr<const RuleBook> rules, Origin origin,
             const Clock& clock);

  /// Adds what is to be written in the same list, knowing what was decided (effects not yet).
  using Also = std::function<void(const std::vector<Reported>&, std::vector<Change>&)>;

  /// What is decided of some reports, and what has to be written for it.
  struct Draft {
    std::vector<Reported> answers;  // effects not yet
    std::vector<Change> changes;
    std::vector<std::optional<std::size_t>> places;  // of each report's append among the changes
  };
  [[nodiscard]] Result<Draft> draw_up(std::vector<Report> reports, const Also& also = {});
  /// All or none. An error: nothing is kept.
  [[nodiscard]] Result<std::vector<Reported>> write(Draft draft);
  /// Both, together with what `also` adds.
  [[nodiscard]] Result<std::vector<Reported>> report(std::vector<Report> reports,
                                                     const Also& also = {});

  [[nodiscard]] const RuleBook& rules() const noexcept { return *rules_; }
  [[nodiscard]] std::shared_ptr<const RuleBook> shared_rules() const { return rules_; }

 private:
  [[nodiscard]] Result<Plan> decide(Report& report, TimePoint now);

  Office& office_;
  const std::shared_ptr<const RuleBook> rules_;
  const Clock& clock_;
  AppendingWriter writer_;
  Suspects suspects_;
  HandlerTable nobody_;
  Procedure procedure_;
};

}  // namespace dlo
