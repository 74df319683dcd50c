#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/result.h"

namespace dlo {

/// Names a key without giving it away: 64 random bits, drawn with the key.
struct KeyId {
  std::uint64_t value = 0;
  auto operator<=>(const KeyId&) const = default;
};
[[nodiscard]] std::string to_string(KeyId id);  // 16 hex digits
[[nodiscard]] std::optional<KeyId> parse_key_id(std::string_view text) noexcept;

/// Sealed bytes begin with a mark and the id of their key, so that they say of themselves what they
/// are, wherever they are kept:
///   mark (8) │ key id (8, big endian) │ nonce (12) │ ciphertext │ tag (16)
/// Plain bytes cannot pass for sealed ones of a key they were written without: its id was not
/// known.
inline constexpr std::string_view seal_mark{
    "\x8D"
    "dlo-s1\0",
    8};
inline constexpr std::size_t seal_nonce_size = 12;
inline constexpr std::size_t seal_tag_size = 16;
/// How much longer sealed bytes are than what they hold.
inline constexpr std::size_t seal_cost = 8 + 8 + seal_nonce_size + seal_tag_size;

[[nodiscard]] constexpr bool is_sealed(std::string_view bytes) noexcept {
  return bytes.size() >= seal_cost && bytes.starts_with(seal_mark);
}
/// The size of what is inside, or of the bytes themselves.
[[nodiscard]] constexpr std::size_t unsealed_size(std::string_view bytes) noexcept {
  return is_sealed(bytes) ? bytes.size() - seal_cost : bytes.size();
}
/// `bytes` must be sealed.
[[nodiscard]] KeyId key_of(std::string_view bytes) noexcept;

/// Seals values and opens them again (vault/ does it with AES-256-GCM). What is sealed is bound to
/// its place: "payload of record X" does not open as anything else.
/// Threads  Any method from any thread.
class Sealer {
 public:
  virtual ~Sealer() = default;
  /// The same place and plain text give the same bytes under one key: an office compares them.
  [[nodiscard]] virtual Result<std::string> seal(std::string_view place,
                                                 std::string_view plain) const = 0;
  /// Plain bytes come back as they are. refused: the key is not here; corrupt: they were changed,
  /// cut, or belong to another place.
  [[nodiscard]] virtual Result<std::string> open(std::string_view place,
                                                 std::string_view bytes) const = 0;
  /// What a value is known by in an index of a declared path, one per key, the newest first: equal
  /// values give equal tokens and a token tells nobody without the key anything.
  [[nodiscard]] virtual std::vector<std::string> tokens(std::string_view path,
                                                        std::string_view value) const = 0;
};

/// The name of the one header that stands for all sealed ones.
inline constexpr std::string_view sealed_header = "dlo-sealed";
[[nodiscard]] bool is_sealed(const Headers& headers) noexcept;

/// Headers as bytes and back; nothing if the bytes are none.
[[nodiscard]] std::string pack_headers(const Headers& headers);
[[nodiscard]] std::optional<Headers> unpack_headers(std::string_view bytes);

/// `owner` says whose they are; what kind of thing they are is added here. Null payloads and empty
/// header lists stay as they are: there is nothing to hide.
[[nodiscard]] Result<Headers> seal_headers(const Sealer& sealer, std::string_view owner,
                                           const Headers& headers);
[[nodiscard]] Result<Headers> open_headers(const Sealer& sealer, std::string_view owner,
                                           const Headers& headers);
[[nodiscard]] std::string payload_place(std::string_view owner);
/// Payload and headers at once.
[[nodiscard]] Result<void> seal_body(const Sealer& sealer, std::string_view owner,
                                     Message& message);
[[nodiscard]] Result<void> open_body(const Sealer& sealer, std::string_view owner,
                                     Message& message);

}  // namespace dlo
