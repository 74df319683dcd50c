#include "dlo/config/executor_section.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/config/config.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 3> kinds = {"http", "command", "queue"};
constexpr std::array<std::string_view, 4> known = {"http", "command", "queue", "body"};
constexpr std::array<std::string_view, 2> bodies = {"task", "envelope"};

/// One entry of the section.
class Entry {
 public:
  Entry(const TextEntry& entry, ConfigReading& reading)
      : entry_(entry), path_("executors." + entry.key), reading_(reading) {
    executor_.name = entry.key;
  }

  void read() {
    if (entry_.value.kind != TextNode::Kind::map) {
      return complain(entry_.value.line, path_ + " holds settings by name: `name: value`.");
    }
    for (const auto& [name, value] : entry_.value.map) setting(name, value);
    if (executor_.target.empty()) {
      return complain(entry_.value.line,
                      path_ +
                          " must say what runs its tasks: `http: URL`, `command: PROGRAM "
                          "ARGUMENTS` or `queue: NAME`.");
    }
    if (executor_.kind == "queue" && executor_.envelope) {
      return complain(entry_.value.line, path_ +
                                             ".body: a queue takes tasks as they are, with their "
                                             "targets in a header. Take it out.");
    }
    reading_.config.executors.push_back(std::move(executor_));
    reading_.config.sections[path_] = entry_.value.line;
  }

 private:
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
    } else {
      complain(value.line, unknown_name("setting of " + path_, name, known));
    }
  }

  const TextEntry& entry_;
  const std::string path_;
  ConfigReading& reading_;
  ExecutorSettings executor_;
};

}  // namespace

void read_executors(const TextNode& section, ConfigReading& reading) {
  if (section.kind != TextNode::Kind::map) {
    reading.problems.push_back({section.line, "executors holds settings by name: `name: value`."});
    return;
  }
  for (const TextEntry& each : section.map) Entry(each, reading).read();
}

}  // namespace dlo
