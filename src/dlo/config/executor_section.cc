#include "dlo/config/executor_section.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/config/config.h"
#include "dlo/config/section_parts.h"
#include "dlo/config/values.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 3> kinds = {"http", "command", "queue"};
constexpr std::array<std::string_view, 8> known = {"http",    "command", "queue",   "body",
                                                   "timeout", "at_once", "circuit", "secret_file"};
constexpr std::array<std::string_view, 6> of_circuit = {"failures", "share",     "of",
                                                        "window",   "cool_down", "probes"};
constexpr std::uint64_t second = 1'000;
constexpr std::uint64_t day = 24 * 3'600 * second;
constexpr std::array<std::string_view, 2> bodies = {"task", "envelope"};

/// Who runs something, under `path`.
class Entry {
 public:
  Entry(std::string name, std::string path, const TextNode& node, ConfigReading& reading)
      : node_(node), path_(std::move(path)), reading_(reading) {
    executor_.name = std::move(name);
  }

  /// Nothing if it is of no use.
  std::optional<ExecutorSettings> read() {
    if (node_.kind != TextNode::Kind::map) {
      complain(node_.line, path_ + " holds settings by name: `name: value`.");
      return std::nullopt;
    }
    for (const auto& [name, value] : node_.map) setting(name, value);
    const std::size_t before = reading_.problems.size();
    check();
    if (reading_.problems.size() > before) return std::nullopt;
    return std::move(executor_);
  }

 private:
  void check() {
    if (executor_.target.empty()) {
      return complain(node_.line,
                      path_ +
                          " must say what runs its tasks: `http: URL`, `command: PROGRAM "
                          "ARGUMENTS` or `queue: NAME`.");
    }
    if (executor_.kind == "queue" &&
        (executor_.timeout || executor_.at_once > 0 || is_circuit_given_)) {
      return complain(node_.line,
                      path_ +
                          ": a queue takes a task or does not: `timeout`, `at_once` and `circuit` "
                          "are for http and command. Take them out.");
    }
    if (executor_.kind == "queue" && executor_.envelope) {
      return complain(node_.line, path_ +
                                      ".body: a queue takes tasks as they are, with their "
                                      "targets in a header. Take it out.");
    }
    if (executor_.kind != "http" && !executor_.secret_file.empty()) {
      return complain(node_.line, path_ +
                                      ".secret_file: only what is sent over HTTP is "
                                      "signed. Take it out.");
    }
  }

  void complain(std::size_t line, std::string text) {
    reading_.problems.push_back({line, std::move(text)});
  }

  void setting(const std::string& name, const TextNode& value) {
    if (std::ranges::find(kinds, name) != kinds.end()) {
      if (!executor_.kind.empty()) {
        complain(value.line, path_ + " is one thing: http, command or queue.");
      }
      executor_.kind = name;
      executor_.target = value.scalar;
    } else if (name == "body") {
      if (std::ranges::find(bodies, value.scalar) == bodies.end()) {
        return complain(value.line,
                        path_ + ".body: " + unknown_name("value", value.scalar, bodies));
      }
      executor_.envelope = value.scalar == "envelope";
    } else if (name == "timeout") {
      const auto read = number(".timeout", value, ValueKind::duration, second, day);
      if (read) executor_.timeout = Millis{static_cast<std::int64_t>(*read)};
    } else if (name == "at_once") {
      const auto read = number(".at_once", value, ValueKind::count, 1, 1'000);
      if (read) executor_.at_once = static_cast<std::uint32_t>(*read);
    } else if (name == "circuit") {
      circuit(value);
    } else if (name == "secret_file") {
      if (value.scalar.empty()) return complain(value.line, path_ + ".secret_file names a file.");
      executor_.secret_file = value.scalar;
    } else {
      complain(value.line, unknown_name("setting of " + path_, name, known));
    }
  }

  std::optional<std::uint64_t> number(const std::string& setting, const TextNode& value,
                                      ValueKind kind, std::uint64_t least, std::uint64_t most) {
    return read_bounded(path_ + setting, value, {kind, least, most}, reading_);
  }

  /// When nothing is sent to it for a while: after `failures` in a row (0: never for that), or at
  /// `share` percent of at least `of` calls within `window`.
  void circuit(const TextNode& node) {
    if (node.kind != TextNode::Kind::map) {
      return complain(node.line, path_ + ".circuit holds settings by name: `name: value`.");
    }
    is_circuit_given_ = true;
    BreakerPolicy& policy = executor_.circuit;
    for (const auto& [name, value] : node.map) {
      if (std::ranges::find(of_circuit, name) == of_circuit.end()) {
        complain(value.line, unknown_name("setting of " + path_ + ".circuit", name, of_circuit));
        continue;
      }
      const bool is_time = name == "window" || name == "cool_down";
      const auto read = is_time
                            ? number(".circuit." + name, value, ValueKind::duration, second, day)
                            : number(".circuit." + name, value, ValueKind::count,
                                     name == "failures" ? 0 : 1, name == "share" ? 100 : 1'000'000);
      if (!read) continue;
      const auto count = static_cast<std::uint32_t>(is_time ? 0 : *read);
      const Millis time{static_cast<std::int64_t>(*read)};
      if (name == "failures") policy.consecutive = count;
      if (name == "share") policy.failure_share = static_cast<double>(count) / 100;
      if (name == "of") policy.minimum_calls = count;
      if (name == "window") policy.window = time;
      if (name == "cool_down") policy.cool_down = time;
      if (name == "probes") policy.probes = count;
    }
  }

  const TextNode& node_;
  const std::string path_;
  ConfigReading& reading_;
  ExecutorSettings executor_;
  bool is_circuit_given_ = false;
};

}  // namespace

void read_executors(const TextNode& section, ConfigReading& reading) {
  if (section.kind != TextNode::Kind::map) {
    reading.problems.push_back({section.line, "executors holds settings by name: `name: value`."});
    return;
  }
  for (const auto& [name, node] : section.map) {
    const std::string path = "executors." + name;
    auto executor = Entry(name, path, node, reading).read();
    if (!executor) continue;
    reading.config.executors.push_back(std::move(*executor));
    reading.config.sections[path] = node.line;
  }
}

std::optional<ExecutorSettings> read_executor(const std::string& name, const std::string& path,
                                              const TextNode& node, ConfigReading& reading) {
  return Entry(name, path, node, reading).read();
}

}  // namespace dlo
