#include "dlo/store/postgres/upkeep.h"

#include <exception>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include "dlo/store/postgres/payload_index.h"
#include "dlo/store/postgres/shelves.h"

namespace dlo::postgres {
namespace {

constexpr std::chrono::seconds shelves_every{30};
constexpr std::chrono::seconds after_failure{1};
// A crash may take back what it did last, and then it is done again: no disk and no standby is
// waited for. What others commit later never comes without it.
constexpr const char* without_waiting = "; SET synchronous_commit = off";

}  // namespace

Upkeep::Upkeep(const std::string& address, const std::string& settings, std::string schema)
    : schema_(std::move(schema)),
      link_(address, settings + without_waiting),
      thread_([this] { work(); }) {}

Upkeep::~Upkeep() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  thread_.join();
}

void Upkeep::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (news_) return;
    news_ = true;
  }
  woken_.notify_one();
}

bool Upkeep::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool Upkeep::wait(Left left) {
  std::unique_lock lock(mutex_);
  if (left == Left::nothing) {
    woken_.wait_until(lock, shelves_due_, [this] { return stopping_ || news_; });
  } else {
    woken_.wait_for(lock, after_failure, [this] { return stopping_; });
  }
  news_ = false;
  return !stopping_;
}

void Upkeep::work() {
  // It gives way to whoever waits for an answer; if the kernel refuses, it just does not.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
  for (Left left = Left::nothing; wait(left);) left = round();
}

Upkeep::Left Upkeep::round() {
  try {
    Left left = Left::nothing;
    follow_payloads(link_.use(), left);
    if (Clock::now() >= shelves_due_ && !is_stopping()) {
      (void)ShelfKeeper(link_.use(), schema_).keep();
      shelves_due_ = Clock::now() + shelves_every;
    }
    return left;
  } catch (const Failed&) {
    link_.drop();  // the server is away, or will not have it: the next round tries again
  } catch (const std::exception&) {  // a lack of memory passes too
    link_.drop();
  }
  return Left::all;
}

void Upkeep::follow_payloads(Connection& db, Left& left) {
  PayloadIndex index(db, schema_);
  for (;;) {
    const auto step = index.follow();
    if (step == PayloadIndex::Step::taken) left = Left::to_others;
    if (step != PayloadIndex::Step::more || is_stopping()) return;
  }
}

}  // namespace dlo::postgres
