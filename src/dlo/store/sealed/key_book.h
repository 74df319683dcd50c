#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlo/store/office.h"
#include "dlo/vault/keys.h"
#include "dlo/vault/vault.h"

namespace dlo {

/// The data keys of an office lie in it as documents, each wrapped by a master key.
[[nodiscard]] Result<std::vector<WrappedKey>> read_data_keys(Office& office);

/// What to do about keys when an office is opened.
struct VaultRequest {
  const KeyRing* ring = nullptr;  // null: nobody named a key file
  bool may_write = true;          // else a plain office stays plain
  TimePoint now{};
  std::function<KeyDraw()> draw = draw_key;
};
/// The office's vault. Nothing: the office is plain and stays so. With a key file, a plain office
/// gets its first data key, audited: what comes from then on is sealed. refused: it has data keys
/// and the key file is missing, or lacks one of their master keys; the key is named.
[[nodiscard]] Result<std::optional<Vault>> open_vault(Office& office, const VaultRequest& request);

/// A data key more, which seals from now on. Answers its id.
[[nodiscard]] Result<KeyId> add_data_key(Office& office, const VaultRequest& request);

/// Data keys under older master keys come under the newest. Answers how many did.
[[nodiscard]] Result<std::size_t> rewrap_data_keys(Office& office, const VaultRequest& request);

}  // namespace dlo
