#include "dlo/cli/key.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "dlo/cli/open_office.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/store/sealed/key_book.h"
#include "dlo/store/sealed/rotation.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

constexpr std::string_view first_lines =
    "# Master keys of a Dead Letter Office: the last one encrypts, all of them decrypt.\n"
    "# Whoever has this file can read the office. Without it nobody can: keep a copy elsewhere.\n";

Error cannot_write(const std::string& path) {
  const int why = errno;
  return {Code::unavailable, "cli.key",
          "Cannot write the key file '" + path + "': " + std::strerror(why) + ". No key was made."};
}

/// Added at the end and synced, so that no key is used that a power cut could take away.
Result<void> append_to(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return cannot_write(path);
  const auto size = static_cast<ssize_t>(text.size());
  const bool written = ::write(file, text.data(), text.size()) == size && ::fsync(file) == 0;
  const Error failed = cannot_write(path);
  ::close(file);
  if (!written) return failed;
  return {};
}

/// Keys that lie beside what they encrypt protect nobody.
bool is_within(const std::string& file, const std::string& directory) {
  std::error_code ignored;
  const auto inside = std::filesystem::weakly_canonical(file, ignored);
  const auto whole = std::filesystem::weakly_canonical(directory, ignored);
  const auto relative = inside.lexically_relative(whole);
  return !relative.empty() && *relative.begin() != "..";
}

Result<std::unique_ptr<SqliteOffice>> open_plain(const Context& context, bool read_only) {
  const auto settings = office_settings(context);
  if (!settings) return settings.error();
  if (auto fine = require_directory(*settings, "`dlo key`"); !fine) return fine.error();
  SqliteOptions options;
  options.read_only = read_only;
  auto office = SqliteOffice::open(context.data, options);
  if (office || office.error().code != Code::not_found) return office;
  return Error{Code::not_found, "cli.key",
               "There is no office in '" + context.data + "'. Name the directory with --data DIR."};
}

Result<std::optional<KeyRing>> configured_ring(const Context& context) {
  const auto settings = office_settings(context);
  if (!settings) return settings.error();
  if (settings->key_file.empty()) return std::optional<KeyRing>{};
  auto ring = read_key_file(settings->key_file);
  if (!ring) return ring.error();
  return std::optional<KeyRing>(std::move(*ring));
}

/// The office remembers that it has to be compacted, whatever happens in between.
const PutDocument under_way{"key_rotation", "compact", "1", std::nullopt};

Result<void> rotate_keys(Context& context, const KeyArguments& arguments,
                         const VaultRequest& request) {
  const auto office = open_plain(context, false);
  if (!office) return office.error();
  if (auto vault = open_vault(**office, request); !vault) return vault.error();
  const auto moved = rewrap_data_keys(**office, request);
  if (!moved) return moved.error();
  const std::string newest = to_string(request.ring->keys.back().id);
  context.out << (*moved == 0 ? "All data keys are under key " + newest + ".\n"
                              : std::to_string(*moved) + " data keys are under key " + newest +
                                    " now. Older keys are needed no more for this office.\n");
  if (!arguments.data_key) return {};
  const auto added = add_data_key(**office, request);
  if (!added) return added.error();
  context.out << "Data key " << to_string(*added) << " encrypts from now on.\n";
  return {};
}

constexpr std::size_t slice = 200;

Result<void> encrypt_anew(Context& context, const VaultRequest& request,
                          const std::vector<FieldPath>& indexed) {
  std::uint64_t written = 0;
  bool was_under_way = false;
  {
    const auto office = open_plain(context, false);
    if (!office) return office.error();
    const auto vault = open_vault(**office, request);
    if (!vault) return vault.error();
    const auto known = (*office)->extras().ledger->document(under_way.kind, under_way.key);
    if (!known) return known.error();
    was_under_way = known->has_value();
    const Change mark = under_way;
    if (auto marked = (*office)->apply({&mark, 1}); !marked) return marked.error();
    std::uint64_t looked_at = 0;
    std::int64_t last = 0;
    for (;;) {
      const auto done = seal_anew(**office, **vault, indexed, last, slice);
      if (!done) return done.error();
      if (done->looked_at == 0) break;
      last = done->last;
      looked_at += done->looked_at;
      written += done->written;
      if (looked_at % (50 * slice) == 0) {
        context.err << looked_at << " dead letters looked at, " << written
                    << " encrypted anew. A kill costs nothing: the same command goes on.\n";
      }
    }
    context.out << looked_at << " dead letters looked at, " << written << " encrypted anew.\n";
  }
  if (written > 0 || was_under_way) {
    // What was there before would still lie in free pages.
    if (auto compacted = SqliteOffice::compact(context.data); !compacted) return compacted;
  }
  const auto office = open_plain(context, false);
  if (!office) return office.error();
  PutDocument over = under_way;
  over.body.reset();
  const Change end = over;
  if (auto ended = (*office)->apply({&end, 1}); !ended) return ended.error();
  return {};
}

