#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlo/cli/context.h"
#include "dlo/store/field_path.h"
#include "dlo/store/office.h"
#include "dlo/vault/vault.h"

namespace dlo {
class Config;
struct SqliteOptions;
}  // namespace dlo

namespace dlo::cli {

/// What the configuration says about encryption.
struct VaultSettings {
  std::string key_file;              // empty: none
  std::vector<std::string> indexed;  // declared paths
  std::vector<std::string> masked;
};
[[nodiscard]] VaultSettings vault_settings(const Config& config);
/// For verbs that read no configuration file of their own: DLO_CONFIG and DLO_VAULT_….
[[nodiscard]] Result<VaultSettings> vault_settings(const Context& context);

[[nodiscard]] Result<std::vector<FieldPath>> parse_paths(const std::vector<std::string>& texts);
[[nodiscard]] Result<KeyRing> read_key_file(const std::string& path);

struct OpenedOffice {
  std::unique_ptr<Office> office;
  std::vector<FieldPath> masked;
  std::shared_ptr<const Vault> vault;  // null: nothing is encrypted
};
/// The office in `directory`, behind its vault if it has one or is to get one. An encrypted office
/// without its key is refused, and the key is named.
[[nodiscard]] Result<OpenedOffice> open_office(const std::string& directory,
                                               const SqliteOptions& options,
                                               const VaultSettings& settings, TimePoint now);

}  // namespace dlo::cli
