#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dlo/core/id.h"
#include "dlo/core/message.h"
#include "dlo/core/states.h"

namespace dlo {

/// The record id of a message (R3): H(source, position) where positions are stable, else
/// H(source, message id, content hash), so that different bodies never merge.
[[nodiscard]] RecordId identify(const Message& message);

/// A message without position or id can only be told apart by its content.
[[nodiscard]] bool has_stable_identity(const Message& message) noexcept;

/// The occurrence a death belongs to: 1, or one more than the `dlo-replay` header carries when
/// `dlo-id` names the record.
struct Lineage {
  RecordId id;
  std::uint32_t replay = 0;  // which replay this message came from
};
[[nodiscard]] std::optional<Lineage> lineage_of(const Headers& headers) noexcept;
inline constexpr std::string_view lineage_id_header = "dlo-id";
inline constexpr std::string_view lineage_replay_header = "dlo-replay";
inline constexpr std::string_view attempts_header = "dlo-attempts";

/// What an append meets in the store.
struct Existing {
  std::uint32_t occurrence = 0;
  Status status = Status::pending;
};
enum class AppendEffect : std::uint8_t {
  insert,          // nothing there
  merge,           // a crash repeated this append: nothing changes
  new_occurrence,  // the same problem came back: reopen under the next occurrence
};
/// Pure rule behind idempotent append (R3). `occurrence` is the incoming one.
[[nodiscard]] AppendEffect append_effect(const std::optional<Existing>& existing,
                                         std::uint32_t occurrence) noexcept;

/// SHA-256 (FIPS 180-4). Ids, content hashes and the audit chain use it.
using Digest = std::array<std::uint8_t, 32>;
class Sha256 {
 public:
  void update(std::string_view bytes) noexcept;
  [[nodiscard]] Digest finish() noexcept;

 private:
  void block(const std::uint8_t* bytes) noexcept;
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};
[[nodiscard]] Digest sha256(std::string_view bytes) noexcept;
[[nodiscard]] std::string to_hex(const Digest& digest);

}  // namespace dlo
