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
namespace postgres {
class Escorts;
}
}  // namespace dlo

namespace dlo::cli {

/// What the configuration says about the office.
struct OfficeSettings {
  std::string address;               // of a database; empty: it is in the data directory
  std::string key_file;              // empty: none
  std::vector<std::string> indexed;  // declared paths
  std::vector<std::string> masked;
};
[[nodiscard]] OfficeSettings office_settings(const Config& config);
/// For verbs that read no configuration file of their own: DLO_CONFIG, DLO_OFFICE, DLO_VAULT_….
[[nodiscard]] Result<OfficeSettings> office_settings(const Context& context);

[[nodiscard]] Result<std::vector<FieldPath>> parse_paths(const std::vector<std::string>& texts);
[[nodiscard]] Result<KeyRing> read_key_file(const std::string& path);
/// Whether everybody on this machine may read or write a file that holds a secret.
[[nodiscard]] bool is_open_to_all(const std::string& path);

/// Who opens it, and for what.
struct Opening {
  bool read_only = false;
  std::vector<std::string> unsearched_payloads{};
  /// Not empty: a server that shares an office in a database with others, and hints to them under
  /// this name. Empty: whoever writes is alone with it.
  std::string hints_as{};
  std::shared_ptr<const postgres::Escorts>
      escorts{};  // what is committed with records, in a database
};
struct OpenedOffice {
  std::unique_ptr<Office> office;
  std::string place;  // of a database, for people; empty: it is in the directory
  std::vector<FieldPath> masked;
  std::shared_ptr<const Vault> vault;  // null: nothing is encrypted
};
/// The office at the address of the settings or else in `directory`, behind its vault if it has one
/// or is to get one. An encrypted office without its key is refused, and the key is named; so is
/// whoever wants to write while another program serves it.
[[nodiscard]] Result<OpenedOffice> open_office(const std::string& directory, const Opening& opening,
                                               const OfficeSettings& settings, TimePoint now);

/// For what can be done to files only: refused if the office is in a database.
[[nodiscard]] Result<void> require_directory(const OfficeSettings& settings,
                                             const std::string& doing);

}  // namespace dlo::cli
