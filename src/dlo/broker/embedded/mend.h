#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/replay.h"
#include "dlo/journal/inspection.h"

namespace dlo::embedded {

/// Carries out the records of a damaged journal. Until something is missing as Replay does; from
/// then on a record may name a message that is not known, or one that should be gone.
/// Doubt   Who was there when records went missing, and is not named again, may have been completed
///         since. It is kept and marked as a possible repeat: a message may be delivered twice,
///         but never lost because its state is unknown.
/// Proof   A slot that is used again was free: whoever held it was gone.
class Mend {
 public:
  Mend(Holdings& holdings, Inspection& journal) noexcept
      : holdings_(holdings), journal_(journal), replay_(holdings) {}

  /// Refused if a newer program wrote this.
  Result<void> apply(const Entry& entry);
  void lose(const LostRecords& lost);
  /// What was there before is not known at all: there is no checkpoint to begin from.
  void begin_in_doubt() noexcept { mending_ = true; }
  /// Doubtful ones are marked, and keys whose release may be lost are freed.
  void finish();

  struct LostMessage {
    std::uint64_t sequence = 0;
    Location location;
    std::string queue;  // as far as the damaged bytes can be read
    std::string id;
  };
  std::vector<LostMessage> lost_messages;
  std::uint64_t unknown_records = 0;  // missing, and nobody knows what they said
  std::vector<SlotNumber> doubtful;   // after `finish`
  std::vector<std::pair<std::string, std::string>> freed_keys;  // queue, and key if it is known
  std::vector<std::string> notes;
  std::uint64_t incarnation = 0;

 private:
  Result<void> mend(const Entry& entry);
  void mend_published(const Entry& entry);
  void mend_state(const Entry& entry);
  void mend_leases(const Entry& entry);
  void mend_removed(const Entry& entry);
  Result<void> mend_queue(const Entry& entry);
  void adopt(std::string_view record, const Address& at, SlotNumber slot);

  [[nodiscard]] bool known(SlotNumber slot) const noexcept {
    return slot < holdings_.slots().size() && holdings_.slots()[slot].place != Place::free;
  }
  void certain(SlotNumber slot);
  void doubt_all();
  void need_queue(std::uint16_t number);
  void detach(SlotNumber slot);
  [[nodiscard]] std::string name_of(const QueueState& queue, KeyDigest key);
  void lease_again(SlotNumber slot);
  void remove(SlotNumber slot, Why why, TimePoint now);
  [[nodiscard]] std::optional<std::string> read(const Address& at);
  [[nodiscard]] std::optional<Address> body_of(SlotNumber slot);
  [[nodiscard]] std::optional<std::uint64_t> position_of(const std::optional<Address>& body);

  Holdings& holdings_;
  Inspection& journal_;
  Replay replay_;
  bool mending_ = false;
  std::vector<bool> in_doubt_;
  std::set<std::uint16_t> dead_then_;  // queues that had a dead set
  std::set<std::pair<std::uint16_t, KeyDigest>> held_then_;
};

}  // namespace dlo::embedded
