#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "dlo/core/time.h"
#include "dlo/postgres/connection.h"

namespace dlo::postgres {

/// Numbers rise with arrival, so a range of them is a stretch of time.
struct ShelfRules {
  std::int64_t width = 10'000'000;                // numbers of one shelf
  Millis written_for = std::chrono::hours{24};    // so long a shelf is written to ...
  std::int64_t least = 10'000;                    // ... and until so many were given
  Millis cleared_after = std::chrono::hours{24};  // what removed records left
};

/// What one round did.
struct ShelfWork {
  std::int64_t made = 0;
  std::int64_t left = 0;  // the office went on to the next shelf before it was full
  std::int64_t dropped = 0;
  std::int64_t cleared = 0;  // records whose remains were deleted one by one
};

/// For the migration: the tables as they were become the first shelf, and there is one ahead.
void attach_first_shelf(Connection& db, const ShelfRules& rules);

/// Keeps bodies and attempts on shelves (docs/adr/0023). A removed record leaves its body and its
/// attempts where they are; nobody can ask for them any more. A shelf on which no record is left is
/// dropped with all that lies there; where one is left, what the others left is deleted one by one
/// after a day. Anybody may call this at any time, from several programs too: one at a time works,
/// the others pass. What others hold for longer than a moment is left for the next round.
class ShelfKeeper {
 public:
  ShelfKeeper(Connection& db, const std::string& schema, ShelfRules rules = {});
  /// Throws `Failed`.
  ShelfWork keep();

 private:
  struct Standing {
    std::int64_t number = 0;                  // the last that was given
    std::int64_t last = 0;                    // where the last shelf ends
    std::optional<std::int64_t> first, next;  // of the shelf for the next number
    bool is_opened = false;
    bool is_old = false;
  };
  /// In a transaction, if nobody else is at it and nothing stands in the way for long.
  bool in_turn(const std::function<void()>& body);
  /// `body` says whether it did something.
  void in_turn_counted(std::int64_t& count, const std::function<bool()>& body);
  [[nodiscard]] Standing standing();
  void lock_office();
  void note_opened(const Standing& at);
  void make_ahead(const Standing& at);
  void make_here();
  [[nodiscard]] bool is_due_to_leave(const Standing& at) const;
  void leave();
  void drop_empty();
  void drop(std::int64_t first);
  void clear();
  [[nodiscard]] bool clear_some(std::int64_t first, std::int64_t next, std::int64_t& after);

  Connection& db_;
  std::int64_t lock_;
  std::int64_t office_lock_;
  ShelfRules rules_;
  ShelfWork work_;
};

}  // namespace dlo::postgres
