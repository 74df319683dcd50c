#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dlo/broker/embedded/holdings.h"
#include "dlo/core/result.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/inspection.h"
#include "dlo/journal/journal.h"

namespace dlo::embedded {

/// What became of a message whose record is still in the journal. The first six are there.
enum class Fate : std::uint8_t {
  unknown,  // what is damaged would tell
  ready,
  delayed,
  held,    // behind its key
  leased,  // when the files were written last
  dead,    // in the queue's own dead set
  completed,
  dead_lettered,  // the office has it
  expired,
  purged,
  relocated,  // the same message is further on
  gone,       // purged with many others, or what it ended by has been tidied away
};
[[nodiscard]] const char* name_of(Fate fate) noexcept;
[[nodiscard]] constexpr bool is_there(Fate fate) noexcept {
  return fate <= Fate::dead;
}

/// The fate of every message in a journal, found out by reading all of it once: what ends a message
/// names its slot alone, and slots are used again. 16 bytes for each message.
class MessageFates {
 public:
  [[nodiscard]] static Result<MessageFates> read(FileSystem& files);

  struct Found {
    Fate fate = Fate::unknown;
    std::string queue;  // where it is now, if it is there; empty: nobody knows
  };
  /// Of the message in the record with this sequence.
  [[nodiscard]] Found of(std::uint64_t sequence);

  /// Where messages lie that are held and that a walk does not come by, because damage in the same
  /// group hides where they begin. Known after a checkpoint only.
  [[nodiscard]] const std::vector<Address>& hidden() const noexcept { return hidden_; }

 private:
  struct Entry {
    std::uint64_t sequence = 0;
    SlotNumber slot = no_slot;
    Fate fate = Fate::unknown;
  };
  static bool before(const Entry& each, std::uint64_t sequence) noexcept {
    return each.sequence < sequence;
  }
  void note(const dlo::Entry& record);
  void put(SlotNumber slot, std::uint64_t sequence, Fate former);
  void end(SlotNumber slot, Fate fate);
  void conclude();
  void find_hidden(Inspection& journal);
  [[nodiscard]] Fate fate_in(SlotNumber slot) const noexcept;

  std::vector<Entry> entries_;  // by sequence
  std::unordered_map<SlotNumber, std::size_t> current_;
  std::unordered_set<SlotNumber> left_;  // by whoever held them, says a record that was not applied
  std::vector<Address> hidden_;
  Holdings holdings_;
  bool known_ = true;  // what is held could be worked out
};

}  // namespace dlo::embedded
