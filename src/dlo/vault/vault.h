#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/sealed.h"
#include "dlo/vault/keys.h"

namespace dlo {

/// The data keys of an office, unwrapped. A value, never changed: rotation makes another one.
/// Threads  Any method from any thread.
class Vault final : public Sealer {
 public:
  /// Fails as `unwrap` does; invalid_argument if there is no key at all.
  [[nodiscard]] static Result<Vault> open(const KeyRing& ring, std::span<const WrappedKey> keys);

  [[nodiscard]] Result<std::string> seal(std::string_view place,
                                         std::string_view plain) const override;
  [[nodiscard]] Result<std::string> open(std::string_view place,
                                         std::string_view bytes) const override;
  [[nodiscard]] std::vector<std::string> tokens(std::string_view path,
                                                std::string_view value) const override;

  /// The one that seals.
  [[nodiscard]] KeyId current() const noexcept { return keys_.front().id; }

 private:
  /// What is drawn from one data key: nothing is used for two purposes.
  struct DataKey {
    KeyId id;
    std::uint64_t serial;
    Secret cipher;
    Hmac nonce;
    Hmac index;
  };
  explicit Vault(std::vector<DataKey> keys) : keys_(std::move(keys)) {}
  static DataKey derived(const WrappedKey& key, const Secret& secret);

  std::vector<DataKey> keys_;  // newest first, never empty
};

}  // namespace dlo
