#include "dlo/collector/letter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dlo/collector/dialects.h"
#include "dlo/collector/wire_value.h"
#include "dlo/core/spelling.h"

namespace dlo::collector {
namespace {

constexpr std::size_t most_deaths = 32;
constexpr std::string_view own_suffix = "_dlq";  // S1-8

struct ReasonName {
  std::string_view reason;
  std::string_view type;
};
constexpr std::array<ReasonName, 4> broker_reasons = {{{"rejected", "Rejected"},
                                                       {"expired", "Expired"},
                                                       {"maxlen", "QueueFull"},
                                                       {"delivery_limit", "DeliveryLimit"}}};

bool is_failure(const BrokerDeath& death) {
  return death.reason == "rejected" || death.reason == "delivery_limit";
}

std::string text_in(const WireValue& table, std::string_view name) {
  const WireValue* found = table.find(name);
  if (found == nullptr || found->kind != WireValue::Kind::text) return {};
  return for_people(found->text, longest_name);
}

std::optional<BrokerDeath> read_death(const WireValue& entry, TimePoint now) {
  if (entry.kind != WireValue::Kind::table) return std::nullopt;
  BrokerDeath death;
  death.queue = text_in(entry, "queue");
  death.reason = text_in(entry, "reason");
  death.exchange = text_in(entry, "exchange");
  if (death.queue.empty() && death.reason.empty()) return std::nullopt;
  const WireValue* count = entry.find("count");
  if (count != nullptr && count->kind == WireValue::Kind::number) {
    death.count = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(count->number, 1, std::int64_t{most_attempts}));
  }
  const WireValue* time = entry.find("time");
  if (time != nullptr && time->kind == WireValue::Kind::moment) {
    death.at = credible(time->number, now);
  }
  const WireValue* keys = entry.find("routing-keys");
  if (keys != nullptr && !keys->list.empty() && keys->list.front().kind == WireValue::Kind::text) {
    death.routing_key = for_people(keys->list.front().text, longest_name);
  }
  return death;
}

std::vector<BrokerDeath> read_deaths(const Headers& headers, TimePoint now) {
  std::vector<BrokerDeath> deaths;
  const Header* header = find_header(headers, "x-death");
  if (header == nullptr || header->type != HeaderType::structured) return deaths;
  const auto value = read_wire_value(header->value);
  if (!value || value->kind != WireValue::Kind::list) return deaths;
  for (const WireValue& entry : value->list) {
    if (deaths.size() == most_deaths) break;
    if (auto death = read_death(entry, now)) deaths.push_back(std::move(*death));
  }
  return deaths;
}

/// The newest death at the hands of a consumer; without one the newest of all. What happened in the
/// dead-letter queue itself is not what is asked for.
const BrokerDeath* telling_death(const std::vector<BrokerDeath>& deaths, const Place& place) {
  const BrokerDeath* newest = nullptr;
  for (const BrokerDeath& each : deaths) {
    if (each.queue == place.queue) continue;
    if (is_failure(each)) return &each;
    if (newest == nullptr) newest = &each;
  }
  return newest;
}

void take(std::string& into, const std::string& text) {
  if (into.empty()) into = text;
}

void read_times(Letter& letter) {
  for (const BrokerDeath& each : letter.deaths) {
    if (!each.at) continue;
    if (!letter.first_failed_at || *each.at < *letter.first_failed_at) {
      letter.first_failed_at = each.at;
    }
    if (!letter.last_failed_at || *each.at > *letter.last_failed_at)
      letter.last_failed_at = each.at;
  }
}

/// What the server itself tells, where nobody told more.
void read_broker(const Headers& headers, const Place& place, Letter& letter) {
  letter.deaths = read_deaths(headers, place.now);
  const BrokerDeath* death = telling_death(letter.deaths, place);
  BrokerDeath first;
  if (death == nullptr) {  // a server that writes no list, or one that somebody has spoilt
    first.queue = text_of(headers, "x-first-death-queue", longest_name);
    first.reason = text_of(headers, "x-first-death-reason", longest_name);
    first.exchange = text_of(headers, "x-first-death-exchange", longest_name);
    if (first.queue.empty() && first.reason.empty()) return;
    death = &first;
  }
  if (letter.dialect == Dialect::none) letter.dialect = Dialect::broker;
  read_times(letter);
  std::uint64_t failed = 0;
  for (const BrokerDeath& each : letter.deaths) failed += is_failure(each) ? each.count : 0;
  letter.attempts = std::max(letter.attempts, at_most(failed));
  take(letter.queue, death->queue);
  if (letter.queue == death->queue) {
    take(letter.exchange, death->exchange);
    take(letter.routing_key, death->routing_key);
  }
  if (!letter.failure.text.empty() || !letter.failure.type.empty()) return;
  const auto known =
      std::find_if(broker_reasons.begin(), broker_reasons.end(),
                   [&](const ReasonName& each) { return each.reason == death->reason; });
  letter.failure.type = known == broker_reasons.end() ? "DeadLettered" : known->type;
  letter.failure.text = "RabbitMQ dead-lettered it from queue " + death->queue + ": " +
                        (death->reason.empty() ? "no reason given" : death->reason);
}

/// Names by which people call dead-letter queues after those they belong to.
void guess_queue(const Place& place, Letter& letter) {
  if (!place.origin.empty()) letter.queue = place.origin;
  if (!letter.queue.empty()) return;
  std::vector<std::string_view> suffixes{own_suffix};
  if (letter.dialect == Dialect::masstransit) suffixes = {"_error", "_skipped"};
  const std::string_view name = place.queue;
  for (const std::string_view suffix : suffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      letter.queue = name.substr(0, name.size() - suffix.size());
    }
  }
}

}  // namespace

std::string_view name_of(Dialect dialect) noexcept {
  switch (dialect) {
    case Dialect::none:
      return "none";
    case Dialect::own:
      return "dlo";
    case Dialect::booking:
      return "booking";
    case Dialect::broker:
      return "rabbitmq";
    case Dialect::spring:
      return "spring-amqp";
    case Dialect::masstransit:
      return "masstransit";
    case Dialect::nservicebus:
      return "nservicebus";
  }
  return "none";
}

Letter read_letter(const Headers& headers, const Place& place) {
  Letter letter;
  // Who knows most comes first; the others fill in what is missing.
  read_own(headers, place.now, letter);
  read_booking(headers, place.now, letter);
  read_nservicebus(headers, place.now, letter);
  read_masstransit(headers, place.now, letter);
  read_spring(headers, letter);
  read_broker(headers, place, letter);
  guess_queue(place, letter);
  if (letter.failure.text.empty() && letter.failure.type.empty()) {
    letter.failure.type = "DeadLettered";
    letter.failure.text = "It was in dead-letter queue " + place.queue + "; nothing tells why";
  }
  return letter;
}

const std::vector<std::string>& death_headers() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {
        "x-death*",
        "x-first-death-*",
        "x-last-death-*",
        "x-exception-*",
        "x-original-exchange*",
        "x-original-routingKey*",
        "retry-count*",
        "MT-Fault-*",
        "MT-Reason*",
        "MT-Redelivery-Count*",
        "NServiceBus.ExceptionInfo.*",
        "NServiceBus.FailedQ*",
        "NServiceBus.TimeOfFailure*",
        "NServiceBus.FLRetries*",
        "NServiceBus.Retries*",
        "ServiceControl.Retry*",
        "dlo-error*",
        "dlo-failed-*",
    };
    for (const std::string_view name : booking_death_headers)
      all.push_back(std::string(name) + "*");
    return all;
  }();
  return names;
}

}  // namespace dlo::collector
