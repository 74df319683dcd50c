#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/core/sealed.h"
#include "dlo/core/time.h"
#include "dlo/vault/cipher.h"

namespace dlo {

/// Random bytes for one key: its id, the key itself, and a nonce to wrap it with.
struct KeyDraw {
  std::array<std::uint8_t, 8> id{};
  Secret secret{};
  std::array<std::uint8_t, seal_nonce_size> nonce{};
};
/// From the operating system.
[[nodiscard]] KeyDraw draw_key();

/// Encrypts data keys and nothing else.
struct MasterKey {
  KeyId id;
  Secret secret{};
};

/// The keys of a key file, oldest first. The newest wraps, all of them unwrap.
struct KeyRing {
  std::vector<MasterKey> keys;
  [[nodiscard]] const MasterKey* find(KeyId id) const noexcept;
};

/// A key file: a line `ID BASE64` for each key, `#` begins a comment, empty lines are skipped.
/// Every problem names its line, never what stands in it.
[[nodiscard]] Result<KeyRing> parse_key_file(std::string_view text);
[[nodiscard]] MasterKey master_key(const KeyDraw& draw);
/// The line of a key file, with its end.
[[nodiscard]] std::string key_line(const MasterKey& key);

/// A data key as it lies in an office.
struct WrappedKey {
  KeyId id;
  KeyId master;              // who wrapped it
  std::uint64_t serial = 1;  // the highest one seals
  TimePoint created_at{};
  std::string bytes;  // nonce, ciphertext, tag
  bool operator==(const WrappedKey&) const = default;
};
[[nodiscard]] std::string to_text(const WrappedKey& key);
[[nodiscard]] std::optional<WrappedKey> parse_wrapped_key(std::string_view text);

/// A new data key under `master`.
[[nodiscard]] Result<WrappedKey> new_data_key(const MasterKey& master, std::uint64_t serial,
                                              TimePoint now, const KeyDraw& draw);
/// refused: its master key is not in the ring, with the id and what to do; corrupt: changed.
[[nodiscard]] Result<Secret> unwrap(const KeyRing& ring, const WrappedKey& key);
/// The same data key under the newest master key. Of `draw` only the nonce is used.
[[nodiscard]] Result<WrappedKey> rewrap(const KeyRing& ring, const WrappedKey& key,
                                        const KeyDraw& draw);

}  // namespace dlo
