#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/core/result.h"

namespace dlo {

enum class PoisonKind : std::uint8_t { orchestration, activity };

/// S3-37, S3-38. `activity` is filled for activities only.
struct PoisonItem {
  std::int64_t poison_id = 0;  // DeadLetter::number
  RecordId record;
  std::string instance_id;
  std::uint64_t execution_id = 0;
  std::optional<Activity> activity;
  std::uint32_t abandon_count = 0;
  std::optional<std::string> last_error;
  TimePoint poisoned_at{};
};

struct PoisonDetail {
  PoisonItem item;
  MessagePtr work_item;  // its payload is the input
  TimePoint original_created_at{};
};

/// In the book while somebody has to deal with it. An item that was sent back is in its queue again
/// and no longer here, until it poisons again (S3-35).
[[nodiscard]] inline bool is_poisoned(Status status) noexcept {
  return is_open(status) && status != Status::replaying && status != Status::replayed;
}

/// A page of the book: as many as there may be, it is never read whole.
struct PoisonQuery {
  PoisonKind kind = PoisonKind::orchestration;
  std::optional<std::string> instance;  // of this one only
  std::int64_t after = 0;               // the last poison id of the page before
  std::size_t limit = 1'000;
};

/// What the book shows of a record that has an owner.
[[nodiscard]] PoisonItem poison_item_of(const DeadLetter& record);

/// Items of a durable runtime that nobody will run again by itself, by kind. A view of the office's
/// records that have an owner and are open, whatever they died of: abandoned or lost too often, but
/// also expired, set aside by hand or reported, for their owner waits all the same. Taking one out
/// goes through Office::apply like everything else.
class PoisonBook {
 public:
  virtual ~PoisonBook() = default;
  /// By poison id, those above `query.after`.
  virtual Result<std::vector<PoisonItem>> list(const PoisonQuery& query) = 0;
  virtual Result<std::optional<PoisonDetail>> get(PoisonKind kind, std::int64_t poison_id) = 0;
  virtual Result<std::uint64_t> count(PoisonKind kind) = 0;
};

}  // namespace dlo
