#include "dlo/config/consumer_section.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dlo/config/config.h"
#include "dlo/config/executor_section.h"
#include "dlo/config/name_sections.h"
#include "dlo/config/section_parts.h"
#include "dlo/config/values.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::size_t longest_name = 255;  // of queues, as RabbitMQ has it
constexpr std::size_t most_consumers = 100;
/// RabbitMQ takes back after half an hour what nobody has settled.
constexpr Millis longest_run = std::chrono::minutes{25};
constexpr std::array<std::string_view, 2> formats = {"json", "any"};
constexpr std::array<std::string_view, 2> of_invalid = {"dead_letter", "drop"};

constexpr std::array<std::string_view, 2> of_death = {"continue", "hold"};

/// One entry that says which queue it is.
class Entry {
 public:
  Entry(const TextEntry& entry, ConfigReading& reading)
      : node_(entry.value), path_("sources." + entry.key), reading_(reading) {
    made_.source = entry.key;
  }

  void read() {
    for (const auto& [name, value] : node_.map) {
      if (is_consumer_setting(name)) setting(name, value);
    }
    if (made_.queue.empty())
      return complain(node_, " must say which queue it is: `rabbitmq: QUEUE`.");
    if (made_.handler.target.empty() && !is_handler_given_) {
      return complain(node_,
                      " must say who handles its messages: `handler: {http: URL}`, `handler: "
                      "{command: PROGRAM ARGUMENTS}`, or the name of one of `executors`.");
    }
    check_handler();
    check_queues();
    reading_.config.consumers.push_back(std::move(made_));
    reading_.config.sections[path_] = node_.line;
  }

 private:
  void complain(const TextNode& at, const std::string& text) {
    reading_.problems.push_back({at.line, path_ + text});
  }

  void setting(const std::string& name, const TextNode& value) {
    if (name == "handler") return handler(value);
    if (name == "required") return places(name, value, made_.required);
    if (name == "log_done") return places(name, value, made_.log_done);
    if (name == "inner") return inner(value);
    if (value.kind != TextNode::Kind::scalar || value.scalar.empty()) {
      return complain(value, "." + name + " takes one value.");
    }
    if (name == "prefetch") return prefetch(value);
    if (name == "format") return format(value);
    if (name == "invalid") return invalid(value);
    if (name == "on_death") return on_death(value);
    if (name == "profile") return profile(value);
    if (value.scalar.size() > longest_name) {
      return complain(value, "." + name + " must be a name of at most 255 bytes.");
    }
    if (name == "rabbitmq") made_.queue = value.scalar;
    if (name == "event_type") made_.event_type = value.scalar;
    if (name == "dead_letter_queue") made_.dead_letter_queue = value.scalar;
  }

  void profile(const TextNode& value) {
    made_.profile = value.scalar;
    const auto found = reading_.config.rules.find(value.scalar);
    if (!found) complain(value, ".profile: " + found.error().detail);
  }

  void format(const TextNode& value) {
    if (std::ranges::find(formats, value.scalar) == formats.end()) {
      return complain(value, ".format: " + unknown_name("value", value.scalar, formats));
    }
    made_.json = value.scalar == "json";
  }

  void invalid(const TextNode& value) {
    if (std::ranges::find(of_invalid, value.scalar) == of_invalid.end()) {
      return complain(value, ".invalid: " + unknown_name("value", value.scalar, of_invalid));
    }
    made_.drops_invalid = value.scalar == "drop";
  }

  void on_death(const TextNode& value) {
    if (std::ranges::find(of_death, value.scalar) == of_death.end()) {
      return complain(value, ".on_death: " + unknown_name("value", value.scalar, of_death));
    }
    if (value.scalar == "continue") return;
    complain(value,
             ".on_death cannot be hold: RabbitMQ hands the next message of a key to any consumer, "
             "so nobody can keep it back. A queue of this server can: dlo queue declare NAME "
             "'{\"on_death\":\"hold\"}'.");
  }

  std::optional<std::uint32_t> count(const std::string& setting, const TextNode& value,
                                     std::uint64_t least, std::uint64_t most) {
    const auto read =
        read_bounded(path_ + setting, value, {ValueKind::count, least, most}, reading_);
    if (!read) return std::nullopt;
    return static_cast<std::uint32_t>(*read);
  }

