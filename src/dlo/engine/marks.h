#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/store/change.h"
#include "dlo/store/office.h"

namespace dlo {

/// Records are written with the mark `source_unsettled` (R3). Once their source has confirmed it is
/// taken off, with whatever is written next: nobody waits for it, so it costs no sync of its own. A
/// mark that stays longer only makes repeats merge.
/// Threads  `settled` from any thread; the others from whoever writes.
class Marks {
 public:
  struct Mark {
    RecordId id;
    std::uint32_t occurrence = 1;
    Status status = Status::pending;
    std::optional<std::uint64_t> version;  // empty: somebody else's hand may have been there
    std::uint32_t tries = 0;
  };

  explicit Marks(Office& office) : office_(office) {}

  /// The source of this record has confirmed.
  void settled(const Mark& mark);

  /// Adds to `out` what takes off at most `limit` marks. To be followed by `done` or `refused`.
  void put(std::size_t limit, TimePoint now, std::vector<Change>& out);
  /// What was put is durable.
  void done() { under_way_.clear(); }
  /// What was put was not written. `touched`: perhaps because somebody changed one of the records
  /// since, so all of them are looked up before they are put again.
  void refused(bool touched);

  [[nodiscard]] std::size_t size() const;

 private:
  bool look_up(Mark& mark);

  Office& office_;
  mutable std::mutex mutex_;
  std::vector<Mark> owed_;

  // Of whoever writes.
  std::vector<Mark> under_way_;
};

}  // namespace dlo
