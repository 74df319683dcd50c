#include "dlo/engine/item.h"

#include <algorithm>

namespace dlo {
namespace {

/// What a delivery weighs in memory, roughly: its body, its headers and the shell around them.
std::size_t weight(const Delivery& delivery) {
  const Message& message = *delivery.message;
  std::size_t bytes = 512 + (message.payload ? message.payload->size() : 0);
  for (const Header& header : message.headers) bytes += header.name.size() + header.value.size();
  return bytes + delivery.trail.size();
}

TimePoint half_way(TimePoint now, TimePoint until) {
  return now + std::max(Millis{0}, until - now) / 2;
}

}  // namespace

void ItemPool::adopt(std::vector<Delivery>&& deliveries, const Instant& now,
                     std::vector<Item*>& out) {
  const std::lock_guard lock(mutex_);
  std::size_t added = 0;
  for (Delivery& delivery : deliveries) {
    Item* item = nullptr;
    if (free_.empty()) {
      item = &items_.emplace_back();
    } else {
      item = free_.back();
      free_.pop_back();
    }
    item->bytes = weight(delivery);
    item->keyed = !delivery.message->key.empty();
    added += item->bytes;
    item->leased_until = delivery.steady_until;
    item->renew_at = half_way(now.steady, item->leased_until);
    item->delivery = std::move(delivery);
    item->serial = ++serial_;
    item->active = true;
    out.push_back(item);
  }
  size_ += deliveries.size();
  bytes_ += added;
  if (!deliveries.empty()) {
    const std::size_t mean = added / deliveries.size();
    usual_bytes_ = usual_bytes_ == 0 ? mean : (usual_bytes_ * 7 + mean) / 8;
  }
}

void ItemPool::finish(std::span<Item* const> items) {
  if (items.empty()) return;
  // Bodies are let go outside the lock: freeing them is the slow part.
  for (Item* item : items) {
    item->delivery.message.reset();
    item->delivery.undecodable.reset();
    item->rules.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    for (Item* item : items) {
      bytes_ -= item->bytes;
      item->active = false;
      item->entry = nullptr;
      item->started = false;
      item->refused = false;
      item->suspect = false;
      item->marked_exclusive = false;
      item->lost.store(false, std::memory_order_relaxed);
      free_.push_back(item);
    }
    size_ -= items.size();
    if (!full_ || !has_eased()) return;
    full_ = false;
  }
  bell_.ring();
}

bool ItemPool::has_eased() const noexcept {
  return size_ == 0 ||
         (size_ <= most_items_ - (most_items_ + 7) / 8 && bytes_ <= most_bytes_ - most_bytes_ / 8);
}

ItemPool::Room ItemPool::room() const {
  const std::lock_guard lock(mutex_);
  if (size_ == 0) {
    full_ = false;
    return {most_items_, std::max<std::size_t>(most_bytes_, 1)};
  }
  full_ = size_ >= most_items_ || bytes_ >= most_bytes_ || (full_ && !has_eased());
  if (full_) return {};
  return {most_items_ - size_, most_bytes_ - bytes_};
}

std::size_t ItemPool::usual_bytes() const {
  const std::lock_guard lock(mutex_);
  return usual_bytes_;
}

void ItemPool::due_for_renewal(TimePoint now, std::vector<Due>& out) {
  const std::lock_guard lock(mutex_);
  for (Item& item : items_) {
    if (!item.active || item.renew_at > now || item.lost.load(std::memory_order_relaxed)) continue;
    out.push_back({&item, item.serial, item.delivery.lease});
  }
}

void ItemPool::renewed(const Due& due, TimePoint now, TimePoint until) {
  const std::lock_guard lock(mutex_);
  if (due.item->serial != due.serial) return;
  due.item->leased_until = until;
  due.item->renew_at = half_way(now, until);
}

bool ItemPool::mark_lost(const Due& due) {
  const std::lock_guard lock(mutex_);
  if (due.item->serial != due.serial || !due.item->active) return false;
  return !due.item->lost.exchange(true);
}

void ItemPool::mark_lapsed(std::span<Item* const> items, TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (Item* item : items) {
    if (item->leased_until <= now) item->lost.store(true);
  }
}

bool ItemPool::still_ours(const Due& due, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  return due.item->serial != due.serial || now < due.item->leased_until;
}

std::size_t ItemPool::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

std::size_t ItemPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace dlo
