#include "dlo/store/sealed/key_book.h"

#include <algorithm>
#include <utility>

#include "dlo/store/sealed/sealing.h"

namespace dlo {
namespace {

constexpr const char* where = "vault.key_book";
constexpr std::size_t at_once = 500;
constexpr const char* first_key = "first_data_key";

Error no_key_file(const std::vector<WrappedKey>& keys) {
  const auto newest = std::max_element(
      keys.begin(), keys.end(),
      [](const WrappedKey& a, const WrappedKey& b) { return a.serial < b.serial; });
  return {Code::refused, where,
          "The office is encrypted under key " + to_string(newest->master) +
              ", and no key file was named; nothing was opened. Name the file that has this key: "
              "`vault.key_file` in the configuration, or DLO_VAULT_KEY_FILE"};
}

AddAudit audit_of(const char* act, const WrappedKey& key, TimePoint now) {
  return {now, "vault", act, to_string(key.id),
          R"({"master":")" + to_string(key.master) + R"(","serial":)" + std::to_string(key.serial) +
              "}"};
}

Result<void> put(Office& office, const WrappedKey& key, bool is_new, const char* act,
                 TimePoint now) {
  PutDocument document{std::string(data_key_kind), to_string(key.id), to_text(key), std::nullopt};
  if (is_new) document.expected_version = 0;
  std::vector<Change> changes{std::move(document), audit_of(act, key, now)};
  // Of several programs that open an empty office at once, one makes its first key.
  if (is_new && key.serial == 1) changes.emplace_back(PutDocument{first_key, first_key, "{}", 0});
  const auto done = office.apply(changes);
  if (!done) return done.error();
  return {};
}

}  // namespace

Result<std::vector<WrappedKey>> read_data_keys(Office& office) {
  std::vector<WrappedKey> keys;
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) return keys;
  std::string after;
  for (;;) {
    const auto documents = ledger->documents(std::string(data_key_kind), after, at_once);
    if (!documents) return documents.error();
    for (const Document& document : *documents) {
      auto key = parse_wrapped_key(document.body);
      if (!key) {
        return Error{Code::corrupt, where,
                     "The data key " + document.key +
                         " of the office is damaged and cannot be read; nothing was opened. "
                         "Restore the office from a backup"};
      }
      keys.push_back(std::move(*key));
    }
    if (documents->size() < at_once) return keys;
    after = documents->back().key;
  }
}

Result<std::optional<Vault>> open_vault(Office& office, const VaultRequest& request) {
  auto keys = read_data_keys(office);
  if (!keys) return keys.error();
  if (keys->empty()) {
    if (request.ring == nullptr || !request.may_write) return std::optional<Vault>{};
    const auto added = add_data_key(office, request);
    if (!added && added.error().code != Code::conflict) return added.error();
    keys = read_data_keys(office);
    if (!keys) return keys.error();
  }
  if (request.ring == nullptr) return no_key_file(*keys);
  auto vault = Vault::open(*request.ring, *keys);
  if (!vault) return vault.error();
  return std::optional<Vault>(std::move(*vault));
}

Result<KeyId> add_data_key(Office& office, const VaultRequest& request) {
  const auto keys = read_data_keys(office);
  if (!keys) return keys.error();
  std::uint64_t serial = 0;
  for (const WrappedKey& key : *keys) serial = std::max(serial, key.serial);
  const auto key = new_data_key(request.ring->keys.back(), serial + 1, request.now, request.draw());
  if (!key) return key.error();
  if (auto done = put(office, *key, true, "key.create", request.now); !done) return done.error();
  return key->id;
}

Result<std::size_t> rewrap_data_keys(Office& office, const VaultRequest& request) {
  const auto keys = read_data_keys(office);
  if (!keys) return keys.error();
  std::size_t moved = 0;
  for (const WrappedKey& key : *keys) {
    if (key.master == request.ring->keys.back().id) continue;
    const auto next = rewrap(*request.ring, key, request.draw());
    if (!next) return next.error();
    if (auto done = put(office, *next, false, "key.rewrap", request.now); !done) {
      return done.error();
    }
    ++moved;
  }
  return moved;
}

}  // namespace dlo
