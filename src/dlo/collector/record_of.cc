#include "dlo/collector/record_of.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "dlo/broker/collected_headers.h"
#include "dlo/collector/collector.h"
#include "dlo/json/writer.h"

namespace dlo::collector {
namespace {

constexpr std::size_t shown_deaths = 10;

/// The attempt that failed last is counted here; its failure by the core.
Counters counters_of(const Delivery& found, std::uint32_t attempts) {
  Counters counters = found.counters;
  counters.attempt = std::max({counters.attempt, attempts, std::uint32_t{1}});
  counters.total = std::max(counters.total, counters.attempt);
  counters.fetch = std::max(counters.fetch, counters.attempt);
  counters.retry = std::max(counters.retry, counters.attempt - 1);
  counters.failure = std::max(counters.failure, counters.attempt - 1);
  return counters;
}

std::string metadata_of(const Letter& letter, const CollectorOptions& options) {
  JsonWriter json;
  json.begin_object().key("collected").begin_object();
  json.member("by", options.name).member("from", options.queue);
  json.member("told_by", name_of(letter.dialect));
  if (!letter.queue.empty()) json.member("queue", letter.queue);
  if (!letter.exchange.empty()) json.member("exchange", letter.exchange);
  if (!letter.routing_key.empty()) json.member("routing_key", letter.routing_key);
  if (!letter.deaths.empty()) {
    json.key("deaths").begin_array();
    for (std::size_t i = 0; i < std::min(letter.deaths.size(), shown_deaths); ++i) {
      const BrokerDeath& each = letter.deaths[i];
      json.begin_object().member("queue", each.queue).member("reason", each.reason);
      json.member("count", std::uint64_t{each.count});
      if (each.at) json.member("first", *each.at);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object().end_object();
  return json.take();
}

}  // namespace

Opened open_letter(const Delivery& found, const CollectorOptions& options, TimePoint now) {
  Opened opened;
  auto message = std::make_shared<Message>(*found.message);
  std::erase_if(message->headers, [](const Header& each) {
    return each.name == origin_header || each.name == untyped_header;  // somebody else's
  });
  opened.letter = read_letter(message->headers, {options.queue, options.origin, now});
  const Letter& letter = opened.letter;
  message->source = options.source;
  if (message->event_type.empty() && !letter.event_type.empty()) {
    message->event_type = letter.event_type;
    message->headers.push_back({std::string(untyped_header), "true", HeaderType::boolean});
  }
  if (!letter.queue.empty()) {
    message->headers.push_back({std::string(origin_header), letter.queue, HeaderType::text});
  }
  opened.delivery = found;
  opened.delivery.message = std::move(message);
  opened.delivery.counters = counters_of(found, letter.attempts);
  if (!opened.delivery.first_attempt_at) opened.delivery.first_attempt_at = letter.first_failed_at;
  if (letter.dialect == Dialect::none && !found.last_error.empty()) {
    opened.letter.failure = last_known_failure(found);
    opened.letter.dialect = Dialect::own;
  }
  return opened;
}

void complete(Plan& plan, const Opened& opened, const CollectorOptions& options) {
  const Letter& letter = opened.letter;
  DeadLetter& record = *plan.record;
  record.handler = "collector " + options.name;
  record.metadata = metadata_of(letter, options);
  const auto last = letter.last_failed_at;
  if (last) record.last_failed_at = last;
  // What is told is better than what a profile makes of the count and of now.
  if (letter.first_failed_at) record.first_attempt_at = letter.first_failed_at;
  if (letter.first_failed_at || last) {
    record.first_failed_at = letter.first_failed_at ? letter.first_failed_at : last;
  }
  if (!plan.attempts.empty() && last) plan.attempts.back().started_at = *last;
}

}  // namespace dlo::collector
