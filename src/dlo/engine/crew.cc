#include "dlo/engine/crew.h"

#include <utility>

namespace dlo {
namespace {

/// A handler that takes longer than this keeps nobody waiting behind it.
constexpr Millis stall{5};

}  // namespace

Crew::~Crew() {
  for (Member& member : members_) {
    if (member.thread.joinable()) member.thread.join();
  }
}

void Crew::hire() {
  auto slot = std::make_shared<Slot>();
  members_.push_back({std::thread([this, slot, lost = lost_] {
                        // Once let go, `this` may be gone too: only what was captured is touched.
                        std::vector<Item*> chunk;
                        while (true) {
                          chunk.clear();
                          const auto turn = scheduler_.take(chunk, workshop_.chunk_limit(),
                                                            options_.max_concurrency);
                          if (turn.closed) return;
                          if (!workshop_.run_chunk(*slot, chunk, turn.exclusive)) break;
                        }
                        lost->fetch_sub(1);
                      }),
                      slot});
}

void Crew::start() {
  const std::lock_guard lock(mutex_);
  hiring_ = true;
  while (members_.size() < options_.max_concurrency) hire();
}

std::size_t Crew::size() const {
  const std::lock_guard lock(mutex_);
  return members_.size();
}

void Crew::relieve(Slot& slot, const Slot::Glance& seen) {
  if (seen.rest > 0) scheduler_.put_back(slot.take_rest(seen.run));
  if (seen.done > 0) {
    std::vector<Item*> done;
    slot.take_done(done);
    settler_.push_completed(done);
  }
}

bool Crew::dismiss_if_stuck(Member& member, const Slot::Glance& seen, TimePoint now) {
  if (seen.cause != Slot::StopCause::timeout || now - seen.stopped_at < options_.stop_patience) {
    return false;
  }
  Item* item = member.slot->let_go(seen.run);
  if (item == nullptr) return false;
  lost_->fetch_add(1);
  member.thread.detach();
  relieve(*member.slot, member.slot->glance());
  if (events_ != nullptr) events_->handler_timed_out(*item->delivery.message, true);
  const Item* suspect = item->suspect ? item : nullptr;
  workshop_.timed_out(*item, seen.since.wall, seen.timeout);
  scheduler_.finished(member.slot->take_owed(), suspect);
  return true;
}

void Crew::tick(TimePoint now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [&](Member& member) {
    const Slot::Glance seen = member.slot->glance();
    if (seen.running == nullptr) return false;
    const Millis ran = now - seen.since.steady;
    if (seen.in_handler && ran >= stall) relieve(*member.slot, seen);
    if (seen.cause == Slot::StopCause::none) {
      if (seen.running->lost.load()) {
        member.slot->request_stop(seen.run, Slot::StopCause::lease, now);
      } else if (seen.timeout > Millis{0} && ran >= seen.timeout) {
        member.slot->request_stop(seen.run, Slot::StopCause::timeout, now);
      }
      return false;
    }
    return dismiss_if_stuck(member, seen, now);
  });
  if (!hiring_) return;
  while (members_.size() < options_.max_concurrency && lost() <= options_.max_lost_threads) hire();
  if (members_.empty()) {
    board_.down(StatusBoard::threads,
                {Code::unavailable, "engine.crew",
                 std::to_string(lost()) + " handlers ignore their timeout; restart the process, or "
                                          "make them look at their stop token"});
  } else {
    board_.up(StatusBoard::threads);
  }
}

void Crew::interrupt_waits(TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (Member& member : members_) {
    const Slot::Glance seen = member.slot->glance();
    if (seen.waiting) member.slot->request_stop(seen.run, Slot::StopCause::engine, now);
  }
}

void Crew::request_stop(TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (Member& member : members_) {
    member.slot->close();
    const Slot::Glance seen = member.slot->glance();
    relieve(*member.slot, seen);
    member.slot->request_stop(seen.run, Slot::StopCause::engine, now);
  }
}

std::size_t Crew::let_go_all(std::vector<Item*>& left) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [&](Member& member) {
    const Slot::Glance seen = member.slot->glance();
    Item* item = member.slot->let_go(seen.run);
    if (item == nullptr) return false;
    lost_->fetch_add(1);
    member.thread.detach();
    left.push_back(item);
    relieve(*member.slot, member.slot->glance());
    scheduler_.finished(member.slot->take_owed(), item->suspect ? item : nullptr);
    return true;
  });
  return left.size();
}

void Crew::join() {
  std::vector<Member> members;
  {
    const std::lock_guard lock(mutex_);
    // Whoever was hired from here on would find the work closed, go home, and be counted as one of
    // the crew when it starts again.
    hiring_ = false;
    members.swap(members_);
  }
  for (Member& member : members) member.thread.join();
}

}  // namespace dlo
