#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/result.h"

namespace dlo {

/// A lease that somebody works under, and when it ends by the steady clock unless it is renewed.
struct HeldLease {
  LeaseToken token;
  TimePoint until{};
};

/// Only of messages that are in our hands may the office and their owners be told (R5): a lease
/// that is nearly over is extended before anything is written. Answers which are still ours;
/// whoever has lost his leaves no trace.
[[nodiscard]] Result<std::vector<bool>> hold_on(Broker& source, std::span<const HeldLease> leases,
                                                const Instant& now);

/// How long lapsed leases may stay in a table before somebody looks for them.
inline constexpr Millis between_looks_for_lapsed{10'000};

/// What was handed out, by the token of its lease, until somebody comes back with it.
/// `UntilOf{}(one)` says when the lease of one ends; all moments are the steady clock's.
/// Threads  Any method from any thread.
template <typename T, typename UntilOf>
class Held {
 public:
  void keep(const LeaseToken& token, T one) {
    const std::lock_guard lock(mutex_);
    held_.insert_or_assign(token, std::move(one));
  }

  /// Takes it out; nothing if it is not here, or its lease is over: somebody else has it or will.
  [[nodiscard]] std::optional<T> take(const LeaseToken& token, TimePoint now) {
    const std::lock_guard lock(mutex_);
    auto node = held_.extract(token);
    if (node.empty() || UntilOf{}(node.mapped()) <= now) return std::nullopt;
    return std::move(node.mapped());
  }

  /// Takes out all whose lease is not over.
  [[nodiscard]] std::vector<T> take_all(TimePoint now) {
    const std::lock_guard lock(mutex_);
    std::vector<T> taken;
    taken.reserve(held_.size());
    for (auto& [token, one] : held_) {
      if (UntilOf{}(one) > now) taken.push_back(std::move(one));
    }
    held_.clear();
    return taken;
  }

  /// False if it is not here.
  template <typename Change>
  bool change(const LeaseToken& token, Change change) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(token);
    if (found == held_.end()) return false;
    change(found->second);
    return true;
  }

  /// The source hands those whose lease ran out to others, under other tokens.
  void forget_lapsed(TimePoint now) {
    const std::lock_guard lock(mutex_);
    if (now < look_again_) return;
    look_again_ = now + between_looks_for_lapsed;
    std::erase_if(held_, [now](const auto& each) { return UntilOf{}(each.second) <= now; });
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<LeaseToken, T> held_;
  TimePoint look_again_{};
};

}  // namespace dlo
