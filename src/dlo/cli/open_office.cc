#include "dlo/cli/open_office.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "dlo/cli/config_file.h"
#include "dlo/store/sealed/key_book.h"
#include "dlo/store/sealed/sealed_office.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {

Result<std::vector<FieldPath>> parse_paths(const std::vector<std::string>& texts) {
  std::vector<FieldPath> paths;
  for (const std::string& text : texts) {
    auto path = FieldPath::parse(text);
    if (!path) return path.error();
    paths.push_back(std::move(*path));
  }
  return paths;
}

VaultSettings vault_settings(const Config& config) {
  return {config.text("vault.key_file"), config.places("vault.indexed"), config.places("masked")};
}

Result<VaultSettings> vault_settings(const Context& context) {
  const auto named = std::find_if(context.environment.begin(), context.environment.end(),
                                  [](const auto& each) { return each.first == "DLO_CONFIG"; });
  const auto reading =
      load_config(context, named == context.environment.end() ? "" : named->second);
  if (!reading) return reading.error();
  return vault_settings(reading->config);
}

Result<KeyRing> read_key_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    const int why = errno;
    return Error{Code::refused, "cli.key_file",
                 "Cannot read the key file '" + path + "': " + std::strerror(why) +
                     ". Nothing was opened. `vault.key_file` (DLO_VAULT_KEY_FILE) names it; "
                     "`dlo key create " +
                     path + "` makes one"};
  }
  auto ring = parse_key_file(text);
  if (ring) return ring;
  return Error{ring.error().code, ring.error().where, "'" + path + "': " + ring.error().detail};
}

Result<OpenedOffice> open_office(const std::string& directory, const SqliteOptions& options,
                                 const VaultSettings& settings, TimePoint now) {
  std::optional<KeyRing> ring;
  if (!settings.key_file.empty()) {
    auto keys = read_key_file(settings.key_file);
    if (!keys) return keys.error();
    ring = std::move(*keys);
  }
  auto indexed = parse_paths(settings.indexed);
  if (!indexed) return indexed.error();
  auto masked = parse_paths(settings.masked);
  if (!masked) return masked.error();
  SqliteOptions chosen = options;
  chosen.index_payloads = std::none_of(masked->begin(), masked->end(), [](const FieldPath& path) {
    return path.field == Field::body;
  });
  auto plain = SqliteOffice::open(directory, chosen);
  if (!plain) return plain.error();
  VaultRequest request;
  request.ring = ring ? &*ring : nullptr;
  request.may_write = !options.read_only;
  request.now = now;
  auto vault = open_vault(**plain, request);
  if (!vault) return vault.error();
  if (!*vault) return OpenedOffice{std::move(*plain), std::move(*masked), nullptr};
  auto shared = std::make_shared<const Vault>(std::move(**vault));
  return OpenedOffice{
      std::make_unique<SealedOffice>(std::move(*plain), shared, std::move(*indexed)),
      std::move(*masked), shared};
}

}  // namespace dlo::cli
