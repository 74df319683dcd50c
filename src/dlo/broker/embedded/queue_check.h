#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/inspection.h"

namespace dlo {

/// What `dlo queue fsck` found in a directory of queues.
struct QueueCheck {
  struct Queue {
    std::string name;
    std::uint64_t waiting = 0;  // ready, delayed, behind their key, or leased when it stopped
    std::uint64_t dead = 0;
    std::uint64_t unreadable = 0;  // of all these; handed out as undecodable
  };
  std::uint64_t segments = 0;
  std::uint64_t groups = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t verified = 0;            // messages whose state and body were read and are whole
  bool clean = false;                    // the last stop was in good order
  std::uint64_t unfinished = 0;          // bytes at the end that will be cut off,
  std::uint64_t unfinished_records = 0;  // and whole records in them
  bool checkpoint = false;
  std::vector<Queue> queues;
  std::vector<Damage> damages;
  std::vector<Damage> quarantined;  // found and set aside before: see repair_queues
};

/// Reads every byte, changes nothing. An error says that the files cannot be read at all.
[[nodiscard]] Result<QueueCheck> check_queues(FileSystem& files);

/// One record, for people.
struct DumpedRecord {
  std::uint64_t sequence = 0;
  std::string file;
  std::uint64_t offset = 0;
  std::string type;
  std::string queue;                       // empty: it is about none
  std::string text;                        // what it says
  std::shared_ptr<const Message> message;  // null: it carries none
  std::string state;                       // of its message: ready, completed, … (message_fates.h)
  bool there = false;                      // it is still in a queue, or may be
  bool in_damage = false;                  // it is whole, and its group is not
};

/// Every whole record of a journal of queues, in order, past any damage; then messages that are
/// whole and of whose place only a checkpoint knows. Those in the last bytes, which are not whole
/// and will be cut off, are `unfinished`. A message that was moved has the queue where it is now.
[[nodiscard]] Result<std::vector<Damage>> dump_queues(
    FileSystem& files, const std::function<void(const DumpedRecord&)>& each);

}  // namespace dlo
