#include "support/sample.h"

#include <array>
#include <string>

namespace dlo::bench {
namespace {

constexpr std::array<const char*, 6> categories = {"network",    "transient", "validation",
                                                   "permission", "resource",  "permanent"};
constexpr std::array<const char*, 12> words = {"connection", "refused", "while",    "calling",
                                               "billing",    "gateway", "timeout",  "after",
                                               "retry",      "budget",  "exceeded", "upstream"};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

std::string error_line(std::uint64_t n, std::uint64_t group) {
  std::string text;
  for (std::uint64_t i = 0; i < 7; ++i) {
    text += words[mix(group * 7 + i) % words.size()];
    text += ' ';
  }
  return text + "host app-" + std::to_string(mix(n) % 4000) + " order " + std::to_string(n);
}

std::string payload(std::uint64_t n) {
  std::string body = "{\"order\":{\"id\":" + std::to_string(n) + ",\"customer\":\"" +
                     std::to_string(mix(n + 1)) + "\"},\"lines\":[";
  for (std::uint64_t i = 0; body.size() < 1000; ++i) {
    body += "{\"sku\":\"" + std::to_string(mix(n * 31 + i) % 100'000) +
            "\",\"quantity\":" + std::to_string(i % 9 + 1) + "},";
  }
  body.resize(1022, ' ');
  return body + "]}";
}

Message message_of(std::uint64_t n) {
  Message message;
  message.id = "msg-" + std::to_string(mix(n + 2));
  message.source = "queue-" + std::to_string(mix(n) % 20);
  message.event_type = "Event" + std::to_string(mix(n + 3) % 30);
  message.key = "customer-" + std::to_string(mix(n + 4) % 1'000'000);
  message.correlation_id = std::to_string(mix(n + 5));
  message.content_type = "application/json";
  message.headers = {{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
                     {"tenant", "acme"}};
  message.payload = payload(n);
  return message;
}

}  // namespace

Append sample(std::uint64_t n) {
  constexpr TimePoint start{Millis{1'772'366'400'000}};
  const std::uint64_t group = mix(n + 6) % 300;
  auto letter = std::make_shared<DeadLetter>();
  letter->id.high = mix(n + 7);
  letter->id.low = mix(n + 8);
  letter->message = std::make_shared<Message>(message_of(n));
  letter->profile = "standard";
  letter->status = n % 10 < 7 ? Status::pending : Status::exhausted;
  letter->reason = "MaxDeliveryCountExceeded";
  letter->description = "Message exceeded maximum delivery count of 3";
  letter->category = categories[group % categories.size()];
  letter->rule = "upstream-down";
  letter->failure.type = "HttpException";
  letter->failure.text = error_line(n, group);
  letter->failure.stack = "Billing.charge(billing.cc:120)\nOrders.handle(orders.cc:33)";
  letter->fingerprint.hash = {mix(group), group};
  letter->fingerprint.title = "HttpException in Billing.charge";
  letter->fingerprint.basis = "frames";
  letter->counters = {3, 3, 3, 0, 2, 0, 3};
  letter->limit = 3;
  letter->policy = "exponential base=1s factor=2 cap=5m jitter=full";
  letter->died_at = start + Millis{static_cast<std::int64_t>(n) * 3};
  letter->first_attempt_at = letter->died_at - Millis{7000};
  letter->node = "node-1";
  Append append{letter, {}};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    append.attempts.push_back({i, letter->died_at - Millis{1000}, Millis{40}, OutcomeKind::failed,
                               letter->category, letter->rule, letter->failure.type,
                               letter->failure.text, Millis{2000}, letter->node});
  }
  return append;
}

std::vector<Change> samples(std::uint64_t first, std::size_t count) {
  std::vector<Change> changes;
  changes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) changes.emplace_back(sample(first + i));
  return changes;
}

}  // namespace dlo::bench
