#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/core/classify.h"
#include "dlo/core/decide.h"
#include "dlo/core/profile_book.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/report_desk.h"
#include "dlo/retries/dependencies.h"
#include "dlo/retries/fallback_shelf.h"
#include "dlo/retries/report_intake.h"
#include "dlo/retries/task_report.h"
#include "dlo/store/office.h"

namespace dlo {

/// Where programs hand failed tasks over (S2-16, S2-18): the profile named classifies and decides,
/// its strategy says what is wanted and its capacity how many; what is kept is durable before it is
/// answered, unless the profile has it in memory while the office cannot be written and the answer
/// says so; and whatever is not kept is told why.
/// Threads  Any method from any thread.
class TaskDesk {
 public:
  /// References outlive it.
  struct Parts {
    Office& office;
    const Clock& clock;
    Origin origin{};
    ProfileBook rules{};  // until `use` says otherwise
    RegexCompiler regex{};
    CustomBackoffs custom{};
    bool enabled = true;                            // false: nothing is taken in (S2-9)
    Dependencies* dependencies = nullptr;           // null: nothing can be waited for
    std::function<void(const std::string&)> log{};  // of what was in memory and is lost
    std::function<void()> shelved{};                // there is something for the shelf to settle
  };
  explicit TaskDesk(Parts parts);

  /// Adds what is to be written with a report that is kept, knowing the answer (its effect not
  /// yet).
  using Also = std::function<void(const TaskAnswer&, std::vector<Change>&)>;
  [[nodiscard]] TaskAnswer report(TaskReport report, const Also& also = {});

  /// One answer each. Those that go by the same rules share a write; if that is refused, each is
  /// written by itself.
  [[nodiscard]] std::vector<TaskAnswer> report_all(std::vector<TaskReport> reports);

  /// From now on these profiles decide.
  void use(const ProfileBook& rules);

  /// The schedules and templates that reports may name now; never null.
  [[nodiscard]] std::shared_ptr<const RetryNames> names();

  [[nodiscard]] ReportIntake& intake() noexcept { return intake_; }
  [[nodiscard]] FallbackShelf& shelf() noexcept { return shelf_; }

 private:
  using DeskPtr = std::shared_ptr<ReportDesk>;
  using Places = std::vector<std::size_t>;

  /// The desk for a profile whose reports are final or not; refuses an unknown profile.
  [[nodiscard]] Result<DeskPtr> desk(const TaskReport& report);
  [[nodiscard]] Result<DeskPtr> make_desk(Profile profile, const TaskReport& report);
  /// Where it goes; nowhere, and `answer` says why, if it is not let in.
  [[nodiscard]] DeskPtr admit(TaskReport& report, TaskAnswer& answer);
  void report_at(ReportDesk& desk, std::vector<TaskReport>& reports, const Places& places,
                 std::vector<TaskAnswer>& answers);
  /// The strategy has let it in; whether there is room is not yet known.
  void write_alone(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                   const Also& also);
  void write_waiting(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                     const Also& also);
  void write_one(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer, const Also& also);
  void told(TaskAnswer& answer, const TaskReport& report, Reported reported);
  /// It waits for others, and nobody has released it.
  [[nodiscard]] bool is_held(const RecordId& id) const;
  /// True: the office has this very failure already, and `answer` says as what. Writes nothing but
  /// what `also` adds.
  [[nodiscard]] bool is_repeat(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                               const Also& also);
  /// The office did not take it.
  void reject(TaskAnswer& answer, Error met);
  /// What the office could not take: kept in memory if the profile says so, else refused.
  void not_written(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                   const Error& met);
  [[nodiscard]] bool put_on_shelf(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer);
  /// Why nothing can be written under this profile now: others wait in memory, and come first.
  [[nodiscard]] std::optional<Error> in_the_way(const Profile& profile);

  Parts parts_;
  FallbackShelf shelf_;
  ReportIntake intake_;
  std::mutex mutex_;
  std::unordered_map<std::string, DeskPtr> desks_;
};

}  // namespace dlo
