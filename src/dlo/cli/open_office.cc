#include "dlo/cli/open_office.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <utility>

#include "dlo/cli/config_file.h"
#include "dlo/store/sealed/key_book.h"
#include "dlo/store/sealed/sealed_office.h"
#include "dlo/store/sqlite/sqlite_office.h"
#ifdef DLO_WITH_POSTGRES
#include "dlo/store/postgres/postgres_office.h"
#endif

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

OfficeSettings office_settings(const Config& config) {
  return {config.text("office"), config.text("vault.key_file"), config.places("vault.indexed"),
          config.places("masked")};
}

Result<OfficeSettings> office_settings(const Context& context) {
  const auto reading = usual_config(context);
  if (!reading) return reading.error();
  return office_settings(reading->config);
}

bool is_open_to_all(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && (found.st_mode & (S_IROTH | S_IWOTH)) != 0;
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

namespace {

/// What every kind of office can be told.
template <typename Options>
Options options_of(const Opening& opening, bool index_payloads) {
  Options options;
  options.read_only = opening.read_only;
  options.unsearched_payloads = opening.unsearched_payloads;
  options.index_payloads = index_payloads;
  return options;
}

Result<OpenedOffice> open_in_directory(const std::string& directory, const Opening& opening,
                                       bool index_payloads) {
  auto office = SqliteOffice::open(directory, options_of<SqliteOptions>(opening, index_payloads));
  if (!office) return office.error();
  return OpenedOffice{std::move(*office), "", {}, nullptr};
}

#ifdef DLO_WITH_POSTGRES
Result<OpenedOffice> open_in_database(const std::string& address, const Opening& opening,
                                      bool index_payloads) {
  auto options = options_of<PostgresOptions>(opening, index_payloads);
  if (opening.hints_as.empty()) options.serves_as = "dlo";
  options.hints_as = opening.hints_as;
  options.escorts = opening.escorts;
  auto office = PostgresOffice::open(address, options);
  if (!office) return office.error();
  std::string place = (*office)->place();
  return OpenedOffice{std::move(*office), std::move(place), {}, nullptr};
}
#else
Result<OpenedOffice> open_in_database(const std::string&, const Opening&, bool) {
  return Error{Code::refused, "cli.office",
               "This dlo was built without PostgreSQL (DLO_WITH_POSTGRES); `office` (DLO_OFFICE) "
               "names a database. Nothing was opened"};
}
#endif

}  // namespace

Result<void> require_directory(const OfficeSettings& settings, const std::string& doing) {
  if (settings.address.empty()) return {};
  return Error{Code::refused, "cli.office",
               doing +
                   " works on an office in a directory; yours is in a database (`office`, "
                   "DLO_OFFICE). Nothing was done"};
}

Result<OpenedOffice> open_office(const std::string& directory, const Opening& opening,
                                 const OfficeSettings& settings, TimePoint now) {
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
  const bool index_payloads =
      std::none_of(masked->begin(), masked->end(),
                   [](const FieldPath& path) { return path.field == Field::body; });
  auto opened = settings.address.empty()
                    ? open_in_directory(directory, opening, index_payloads)
                    : open_in_database(settings.address, opening, index_payloads);
  if (!opened) return opened;
  opened->masked = std::move(*masked);
  VaultRequest request;
  request.ring = ring ? &*ring : nullptr;
  request.may_write = !opening.read_only;
  request.now = now;
  auto vault = open_vault(*opened->office, request);
  if (!vault) return vault.error();
  if (!*vault) return opened;
  opened->vault = std::make_shared<const Vault>(std::move(**vault));
  opened->office =
      std::make_unique<SealedOffice>(std::move(opened->office), opened->vault, std::move(*indexed));
  return opened;
}

}  // namespace dlo::cli
