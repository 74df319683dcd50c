#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlo {

enum class ValueKind : std::uint8_t {
  text,
  flag,      // true or false
  count,     // a whole number
  size,      // bytes: 512, 64KB, 8MB, 1GB
  duration,  // 1500ms, 30s, 5m, 2h, 7d
  choice,    // one of `choices`
  address,   // HOST:PORT
  places,    // header.NAME and body.PATH: a list, or one text with commas
};
[[nodiscard]] std::string_view name_of(ValueKind kind) noexcept;

/// A name the documents gave to a setting (RULINGS R13). `dlq_max_size` stands at the top of a
/// file, `ServiceBusConnector.QueueName` in that section, and `MAHAVISHNU_DLQ_MAX_SIZE` in the
/// environment.
struct OldName {
  std::string_view name;
  std::string_view unit{};  // of a bare number: "s" for dlq_retry_interval_seconds
};

/// One setting. This table is all there is to know about it: the reader, the checks, `config show`
/// and docs/config.md are made of it.
struct ConfigKey {
  std::string_view path;  // "server.listen"; DLO_SERVER_LISTEN in the environment
  ValueKind kind = ValueKind::text;
  std::string_view otherwise;  // what holds if nobody says anything; empty: nothing does
  std::string_view about;
  std::uint64_t least = 0;  // of counts, sizes (bytes) and durations (milliseconds)
  std::uint64_t most = 0;
  std::vector<std::string_view> choices{};
  std::vector<OldName> old_names{};
  bool reloadable = false;     // taken over on SIGHUP
  bool secret = false;         // never shown
  std::string_view hint{};     // added to what is said about a wrong value
  std::string_view refused{};  // why this version cannot carry it out; empty: it can
};

[[nodiscard]] const std::vector<ConfigKey>& config_keys();

/// Position in the table; the size of the table if there is no such setting.
[[nodiscard]] std::size_t find_key(std::string_view path);

/// DLO_SERVER_LISTEN for server.listen.
[[nodiscard]] std::string variable_of(std::string_view path);

/// "1 to 64", "1s to 1h", "true, false": what a value may be. Empty: any text.
[[nodiscard]] std::string bounds_of(const ConfigKey& key);

/// The rows of docs/config.md, one per setting.
[[nodiscard]] std::string markdown_row(const ConfigKey& key);

}  // namespace dlo
