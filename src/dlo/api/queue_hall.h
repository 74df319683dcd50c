#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dlo/api/queue_window.h"
#include "dlo/broker/own_queues.h"
#include "dlo/core/classify.h"
#include "dlo/core/profile_book.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/key_holds.h"
#include "dlo/server/worker_pool.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// All queues of the server: declared, or made with the usual settings by whoever sends to them
/// first, if that is allowed. Otherwise a misspelt name is refused, not made.
/// Threads: any method from any thread.
class QueueHall {
 public:
  struct Parts {
    OwnQueues& queues;
    Office& office;
    const Clock& clock;
    WorkerPool& pool;
    Origin origin;
    ProfileBook rules{};    // until `use` says otherwise
    RegexCompiler regex{};  // for their patterns
    bool made_by_sending = true;
  };
  /// Opens a window for every queue that was declared or is where queues are kept. What cannot be
  /// opened is in `troubles`.
  explicit QueueHall(const Parts& parts);
  ~QueueHall();
  QueueHall(const QueueHall&) = delete;
  QueueHall& operator=(const QueueHall&) = delete;

  struct Declared {
    std::shared_ptr<QueueWindow> window;
    bool made = false;  // it was not there before
  };
  /// Makes it, or gives it these settings from now on: refused (conflict) while messages are in
  /// workers' hands, who took them under the old ones. `audit` is written with the settings: its
  /// detail, by what that was if not by a declaration, becomes what they were and are. Claims count
  /// in it as its profile has it; that alone follows a profile that `use` changed only when the
  /// queue is declared again, or the server started.
  [[nodiscard]] Result<Declared> declare(const QueueSettings& settings, AddAudit audit);
  /// The queue of this name, made if it is new and may be. Writes to the office: not for threads
  /// that must not wait.
  [[nodiscard]] Result<std::shared_ptr<QueueWindow>> get_or_make(const std::string& name,
                                                                 AddAudit audit);
  [[nodiscard]] bool made_by_sending() const noexcept { return parts_.made_by_sending; }
  /// Runs `work` on a thread that may wait; false: too busy.
  [[nodiscard]] bool later(std::function<void()> work) { return parts_.pool.post(std::move(work)); }
  /// By which rules the messages of a queue are decided now.
  [[nodiscard]] Result<Profile> profile_of(const QueueSettings& settings) const;
  /// From now on these profiles decide in every queue. Refused, with nothing changed, if a queue
  /// goes by a profile that is not among them.
  [[nodiscard]] Result<void> use(const ProfileBook& rules);
  /// Queues that were declared elsewhere, by another server on this office, are made here too: a
  /// name means the same everywhere. Each server has its own messages of it. One whose messages are
  /// in workers' hands takes new settings over later.
  void follow();
  /// Null: nobody declared it.
  [[nodiscard]] std::shared_ptr<QueueWindow> find(const std::string& name) const;
  /// The same, with words for who asked.
  [[nodiscard]] Result<std::shared_ptr<QueueWindow>> get(const std::string& name) const;
  [[nodiscard]] std::vector<std::shared_ptr<QueueWindow>> all() const;
  [[nodiscard]] std::vector<std::string> names() const;

  /// The hold that an open dead letter puts on its key in one of these queues; empty: none.
  [[nodiscard]] std::optional<KeyHold> hold_by(const DeadLetter& record) const;

  [[nodiscard]] const std::vector<Error>& troubles() const noexcept { return troubles_; }

  /// Answers everybody who waits, and looks after nobody any more.
  void close();
  /// When nobody comes any more, before the queues are closed: what workers have goes back
  /// uncounted, since this server will not know their leases when it is back.
  void give_all_back();

 private:
  [[nodiscard]] Result<std::shared_ptr<const RuleBook>> rules_for(
      const QueueSettings& settings, const ProfileBook& profiles) const;
  [[nodiscard]] ProfileBook profiles() const;
  /// Under `declaring_`.
  [[nodiscard]] Result<Declared> declare_alone(const QueueSettings& settings, AddAudit audit);
  [[nodiscard]] Result<std::shared_ptr<QueueWindow>> open(const QueueSettings& settings,
                                                          bool exists);
  [[nodiscard]] bool follow_one(const QueueSettings& settings);
  void open_all();
  void look_after();
  /// Lets keys go whose dead letters have ended. Whether any queue holds keys.
  bool look_at_holds();

  const Parts parts_;
  std::vector<Error> troubles_;
  mutable std::mutex mutex_;
  ProfileBook profiles_;
  std::map<std::string, std::shared_ptr<QueueWindow>> windows_;
  std::vector<std::shared_ptr<QueueWindow>> former_;  // threads may still be finishing their work
  std::mutex declaring_;
  std::map<std::string, std::uint64_t> followed_;  // versions of documents; under `declaring_`

  std::mutex keeper_mutex_;
  std::condition_variable keeper_wake_;
  bool waiting_ = false;
  bool closed_ = false;
  KeyHolds holds_;  // of the keeper's thread
  std::thread keeper_;
};

}  // namespace dlo::api
