#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "dlo/core/suspect.h"
#include "dlo/engine/item.h"
#include "dlo/store/office.h"

namespace dlo {

/// Remembers, beyond the death of the process, which message had the process to itself (R7). The
/// note is a document in the office, written before such a run and removed when it ends or has
/// been alone for long enough. Finding one of another process means: it died while running alone.
/// An office without documents remembers nothing; the profile's own limits still end the matter.
/// Threads  Any method from any thread.
class Suspects {
 public:
  static constexpr const char* kind = "suspect";

  /// `boot` tells this process from all others, also from earlier ones of the same node.
  Suspects(Office& office, std::string boot) : office_(office), boot_(std::move(boot)) {}

  /// What the office says of a delivery whose last run was cut off.
  Result<Trust> trust(const Delivery& delivery);
  /// Durable when it returns.
  Result<void> mark(Item& item, TimePoint until);
  /// The run ended: its note, if it has one, is gone before anything else may start. Otherwise a
  /// neighbour that kills the process next would be blamed on this one.
  void end(Item& item);
  /// Removes notes whose time alone is over. To be called before the others are let in.
  void tick(TimePoint now);
  /// A stop that leaves messages running is no crash of theirs.
  void forget_all();
  /// Notes that are still to be removed.
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return notes_.size();
  }

 private:
  struct Note {
    const Item* item = nullptr;
    std::string key;
    TimePoint until{};
  };
  void remove(std::vector<Note> notes);

  Office& office_;
  const std::string boot_;
  mutable std::mutex mutex_;
  std::vector<Note> notes_;
};

}  // namespace dlo