  void prefetch(const TextNode& value) {
    if (const auto read = count(".prefetch", value, 1, 65'535)) made_.prefetch = *read;
  }

  /// Tries within one attempt, such as `{retries: 3, policy: exponential base=2s}`.
  void inner(const TextNode& node) {
    constexpr std::array<std::string_view, 2> known = {"retries", "policy"};
    if (node.kind != TextNode::Kind::map) {
      return complain(node, ".inner holds settings by name: `name: value`.");
    }
    for (const auto& [name, value] : node.map) {
      if (name == "retries") {
        if (const auto read = count(".inner.retries", value, 0, 100)) made_.inner.retries = *read;
      } else if (name == "policy") {
        auto read = read_policy(value.scalar, reading_.config.rules.names()->policies);
        if (!read) return complain(value, ".inner.policy: " + read.error().detail);
        made_.inner.policy = std::move(*read);
      } else {
        complain(value, ": " + unknown_name("setting of inner", name, known));
      }
    }
  }

  void places(const std::string& name, const TextNode& value, std::vector<std::string>& into) {
    if (value.kind == TextNode::Kind::scalar) {
      into = split_places(value.scalar);
    } else {
      for (const TextNode& each : value.list) into.push_back(each.scalar);
    }
    const bool all = std::ranges::none_of(into, &std::string::empty);
    if (into.empty() || !all) {
      complain(value, "." + name + " is a list of places in the payload, such as [data, data.id].");
    }
  }

  void handler(const TextNode& value) {
    is_handler_given_ = true;
    if (value.kind == TextNode::Kind::map) {
      auto read = read_executor(made_.source, path_ + ".handler", value, reading_);
      if (read) made_.handler = std::move(*read);
      return;
    }
    const auto& all = reading_.config.executors;
    const auto found = std::ranges::find(all, value.scalar, &ExecutorSettings::name);
    if (found != all.end()) {
      made_.handler = *found;
      return;
    }
    std::vector<std::string_view> names;
    for (const ExecutorSettings& each : all) names.push_back(each.name);
    complain(value, ".handler: " + unknown_name("executor", value.scalar, names));
  }

  void check_handler() {
    if (made_.handler.kind == "queue") {
      complain(node_, ".handler: a queue handles nothing. Say `http` or `command`.");
    }
    if (made_.handler.timeout.value_or(Millis{0}) > longest_run) {
      complain(node_,
               ".handler.timeout must not be longer than 25m: RabbitMQ takes back after half an "
               "hour what nobody has settled.");
    }
  }

  void check_queues() {
    if (made_.dead_letter_queue == made_.queue) {
      complain(node_,
               ".dead_letter_queue is the queue itself: what died would be handled again, for "
               "ever. Name another one, such as " +
                   made_.queue + "_dlq.");
    }
    for (const CollectorSettings& each : reading_.config.collectors) {
      if (each.queue != made_.queue && each.queue != made_.dead_letter_queue) continue;
      complain(node_, ": queue " + in_quotes(each.queue) + " is drained by collectors." +
                          each.name +
                          " as well: what died here is in the office already, and would be there "
                          "twice. Keep one of them.");
    }
    for (const ConsumerSettings& each : reading_.config.consumers) {
      if (each.queue == made_.queue) {
        complain(node_, " handles queue " + in_quotes(made_.queue) + ", and so does sources." +
                            each.source + ". Keep one of them.");
      }
    }
  }

  const TextNode& node_;
  const std::string path_;
  ConfigReading& reading_;
  ConsumerSettings made_;
  bool is_handler_given_ = false;
};

bool is_consumer(const TextNode& node) {
  return node.kind == TextNode::Kind::map &&
         std::ranges::any_of(node.map,
                             [](const TextEntry& each) { return is_consumer_setting(each.key); });
}

}  // namespace

void read_consumers(const TextNode& section, ConfigReading& reading) {
  if (section.kind != TextNode::Kind::map) return;  // said already
  for (const TextEntry& each : section.map) {
    if (is_consumer(each.value)) Entry(each, reading).read();
  }
  const auto& all = reading.config.consumers;
  if (all.size() > most_consumers) {
    reading.problems.push_back({section.line, "sources must not handle more than 100 queues."});
  }
  if (!all.empty() && reading.config.text("rabbitmq.address").empty()) {
    reading.problems.push_back(
        {section.line,
         "sources needs rabbitmq.address beside it: where the server is, such as "
         "amqp://dlo:PASSWORD@localhost:5672/ (better in DLO_RABBITMQ_ADDRESS)."});
  }
}

std::string describe(const ConsumerSettings& consumer) {
  return "handles RabbitMQ queue " + in_quotes(consumer.queue) + " by " + consumer.handler.kind +
         ", profile " + consumer.profile +
         (consumer.drops_invalid ? ", malformed ones dropped" : "") +
         (consumer.dead_letter_queue.empty()
              ? ""
              : ", copies to " + in_quotes(consumer.dead_letter_queue));
}

}  // namespace dlo
