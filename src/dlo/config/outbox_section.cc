#include "dlo/config/outbox_section.h"

#include <algorithm>
#include <array>
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

constexpr std::array<std::string_view, 8> known = {"postgres", "shape",   "table", "columns",
                                                   "to",       "profile", "batch", "poll"};
constexpr std::size_t longest_name = 100;
constexpr std::size_t most_outboxes = 100;
constexpr std::uint64_t most_rows = 10'000;
constexpr std::uint64_t shortest_poll = 10;
constexpr std::uint64_t longest_poll = 3'600'000;

/// One entry of the section.
class Entry {
 public:
  Entry(const TextEntry& entry, ConfigReading& reading)
      : entry_(entry), path_("outboxes." + entry.key), reading_(reading) {
    made_.name = entry.key;
  }

  void read() {
    if (entry_.value.kind != TextNode::Kind::map) {
      return complain(entry_.value.line, path_ + " holds settings by name: `name: value`.");
    }
    if (entry_.key.empty() || entry_.key.size() > longest_name) {
      return complain(entry_.value.line, path_ + ": a name has 1 to 100 bytes.");
    }
    for (const auto& [name, value] : entry_.value.map) setting(name, value);
    check();
    reading_.config.outboxes.push_back(std::move(made_));
    reading_.config.sections[path_] = entry_.value.line;
  }

 private:
  void complain(std::size_t line, std::string text) {
    reading_.problems.push_back({line, std::move(text)});
  }

  void setting(const std::string& name, const TextNode& value) {
    if (std::ranges::find(known, name) == known.end()) {
      return complain(value.line, unknown_name("setting of " + path_, name, known));
    }
    if (name == "columns") return columns(value);
    if (value.kind != TextNode::Kind::scalar || value.scalar.empty()) {
      return complain(value.line, path_ + "." + name + " takes one value: text.");
    }
    if (name == "postgres") made_.address = value.scalar;
    if (name == "shape") made_.shape = value.scalar;
    if (name == "table") made_.table = value.scalar;
    if (name == "to") made_.to = value.scalar;
    if (name == "profile") profile(value);
    if (name == "batch") {
      if (const auto rows = number(".batch", value, ValueKind::count, 1, most_rows)) {
        made_.batch = *rows;
      }
    }
    if (name == "poll") {
      const auto time = number(".poll", value, ValueKind::duration, shortest_poll, longest_poll);
      if (time) made_.poll = Millis{static_cast<std::int64_t>(*time)};
    }
  }

  void profile(const TextNode& value) {
    made_.profile = value.scalar;
    if (const auto found = reading_.config.rules.find(value.scalar); !found) {
      complain(value.line, path_ + ".profile: " + found.error().detail);
    }
  }

  void columns(const TextNode& node) {
    if (node.kind != TextNode::Kind::map) {
      return complain(node.line, path_ + ".columns holds columns by role: `key: customer_id`.");
    }
    for (const auto& [role, value] : node.map) {
      if (value.kind != TextNode::Kind::scalar || value.scalar.empty()) {
        complain(value.line, path_ + ".columns." + role + " takes the name of a column, or none.");
      } else {
        made_.columns.emplace_back(role, value.scalar);
      }
    }
  }

  std::optional<std::uint64_t> number(const std::string& setting, const TextNode& value,
                                      ValueKind kind, std::uint64_t least, std::uint64_t most) {
    return read_bounded(path_ + setting, value, {kind, least, most}, reading_);
  }

  void check() {
    const std::size_t line = entry_.value.line;
    if (made_.to.empty()) {
      complain(line, path_ +
                         " must say where its rows go: `to: amqp:EXCHANGE/KEY`, `to: amqp:QUEUE` "
                         "or `to: QUEUE` for a queue of this server.");
    }
    if (made_.to.starts_with("amqp:") && reading_.config.text("rabbitmq.address").empty()) {
      complain(line, path_ +
                         ".to is on a RabbitMQ server: rabbitmq.address must say where that is "
                         "(better in DLO_RABBITMQ_ADDRESS).");
    }
    const auto& all = reading_.config.outboxes;
    const auto twin = std::ranges::find_if(all, [this](const OutboxSettings& each) {
      return each.address == made_.address && each.shape == made_.shape &&
             each.table == made_.table;
    });
    if (twin != all.end()) {
      complain(line, path_ + " is the table of outboxes." + twin->name + ". Keep one of them.");
    }
  }

  const TextEntry& entry_;
  const std::string path_;
  ConfigReading& reading_;
  OutboxSettings made_;
};

}  // namespace

void read_outboxes(const TextNode& section, ConfigReading& reading) {
  if (!holds_entries("outboxes", section, most_outboxes, reading)) return;
  for (const TextEntry& each : section.map) Entry(each, reading).read();
}

std::string describe(const OutboxSettings& outbox) {
  return "sends table " + (outbox.table.empty() ? "of shape " : in_quotes(outbox.table) + ", ") +
         outbox.shape + (outbox.address.empty() ? " in the database of the office" : "") + ", to " +
         in_quotes(outbox.to) + ", profile " + outbox.profile;
}

}  // namespace dlo
