#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "dlo/engine/workshop.h"

namespace dlo {

/// The handler threads, and the eye on them. A thread that sits in a handler beyond its time is
/// told to stop; if it does not, it is let go and replaced, so that its neighbours go on. Others
/// waiting behind a slow handler in the same chunk are handed to other threads.
/// Threads  `tick` from one thread; the rest from any.
class Crew {
 public:
  Crew(Workshop& workshop, Scheduler& scheduler, Settler& settler, StatusBoard& board,
       EngineEvents* events, const ProcessorOptions& options)
      : workshop_(workshop),
        scheduler_(scheduler),
        settler_(settler),
        board_(board),
        events_(events),
        options_(options),
        lost_(std::make_shared<std::atomic<std::size_t>>(0)) {}
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void start();
  // `now` is the steady clock's: who sets the wall clock takes no time from a handler.
  /// Looks after every thread.
  void tick(TimePoint now);
  /// Ends waits between tries: what waits there is given back.
  void interrupt_waits(TimePoint now);
  /// Tells everything that still runs to stop.
  void request_stop(TimePoint now);
  /// Lets go whatever still sits in a handler; answers how many messages that leaves behind. They
  /// are not settled: their leases run out, and whoever takes them over knows they were cut off.
  std::size_t let_go_all(std::vector<Item*>& left);
  /// Waits for the others. The scheduler must be closed.
  void join();

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t lost() const noexcept { return lost_->load(); }

 private:
  struct Member {
    std::thread thread;
    std::shared_ptr<Slot> slot;
  };
  void hire();
  void relieve(Slot& slot, const Slot::Glance& seen);
  bool dismiss_if_stuck(Member& member, const Slot::Glance& seen, TimePoint now);

  Workshop& workshop_;
  Scheduler& scheduler_;
  Settler& settler_;
  StatusBoard& board_;
  EngineEvents* events_;
  const ProcessorOptions& options_;
  std::shared_ptr<std::atomic<std::size_t>> lost_;
  mutable std::mutex mutex_;
  std::vector<Member> members_;
  bool hiring_ = false;
};

}  // namespace dlo
