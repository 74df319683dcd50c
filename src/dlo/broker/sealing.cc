#include "dlo/broker/sealing.h"

#include <memory>
#include <utility>

namespace dlo::queued {
namespace {

constexpr std::string_view error_place = "error text of a queued message";
constexpr std::string_view trail_place = "attempts of a queued message";

Result<void> seal_text(const Sealer& sealer, std::string_view place, std::string& text) {
  if (text.empty()) return {};
  auto sealed = sealer.seal(place, text);
  if (!sealed) return sealed.error();
  text = std::move(*sealed);
  return {};
}

Result<void> seal_ending(const Sealer& sealer, Ending& ending) {
  if (auto* failed = std::get_if<Failed>(&ending)) {
    if (auto done = seal_text(sealer, error_place, failed->error); !done) return done;
    return seal_text(sealer, trail_place, failed->trail);
  }
  if (auto* abandoned = std::get_if<Abandoned>(&ending)) {
    if (auto done = seal_text(sealer, error_place, abandoned->error); !done) return done;
    return seal_text(sealer, trail_place, abandoned->trail);
  }
  if (auto* dead = std::get_if<DeadLettered>(&ending)) {
    return seal_text(sealer, error_place, dead->error);
  }
  return {};
}

Result<void> open_delivery(const Sealer& sealer, Delivery& delivery) {
  auto error = sealer.open(error_place, delivery.last_error);
  if (!error) return error.error();
  auto trail = sealer.open(trail_place, delivery.trail);
  if (!trail) return trail.error();
  auto message = open(sealer, delivery.message);
  if (!message) return message.error();
  delivery.last_error = std::move(*error);
  delivery.trail = std::move(*trail);
  delivery.message = std::move(*message);
  return {};
}

}  // namespace

std::string owner_of(const Message& message) {
  std::string owner = "queued message";
  for (const std::string* part : {&message.id, &message.key, &message.event_type,
                                  &message.correlation_id, &message.content_type}) {
    owner += ' ' + std::to_string(part->size()) + ':' + *part;
  }
  return owner;
}

Result<std::vector<Publication>> seal(const Sealer& sealer, std::span<const Publication> messages) {
  std::vector<Publication> sealed(messages.begin(), messages.end());
  for (Publication& each : sealed) {
    if (each.message == nullptr) continue;  // refused by the queue, with its place
    auto copy = std::make_shared<Message>(*each.message);
    if (auto done = seal_body(sealer, owner_of(*copy), *copy); !done) return done.error();
    each.message = std::move(copy);
  }
  return sealed;
}

Result<std::vector<Settlement>> seal(const Sealer& sealer,
                                     std::span<const Settlement> settlements) {
  std::vector<Settlement> sealed(settlements.begin(), settlements.end());
  for (Settlement& each : sealed) {
    if (auto done = seal_ending(sealer, each.ending); !done) return done.error();
  }
  return sealed;
}

Result<MessagePtr> open(const Sealer& sealer, const MessagePtr& message) {
  auto copy = std::make_shared<Message>(*message);
  if (auto done = open_body(sealer, owner_of(*message), *copy); !done) return done.error();
  return MessagePtr{std::move(copy)};
}

Result<std::string> open_error(const Sealer& sealer, const std::string& error) {
  return sealer.open(error_place, error);
}

void open(const Sealer& sealer, std::vector<Delivery>& deliveries) {
  for (Delivery& each : deliveries) {
    const auto opened = open_delivery(sealer, each);
    if (opened || each.undecodable) continue;
    Failure failure;
    failure.type = "SealedMessage";
    failure.text = opened.error().detail;
    each.undecodable = std::make_shared<const Failure>(std::move(failure));
    each.last_error.clear();
    each.trail.clear();
  }
}

}  // namespace dlo::queued
