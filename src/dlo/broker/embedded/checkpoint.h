#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlo/broker/embedded/holdings.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo::embedded {

/// Where reading back begins, and what was held there.
struct LoadedCheckpoint {
  JournalPosition position;
  std::uint64_t incarnation = 0;
  std::uint64_t size = 0;    // of the file
  std::uint64_t behind = 0;  // bytes behind its end, which nobody wrote
};

/// Everything but the slots and those who arrive, as of one moment.
struct HoldingsDescription {
  struct Ids {  // that a queue remembers
    std::uint16_t queue = 0;
    IdSnapshot snapshot;
  };
  std::string bytes;
  std::vector<Ids> ids;
};
[[nodiscard]] HoldingsDescription describe_holdings(Holdings& holdings,
                                                    const JournalPosition& position,
                                                    std::uint64_t incarnation);
/// False: there is none any more.
using FillBlock = std::function<bool(Slots::Copy&)>;

/// Writes a checkpoint beside the old one and puts it in its place. `next_block` fills in the next
/// block of slots. `arrivals` were written but not yet visible. Answers the size of the file.
[[nodiscard]] Result<std::uint64_t> write_checkpoint_file(FileSystem& files,
                                                          const HoldingsDescription& description,
                                                          const std::vector<SlotNumber>& arrivals,
                                                          const FillBlock& next_block);

/// The blocks of a snapshot, one after the other: whoever calls it holds the lock.
[[nodiscard]] bool copy_next(Slots& slots, std::size_t& next, Slots::Copy& into);

/// Of a damaged checkpoint: the queues with their settings, and the incarnation, if that part is
/// whole. What was in the queues is left out.
[[nodiscard]] std::optional<std::uint64_t> load_settings(FileSystem& files, Holdings& holdings);

/// Empty if there is none. One that is damaged is an error: what it replaces is gone.
[[nodiscard]] Result<std::optional<LoadedCheckpoint>> load_checkpoint(FileSystem& files,
                                                                      Holdings& holdings);

}  // namespace dlo::embedded
