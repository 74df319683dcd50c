#include "dlo/cli/demo_story.h"

#include <array>
#include <cstdio>
#include <random>
#include <stdexcept>

#include "dlo/engine/handlers/command_handler.h"

namespace dlo::cli {
namespace {

constexpr std::array fates = {Fate::good, Fate::transient, Fate::permanent, Fate::poison,
                              Fate::crashing};

Fate draw(std::mt19937_64& random) {
  const auto roll = random() % 100;
  if (roll < 60) return Fate::good;
  if (roll < 78) return Fate::transient;
  if (roll < 88) return Fate::permanent;
  return roll < 96 ? Fate::poison : Fate::crashing;
}

Outcome good(const Message& /*message*/, const RunContext& /*context*/) {
  return {};
}

/// Fails as often as its payload says, then succeeds.
Outcome transient(const Message& message, const RunContext& context) {
  const auto failures = static_cast<std::uint32_t>(message.payload->back() - '0');
  if (context.counters.attempt > failures) return {};
  Outcome outcome;
  outcome.kind = OutcomeKind::failed;
  outcome.failure.type = "ConnectTimeout";
  outcome.failure.text = "billing did not answer within 250 ms";
  outcome.failure.code = "timed_out";
  return outcome;
}

Outcome permanent(const Message& message, const RunContext& /*context*/) {
  throw std::invalid_argument("amount of " + message.id + " is negative: -17.50 EUR");
}

Outcome poison(const Message& message, const RunContext& /*context*/) {
  Outcome outcome;
  outcome.kind = OutcomeKind::failed;
  outcome.failure.type = "InventoryMismatch";
  outcome.failure.text = "order " + message.key + " refers to article 'X-77' that nobody sells";
  return outcome;
}

std::shared_ptr<Handler> function(FunctionHandler::Function body) {
  return std::make_shared<FunctionHandler>(std::move(body));
}

}  // namespace

std::string_view name_of(Fate fate) noexcept {
  switch (fate) {
    case Fate::good:
      return "good";
    case Fate::transient:
      return "transient";
    case Fate::permanent:
      return "permanent";
    case Fate::poison:
      return "poison";
    case Fate::crashing:
      return "crashing";
  }
  return "good";
}

std::vector<MessagePtr> demo_messages(std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<MessagePtr> messages;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Fate fate = i < fates.size() ? fates[i] : draw(random);
    char id[32];
    std::snprintf(id, sizeof id, "order-%04llu", static_cast<unsigned long long>(i) + 1);
    Message message;
    message.id = id;
    message.event_type = name_of(fate);
    message.key = id;
    message.content_type = "application/json";
    // The last digit tells a transient one how often to fail.
    message.payload = R"({"order": ")" + message.id + R"("} )" + std::to_string(1 + random() % 3);
    messages.push_back(std::make_shared<const Message>(std::move(message)));
  }
  return messages;
}

Result<HandlerTable> demo_handlers() {
  HandlerTable table;
  table.set("good", function(good));
  table.set("transient", function(transient));
  table.set("permanent", function(permanent));
  table.set("poison", function(poison));
  CommandOptions options;
  options.argv = {"/bin/sh", "-c", "echo 'about to divide by zero' >&2; kill -SEGV $$"};
  auto crashing = CommandHandler::make(std::move(options));
  if (!crashing) return crashing.error();
  table.set("crashing", std::shared_ptr<Handler>(std::move(*crashing)));
  return table;
}

}  // namespace dlo::cli
