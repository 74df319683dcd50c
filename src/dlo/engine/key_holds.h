#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/store/office.h"

namespace dlo {

/// A source whose deaths hold their keys.
struct HoldingSource {
  std::string name;
  QueueAdmin& queue;
};

/// The one place that lets keys go (R10, ADR 0029): a key that a death holds is freed once no dead
/// letter of it is open, however they ended. The hold is the source's and the state the office's,
/// and nothing else is kept: so a kill loses nothing, and what one look missed the next one finds.
/// It asks whether a key is held before it asks the office: while a key is held nobody of it runs,
/// so nobody can die and hold it anew between that answer and the freeing. That needs that nobody
/// else frees keys of the same source.
/// Threads  One call at a time.
class KeyHolds {
 public:
  explicit KeyHolds(Office& office) noexcept : office_(office) {}

  /// Looks at what was closed since the last look and, if something changed or that is long ago, at
  /// a hundred keys of each source behind which somebody waits; others are seen to by the next
  /// look. `now` is of a steady clock. Answers the sources in which a key was let go; an error: the
  /// rest is seen to by the next look.
  [[nodiscard]] Result<std::set<std::string>> look(std::span<const HoldingSource> sources,
                                                   TimePoint now);

 private:
  [[nodiscard]] Result<bool> read_feed(std::span<const HoldingSource> sources);
  [[nodiscard]] Result<void> note_closed(std::span<const HoldingSource> sources,
                                         const std::vector<ChangeNote>& notes);
  [[nodiscard]] Result<void> note_waiting(const HoldingSource& source);
  enum class Done : std::uint8_t { was_free, is_held, let_go };
  [[nodiscard]] Result<Done> let_go(const HoldingSource& source, const std::string& key);

  Office& office_;
  std::optional<std::uint64_t> seen_;  // the office's change number
  bool changed_ = false;               // since the keys behind which somebody waits were looked at
  std::optional<TimePoint> look_at_all_;                // when next, though nothing changed
  std::map<std::string, std::size_t> skip_;             // where the look at a source goes on
  std::set<std::pair<std::string, std::string>> owed_;  // source and key that are to be looked at
};

}  // namespace dlo
