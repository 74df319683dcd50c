#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dlo/broker/embedded/queue_check.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/journal/file_system.h"

namespace dlo {

/// What a repair found, and what becomes of it. Told the same whether it is carried out or not.
struct QueueRepair {
  struct Message {
    std::string queue;  // empty: its bytes do not say
    std::string id;     // empty: likewise, or it has none
    std::string where;  // file and offset
  };
  std::vector<Damage> damages;   // empty: there is nothing to do
  std::vector<Message> lost;     // published here, and cannot be read
  std::vector<Message> damaged;  // still in their queue: handed out as undecodable
  /// May have been completed, or counted, in a record that is lost: delivered again. At most
  /// `listed` of them.
  std::vector<Message> doubtful;
  std::uint64_t doubtful_count = 0;
  std::uint64_t unknown_records = 0;      // lost, and nothing says what they were about
  std::vector<std::string> notes;         // names, settings, keys: what to look after
  std::vector<QueueCheck::Queue> queues;  // as they are afterwards
  std::vector<std::string> set_aside;     // files that were made; empty: nothing was changed
  static constexpr std::size_t listed = 10'000;
};

/// Works out what a damaged directory of queues amounts to. Carried out (`apply`): the damaged
/// bytes are copied into files of their own, nothing is deleted, a report is written beside them,
/// and a checkpoint is made from which the queues open and serve everything else. Messages whose
/// state is uncertain are delivered again. Repeating it is harmless. `files` are nobody else's
/// meanwhile if it is carried out.
[[nodiscard]] Result<QueueRepair> repair_queues(FileSystem& files, TimePoint now, bool apply);

/// For people: what was found, what is affected, what was done.
[[nodiscard]] std::string describe(const QueueRepair& repair, bool applied);

}  // namespace dlo
