#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/config/entity_section.h"
#include "dlo/config/keys.h"
#include "dlo/config/values.h"
#include "dlo/config/yaml.h"
#include "dlo/core/breaker.h"
#include "dlo/core/classify.h"
#include "dlo/core/profile_book.h"
#include "dlo/core/redirect.h"
#include "dlo/core/time.h"

namespace dlo {

/// Who said so.
struct ConfigOrigin {
  enum class Kind : std::uint8_t { otherwise, file, environment };
  Kind kind = Kind::otherwise;
  std::size_t line = 0;  // of the file
  std::string name;      // the variable, or the old name under which it stands in the file
  bool operator==(const ConfigOrigin&) const = default;
};

/// Who runs retries, as configured.
struct ExecutorSettings {
  std::string name;
  std::string kind;                 // http, command, queue
  std::string target;               // a URL, a command line, a queue
  std::optional<Millis> timeout{};  // instead of workflow.timeout
  std::uint32_t at_once = 0;        // runs at the same time; 0: as many as workflow.at_once
  BreakerPolicy circuit{};
  bool envelope = false;      // it gets tasks together with their targets and metadata
  std::string secret_file{};  // to sign with: one secret a line, so that they can be rotated
  bool operator==(const ExecutorSettings&) const = default;
};

/// A dead-letter queue that is drained into the office, as configured.
struct CollectorSettings {
  std::string name;
  std::string queue;
  std::string source{};  // of what it finds; its name, unless somebody says otherwise
  std::string origin{};  // where all of it failed; empty: as its headers tell
  std::string profile{default_profile_name};
  bool operator==(const CollectorSettings&) const = default;
};
[[nodiscard]] std::string describe(const CollectorSettings& collector);

/// An outbox table whose rows are sent, as configured.
struct OutboxSettings {
  std::string name;
  std::string address{};  // of its database, maybe with a password; empty: that of the office
  std::string shape = "own";
  std::string table{};                                         // empty: as its shape has it
  std::vector<std::pair<std::string, std::string>> columns{};  // role and column
  std::string to{};
  std::string profile = "booking-outbox+safe";
  std::uint64_t batch = 500;
  Millis poll{1'000};
  bool operator==(const OutboxSettings&) const = default;
};
[[nodiscard]] std::string describe(const OutboxSettings& outbox);

/// A queue of another broker whose messages are handled here, as configured under `sources`.
struct ConsumerSettings {
  std::string source;
  std::string queue{};
  ExecutorSettings handler{};  // http or command
  std::string profile{default_profile_name};
  std::string event_type{};         // of messages that name none
  std::string dead_letter_queue{};  // gets a copy of what dies; empty: the office alone has it
  std::uint32_t prefetch = 256;
  bool json = false;                    // anything else is malformed
  std::vector<std::string> required{};  // places in the payload where something must stand
  InnerPipeline inner{};                // tries within one attempt (S1-17)
  bool drops_invalid = false;           // what is malformed is gone, counted and audited
  std::vector<std::string>
      log_done{};  // places in the payload that the log shows of what went well
  bool operator==(const ConsumerSettings&) const = default;
};
[[nodiscard]] std::string describe(const ConsumerSettings& consumer);

/// Every setting with its value and where it came from. A value: two can be compared.
class Config {
 public:
  Config();  // all defaults

  // `path` must be in the table.
  [[nodiscard]] const std::string& text(std::string_view path) const;
  [[nodiscard]] std::uint64_t count(std::string_view path) const;
  [[nodiscard]] bool flag(std::string_view path) const;
  [[nodiscard]] Millis duration(std::string_view path) const;
  [[nodiscard]] std::vector<std::string> places(std::string_view path) const;
  [[nodiscard]] const ConfigOrigin& origin(std::string_view path) const;

  void set(std::size_t key, ConfigValue value, ConfigOrigin origin);

  /// Profiles and overrides as configured; the settings above that concern them are worked in.
  ProfileBook rules;
  std::vector<ExecutorSettings> executors;
  std::vector<CollectorSettings> collectors;
  std::vector<EntitySettings> entities = built_in_entities();
  std::vector<OutboxSettings> outboxes;
  std::vector<ConsumerSettings> consumers;
  std::vector<RedirectRule> redirects;  // of replays, in order
  /// Lines of the file in which `profiles.NAME` and `sources.NAME` stand.
  std::map<std::string, std::size_t> sections;
  /// Of the file's text; empty if there was none.
  std::string file_sha256;

 private:
  [[nodiscard]] std::size_t at(std::string_view path) const;

  std::vector<ConfigValue> values_;
  std::vector<ConfigOrigin> origins_;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct ConfigInput {
  std::string_view file;  // the text of the file; empty: there is none
  Environment environment;
  RegexCompiler regex;  // for the rules of profiles
};

/// A configuration and everything that is wrong with it. It may be used if there are no problems.
struct ConfigReading {
  Config config;
  std::vector<ConfigProblem> problems;  // by line
  std::vector<ConfigProblem> warnings;
};

/// Strict: what is unknown, given twice, out of bounds or not to be had in this version is a
/// problem, and all of them are reported. The environment wins over the file, `DLO_…` over old
/// names (R13). A secret is never repeated.
[[nodiscard]] ConfigReading read_config(const ConfigInput& input);

/// One setting as people are shown it.
struct ShownSetting {
  std::string path;
  std::string value;  // "(hidden)" for a secret
  std::string from;   // "default", "dlo.yaml:12", "DLO_DATA"
};
/// `file` names the file in `from`. Without `effective` only what somebody set.
[[nodiscard]] std::vector<ShownSetting> show_config(const Config& config, const std::string& file,
                                                    bool effective);

/// Settings that differ and that a running server cannot take over.
[[nodiscard]] std::vector<std::string> needs_restart(const Config& before, const Config& after);

}  // namespace dlo
