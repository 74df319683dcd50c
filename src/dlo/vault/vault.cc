#include "dlo/vault/vault.h"

#include <algorithm>

namespace dlo {
namespace {

constexpr const char* where = "vault.open";

std::string head_of(KeyId id) {
  std::string head(seal_mark);
  for (unsigned i = 0; i < 8; ++i) {
    head.push_back(static_cast<char>((id.value >> (56U - 8U * i)) & 0xFFU));
  }
  return head;
}

}  // namespace

Vault::DataKey Vault::derived(const WrappedKey& key, const Secret& secret) {
  const Hmac root(view_of(secret));
  return {key.id, key.serial, root.plain("dlo cipher"), Hmac(view_of(root.plain("dlo nonce"))),
          Hmac(view_of(root.plain("dlo index")))};
}

Result<Vault> Vault::open(const KeyRing& ring, std::span<const WrappedKey> keys) {
  if (keys.empty()) {
    return Error{Code::invalid_argument, where, "a vault needs a data key; it was given none"};
  }
  std::vector<DataKey> opened;
  for (const WrappedKey& key : keys) {
    const auto secret = unwrap(ring, key);
    if (!secret) return secret.error();
    opened.push_back(derived(key, *secret));
  }
  std::stable_sort(opened.begin(), opened.end(),
                   [](const DataKey& a, const DataKey& b) { return a.serial > b.serial; });
  return Vault(std::move(opened));
}

Result<std::string> Vault::seal(std::string_view place, std::string_view plain) const {
  const DataKey& key = keys_.front();
  const Digest nonce = key.nonce.of({place, plain});
  const std::string_view nonce_bytes = view_of(nonce).substr(0, seal_nonce_size);
  const auto bytes = encrypt(key.cipher, nonce_bytes, place, plain);
  if (!bytes) {
    return Error{Code::unavailable, "vault.seal",
                 "the " + std::string(place) +
                     " could not be encrypted: OpenSSL cannot be used, or memory ran out; nothing "
                     "was written"};
  }
  std::string sealed = head_of(key.id);
  sealed.reserve(plain.size() + seal_cost);
  sealed += nonce_bytes;
  sealed += *bytes;
  return sealed;
}

Result<std::string> Vault::open(std::string_view place, std::string_view bytes) const {
  if (!is_sealed(bytes)) return std::string(bytes);
  const KeyId id = key_of(bytes);
  const auto key =
      std::find_if(keys_.begin(), keys_.end(), [id](const DataKey& each) { return each.id == id; });
  if (key == keys_.end()) {
    return Error{Code::refused, where,
                 "The " + std::string(place) + " is encrypted with data key " + to_string(id) +
                     ", which this office does not have; nothing was changed. It was copied from "
                     "another office, or the office was restored from before the key was made: "
                     "restore the newer one."};
  }
  const std::string_view rest = bytes.substr(seal_mark.size() + 8);
  auto plain =
      decrypt(key->cipher, rest.substr(0, seal_nonce_size), place, rest.substr(seal_nonce_size));
  if (plain) return std::move(*plain);
  return Error{Code::corrupt, where,
               "The " + std::string(place) + " does not open with data key " + to_string(id) +
                   ": its bytes were changed or cut, or belong elsewhere. Nothing was changed; "
                   "restore a backup."};
}

std::vector<std::string> Vault::tokens(std::string_view path, std::string_view value) const {
  std::vector<std::string> all;
  all.reserve(keys_.size());
  for (const DataKey& key : keys_) {
    // 128 bits: two values share a token once in the life of no office.
    all.push_back(to_hex(key.index.of({path, value})).substr(0, 32));
  }
  return all;
}

}  // namespace dlo
