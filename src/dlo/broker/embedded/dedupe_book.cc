#include "dlo/broker/embedded/dedupe_book.h"

#include <algorithm>
#include <utility>

#include "dlo/broker/moments.h"

namespace dlo::embedded {
namespace {

constexpr std::size_t saved_size = 20;          // of an id
constexpr std::size_t ids_a_piece = 1U << 14U;  // some 300 KB
constexpr int freed_at_once = 2;                // an id leaves a seventieth of one behind

}  // namespace

/// What was there when work began outlives one more window.
TimePoint DedupeBook::kept_until(TimePoint at) const noexcept {
  const bool was_there = opened_ && at <= *opened_;
  return later(was_there ? *opened_ : at, window_);
}

std::optional<std::uint64_t> DedupeBook::find(const IdDigest& id, TimePoint now,
                                              Whose whose) const noexcept {
  const auto until = [&](TimePoint at) {
    return whose == Whose::replay ? kept_until(at) : later(at, window_);
  };
  for (std::size_t i = generations_.size(); i-- > 0;) {
    if (until(generations_[i].newest()) <= now) continue;
    const auto found = generations_[i].find(id);
    if (found && until(found->at) > now) return found->position;
  }
  return std::nullopt;
}

void DedupeBook::forget(TimePoint now) {
  while (!generations_.empty() && kept_until(generations_.front().newest()) <= now) {
    gone_.push_back(std::move(generations_.front()));
    generations_.pop_front();
  }
  for (int i = 0; i < freed_at_once && !gone_.empty(); ++i) {
    if (!gone_.front().dissolve()) gone_.pop_front();
  }
}

void DedupeBook::remember(const IdDigest& id, std::uint64_t position, TimePoint now) {
  forget(now);
  const Millis share{std::max(window_.count() / generations_a_window, Millis::rep{1})};
  if (generations_.empty() || !generations_.back().takes(position, now, share)) {
    generations_.emplace_back(now, position);
  }
  generations_.back().add({id, position, now});
}

std::size_t DedupeBook::bytes() const noexcept {
  std::size_t total = 0;
  for (const auto* each : {&generations_, &gone_}) {
    for (const IdGeneration& generation : *each) total += generation.bytes();
  }
  return total;
}

std::size_t DedupeBook::size() const noexcept {
  std::size_t total = 0;
  for (const IdGeneration& each : generations_) total += each.size();
  return total;
}

std::vector<IdSnapshot> DedupeBook::snapshots() const {
  std::vector<IdSnapshot> all;
  all.reserve(generations_.size());
  for (const IdGeneration& each : generations_) all.push_back(each.snapshot());
  return all;
}

void DedupeBook::save(const IdSnapshot& snapshot, std::size_t& part, ByteWriter& out) {
  const auto first = part;
  std::size_t count = 0;
  while (part < snapshot.parts.size() && count < ids_a_piece) count += snapshot.parts[part++].count;
  out.moment(snapshot.began);
  out.moment(snapshot.newest);
  out.u64(snapshot.first_position);
  out.number(count);
  for (std::size_t i = first; i < part; ++i) {
    for (std::uint32_t at = 0; at < snapshot.parts[i].count; ++at) {
      const RememberedId id = snapshot.parts[i].page->at(at);
      out.u32(static_cast<std::uint32_t>(id.id.high >> 32));
      out.u32(static_cast<std::uint32_t>(id.id.high));
      out.u32(id.id.low);
      out.u32(static_cast<std::uint32_t>(id.position - snapshot.first_position));
      out.u32(static_cast<std::uint32_t>((id.at - snapshot.began).count()));
    }
  }
}

bool DedupeBook::load(ByteReader& in) {
  const auto began = in.moment();
  (void)in.moment();  // the newest says so itself
  const auto first_position = in.u64();
  const auto count = in.number();
  if (!in.ok() || count > in.left() / saved_size) return false;
  std::vector<RememberedId> ids(count);
  for (RememberedId& each : ids) {
    each.id.high = std::uint64_t{in.u32()} << 32;
    each.id.high |= in.u32();
    each.id.low = in.u32();
    each.position = first_position + in.u32();
    each.at = began + Millis{in.u32()};
  }
  // Version 3 of the checkpoint had them in the order of their digests.
  std::sort(ids.begin(), ids.end(),
            [](const RememberedId& a, const RememberedId& b) { return a.position < b.position; });
  for (const RememberedId& each : ids) {
    const bool same = !generations_.empty() && generations_.back().began() == began;
    if (!same || !generations_.back().takes(each.position, each.at, Millis::max())) {
      generations_.emplace_back(began, first_position);
    }
    generations_.back().add(each);
  }
  return in.ok();
}

}  // namespace dlo::embedded
