#include "dlo/config/collector_section.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/config/config.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 4> known = {"rabbitmq", "source", "origin", "profile"};
constexpr std::size_t longest_name = 255;  // of queues, as RabbitMQ has it
constexpr std::size_t most_collectors = 100;

void complain(ConfigReading& reading, std::size_t line, std::string text) {
  reading.problems.push_back({line, std::move(text)});
}

void read_setting(const std::string& path, const std::string& name, const TextNode& value,
                  CollectorSettings& into, ConfigReading& reading) {
  if (std::ranges::find(known, name) == known.end()) {
    return complain(reading, value.line, unknown_name("setting of " + path, name, known));
  }
  const std::string place = path + "." + name;
  if (value.kind != TextNode::Kind::scalar || value.scalar.empty()) {
    return complain(reading, value.line, place + " takes one value: text.");
  }
  if (name != "profile" && value.scalar.size() > longest_name) {
    return complain(reading, value.line, place + " must be a name of at most 255 bytes.");
  }
  if (name == "rabbitmq") into.queue = value.scalar;
  if (name == "source") into.source = value.scalar;
  if (name == "origin") into.origin = value.scalar;
  if (name != "profile") return;
  into.profile = value.scalar;
  if (const auto found = reading.config.rules.find(value.scalar); !found) {
    complain(reading, value.line, place + ": " + found.error().detail);
  }
}

void read_one(const TextEntry& entry, ConfigReading& reading) {
  const std::string path = "collectors." + entry.key;
  const std::size_t line = entry.value.line;
  if (entry.value.kind != TextNode::Kind::map) {
    return complain(reading, line, path + " holds settings by name: `name: value`.");
  }
  CollectorSettings made;
  made.name = made.source = entry.key;
  for (const auto& [name, value] : entry.value.map) read_setting(path, name, value, made, reading);
  if (made.queue.empty()) {
    return complain(reading, line, path + " must say what it drains: `rabbitmq: QUEUE`.");
  }
  if (made.origin == made.queue) {
    complain(reading, line,
             path +
                 ".origin is the dead-letter queue itself: what is sent back there would be "
                 "collected again. Name the queue in which its messages failed.");
  }
  auto& all = reading.config.collectors;
  const auto twin = std::ranges::find(all, made.queue, &CollectorSettings::queue);
  if (twin != all.end()) {
    complain(reading, line,
             path + " drains " + in_quotes(made.queue) + ", and so does collectors." + twin->name +
                 ". Keep one of them.");
  }
  all.push_back(std::move(made));
  reading.config.sections[path] = line;
}

}  // namespace

void read_collectors(const TextNode& section, ConfigReading& reading) {
  if (section.kind != TextNode::Kind::map) {
    return complain(reading, section.line, "collectors holds settings by name: `name: value`.");
  }
  if (section.map.size() > most_collectors) {
    return complain(reading, section.line, "collectors must not hold more than 100.");
  }
  for (const TextEntry& each : section.map) read_one(each, reading);
  if (!section.map.empty() && reading.config.text("rabbitmq.address").empty()) {
    complain(reading, section.line,
             "collectors needs rabbitmq.address beside it: where the server is, such as "
             "amqp://dlo:PASSWORD@localhost:5672/ (better in DLO_RABBITMQ_ADDRESS).");
  }
}

std::string describe(const CollectorSettings& collector) {
  return "drains RabbitMQ queue " + in_quotes(collector.queue) + " as source " +
         in_quotes(collector.source) + ", profile " + collector.profile +
         (collector.origin.empty() ? "" : ", origin " + in_quotes(collector.origin));
}

}  // namespace dlo