void print_keys(Context& context, const std::vector<std::vector<std::string>>& rows) {
  if (!is_for_people(context)) {
    Rows lines(context, {"key", "kind", "under", "created", "state"});
    for (const auto& each : rows) lines.add(each);
    return lines.end();
  }
  Table table({{"KEY"}, {"KIND"}, {"UNDER"}, {"CREATED"}, {"STATE"}});
  for (const auto& each : rows) table.add(each);
  print(context, table);
}

}  // namespace

int key_create(Context& context, const KeyArguments& arguments) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(arguments.file, ignored);
  if (there) {
    if (auto ring = read_key_file(arguments.file); !ring) return refuse(context, ring.error());
  }
  const MasterKey key = master_key(draw_key());
  const std::string line = key_line(key);
  const auto done = append_to(arguments.file, there ? line : std::string(first_lines) + line);
  if (!done) return refuse(context, done.error());
  context.out << to_string(key.id) << "\n";
  context.err << "Key " << to_string(key.id) << " stands in '" << printable(arguments.file)
              << "' now. "
              << (there ? "Stop the server, run `dlo key rotate`, and start it again: then this "
                          "key is in use, and older ones can be taken out of the file."
                        : "Name the file as `vault.key_file` (DLO_VAULT_KEY_FILE); what comes from "
                          "then on is encrypted.")
              << " Keep a copy elsewhere: without it the data cannot be read by anybody.\n";
  if (is_within(arguments.file, context.data)) {
    context.err << "dlo: warning: the file lies in the data directory '" << context.data
                << "': whoever copies that has both. Move it elsewhere.\n";
  }
  return exit_ok;
}

int key_list(Context& context) {
  const auto ring = configured_ring(context);
  if (!ring) return refuse(context, ring.error());
  const auto office = open_plain(context, true);
  if (!office) return refuse(context, office.error());
  const auto keys = read_data_keys(**office);
  if (!keys) return refuse(context, keys.error());
  std::vector<std::vector<std::string>> rows;
  if (*ring) {
    for (const MasterKey& key : (*ring)->keys) {
      const bool newest = key.id == (*ring)->keys.back().id;
      rows.push_back({to_string(key.id), "master", "", "", newest ? "wraps" : "unwraps"});
    }
  }
  std::uint64_t last = 0;
  for (const WrappedKey& key : *keys) last = std::max(last, key.serial);
  for (const WrappedKey& key : *keys) {
    const bool known = *ring && (*ring)->find(key.master) != nullptr;
    rows.push_back({to_string(key.id), "data", to_string(key.master), when(context, key.created_at),
                    std::string(key.serial == last ? "seals" : "opens") +
                        (known ? "" : ", its master key is not in the key file")});
  }
  print_keys(context, rows);
  if (!keys->empty()) return exit_ok;
  context.err << "The office in '" << context.data << "' is not encrypted.\n";
  return exit_nothing_matched;
}

int key_rotate(Context& context, const KeyArguments& arguments) {
  const auto settings = office_settings(context);
  if (!settings) return refuse(context, settings.error());
  const auto ring = configured_ring(context);
  if (!ring) return refuse(context, ring.error());
  if (!*ring) {
    return refuse(context, {Code::invalid_argument, "cli.key",
                            "No key file is named. Say DLO_VAULT_KEY_FILE=FILE, or DLO_CONFIG=FILE "
                            "with vault.key_file in it."});
  }
  const auto indexed = parse_paths(settings->indexed);
  if (!indexed) return refuse(context, indexed.error());
  VaultRequest request;
  request.ring = &**ring;
  request.now = context.now;
  auto done = rotate_keys(context, arguments, request);
  if (!done) return refuse(context, done.error());
  done = encrypt_anew(context, request, *indexed);
  if (!done) return refuse(context, done.error());
  context.out << "Everything in '" << context.data << "' is encrypted with the newest data key.\n";
  return exit_ok;
}

}  // namespace dlo::cli
