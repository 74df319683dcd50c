// Reading a journal back.
#include <random>
#include <utility>

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/depot.h"
#include "dlo/broker/embedded/replay.h"
#include "dlo/journal/inspection.h"
#include "dlo/journal/says_damage.h"

namespace dlo::embedded {
// Whoever held a lease died with the last process: who had started was interrupted (R7), the
// others get their claim back.
Result<void> Depot::end_leases_of_last_life(TimePoint now) {
  std::vector<Lease*> leases;
  for (std::size_t i = 0; i < holdings_.leases().size(); ++i) {
    Lease& lease = holdings_.leases()[i];
    if (lease.slot == no_slot) continue;
    lease.until = now;
    const QueueState& queue = holdings_.queue_of(lease.slot);
    if (!lease.loaded && (lease.started || queue.options().claims_count)) {
      // Of a damaged one the body's place stays unknown: it is delivered as undecodable.
      if (const auto read = load_state(lease); !read) return read;
    }
    lease.loaded = true;
    if (lease.started) {
      lease.state.counters = with_start(lease.state.counters);
      if (!lease.state.first_attempt_at) lease.state.first_attempt_at = lease.started_at;
    }
    leases.push_back(&lease);
  }
  return end_leases(leases, Instant(now));
}

/// State and body's place of a lease that was read back, if its record is whole.
Result<void> Depot::load_state(Lease& lease) {
  const Address at = holdings_.address_of(lease.slot);
  const auto record = std::move(read_each({&at, 1}).front());
  if (!record) return says_damage(record.error()) ? Result<void>{} : record.error();
  if (holdings_.slots()[lease.slot].has_state) {
    auto state = decode_state(*record);
    if (!state) return {};
    lease.body = state->body;
    lease.state = std::move(state->state);
    if (holdings_.slots()[lease.slot].redriven) lease.state.begin_anew();
  } else {
    const auto stored = decode_published(*record);
    if (!stored) return {};
    lease.body = at;
    lease.state = carried_state(*stored);
  }
  if (lease.state.counters.fetch != UINT32_MAX) ++lease.state.counters.fetch;
  return {};
}

/// Without a checkpoint every segment is needed.
Result<void> Depot::check_files() {
  const auto gone = missing_segments(files_, 1, false);
  if (!gone) return gone.error();
  if (gone->empty()) return {};
  return Error{Code::corrupt, "embedded.open",
               files_.describe(segment_file(gone->front().first)) +
                   " is missing, and there is no checkpoint that would say what was in it. Nothing "
                   "was changed. Restore the missing file from a backup if there is one; or run "
                   "'dlo queue repair', which says what is affected and, with --yes, goes on with "
                   "the rest."};
}

Result<void> Depot::open(TimePoint now, RecoveryReport& report) {
  if (const auto done = read_back(now, report); !done) return done;
  if (const auto done = finish_moves(); !done) return done;
  if (options_.housekeeping) housekeeper_ = std::thread([this] { housekeep(); });
  return {};
}

Result<void> Depot::read_back(TimePoint now, RecoveryReport& report) {
  const Lock lock(mutex_);
  epoch_ = std::random_device{}();
  auto loaded = load_checkpoint(files_, holdings_);
  if (!loaded) return loaded.error();
  if (*loaded) {
    incarnation_ = (*loaded)->incarnation;
    checkpoint_size_ = (*loaded)->size;
  }
  if (!*loaded) {
    if (const auto whole = check_files(); !whole) return whole;
  }
  const auto from = *loaded ? std::optional((*loaded)->position) : std::nullopt;
  Replay replay(holdings_);
  auto options = options_.journal;
  if (!options.nonce) options.nonce = [] { return std::random_device{}(); };
  auto opened = Journal::open(
      files_, options, from, [&](const Entry& entry) { return replay.apply(entry); }, report);
  if (!opened) return opened.error();
  if (replay.incarnation != 0) incarnation_ = replay.incarnation;
  journal_ = std::move(*opened);
  segment_ = journal_->stats().active_segment;
  doorbells_.resize(holdings_.queue_count());
  oldest_.resize(holdings_.queue_count());
  if (const auto born = be_born(); !born) return born;
  clock_noted_ = holdings_.clock_set_by();
  holdings_.begin_work(now);
  if (holdings_.clock_set_by() != clock_noted_) note_clock();
  return end_leases_of_last_life(now);
}

}  // namespace dlo::embedded
