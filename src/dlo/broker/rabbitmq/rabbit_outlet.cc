#include "dlo/broker/rabbitmq/rabbit_outlet.h"

#include <chrono>
#include <memory>
#include <utility>

#include "dlo/broker/collected_headers.h"
#include "dlo/broker/rabbitmq/parcel.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr const char* where = "rabbitmq.outlet";
constexpr std::size_t longest_name = 255;

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = ascii_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Nothing if a % stands for nothing.
std::optional<std::string> unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

Error not_understood(std::string_view text) {
  return {
      Code::invalid_argument, where,
      in_quotes(text) +
          " is no place on a RabbitMQ server: write amqp:QUEUE for one queue, or "
          "amqp:EXCHANGE/ROUTING_KEY for all that are bound there, with %2F for / in the name of "
          "an exchange and %25 for %."};
}

Error comes_back(const std::string& queue) {
  return {
      Code::invalid_argument, where,
      "Queue " + in_quotes(queue) +
          " is drained into this office: what is sent there comes straight back. Name the queue "
          "whose consumer is to have it."};
}

/// As it goes out: without what we added, and its time is when it was sent.
MessagePtr for_the_wire(const Message& kept) {
  auto message = std::make_shared<Message>(kept);
  if (find_header(message->headers, untyped_header) != nullptr) message->event_type.clear();
  std::erase_if(message->headers, [](const Header& each) {
    return each.name == origin_header || each.name == untyped_header;
  });
  message->enqueued_at = std::chrono::floor<std::chrono::seconds>(message->enqueued_at);
  return message;
}

/// What a queue does not take is not waited for: it may never have room, and other queues do.
Error final_refusal(Error error) {
  if (error.code == Code::full) error.code = Code::refused;
  return error;
}

/// The server refuses one message by closing the channel: what else was under way there ends with
/// it, arrived or not, and nothing tells which of them it was.
bool may_be_a_neighbours(const Error& error) noexcept {
  return error.where != "rabbitmq.publish" &&
         (error.code == Code::conflict || error.code == Code::invalid_argument);
}

}  // namespace

Result<RabbitTarget> parse_rabbit_target(std::string_view text) {
  if (!text.starts_with(RabbitTarget::prefix)) return not_understood(text);
  const std::string_view place = text.substr(RabbitTarget::prefix.size());
  const auto slash = place.find('/');
  const bool is_queue = slash == std::string_view::npos;
  auto exchange = unescaped(is_queue ? std::string_view() : place.substr(0, slash));
  auto key = unescaped(is_queue ? place : place.substr(slash + 1));
  if (!exchange || !key) return not_understood(text);
  if (exchange->empty() && key->empty()) return not_understood(text);
  if (exchange->size() > longest_name || key->size() > longest_name) return not_understood(text);
  return RabbitTarget{std::move(*exchange), std::move(*key)};
}

RabbitOutlet::RabbitOutlet(RabbitServer server, RabbitSources sources)
    : sources_(std::move(sources)), publisher_(std::move(server), "dlo replays") {}

bool RabbitOutlet::covers(const std::string& target) const {
  return target.starts_with(RabbitTarget::prefix) || sources_.sources.contains(target) ||
         sources_.queues.contains(target);
}

Result<void> RabbitOutlet::check(const std::string& target) const {
  if (sources_.sources.contains(target) || sources_.queues.contains(target)) return {};
  const auto place = parse_rabbit_target(target);
  if (!place) return place.error();
  if (place->exchange.empty() && sources_.dead_letters.contains(place->routing_key)) {
    return comes_back(place->routing_key);
  }
  return {};
}

/// To where it failed and nowhere else: what else is bound to its exchange has had it.
Result<RabbitTarget> RabbitOutlet::place_of(const std::string& target,
                                            const Message& message) const {
  if (target.starts_with(RabbitTarget::prefix)) return parse_rabbit_target(target);
  const Header* origin = find_header(message.headers, origin_header);
  const auto queue = sources_.queues.find(target);
  if (queue != sources_.queues.end() && (origin == nullptr || origin->value.empty())) {
    return RabbitTarget{"", queue->second};
  }
  if (origin == nullptr || origin->value.empty()) {
    return Error{Code::not_found, where,
                 "Nothing tells in which queue it failed. Say where it is to go (--to amqp:QUEUE), "
                 "or name that queue as `origin` of its collector."};
  }
  if (sources_.dead_letters.contains(origin->value)) return comes_back(origin->value);
  return RabbitTarget{"", origin->value};
}

Result<std::vector<std::optional<Error>>> RabbitOutlet::send(
    const std::string& target, std::span<const Publication> messages) {
  std::vector<std::optional<Error>> outcomes(messages.size());
  std::vector<RabbitPost> posts;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    auto place = place_of(target, *messages[i].message);
    if (!place) {
      outcomes[i] = place.error();
      continue;
    }
    std::shared_ptr<rabbitmq::Carried> carried;
    if (messages[i].counters.attempt > 0) {  // the count goes on: it is ours to carry (RMQ-21)
      carried = std::make_shared<rabbitmq::Carried>();
      carried->counters = messages[i].counters;
    }
    posts.push_back({std::move(place->exchange), std::move(place->routing_key),
                     for_the_wire(*messages[i].message), std::move(carried)});
    places.push_back(i);
  }
  if (posts.empty()) return outcomes;
  auto sent = publisher_.send(posts);
  if (!sent) return sent.error();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (posts.size() > 1 && (*sent)[i] && may_be_a_neighbours(*(*sent)[i])) {
      auto alone = publisher_.send({&posts[i], 1});
      (*sent)[i] = alone ? std::move(alone->front()) : alone.error();
    }
    if ((*sent)[i]) outcomes[places[i]] = final_refusal(std::move(*(*sent)[i]));
  }
  return outcomes;
}

}  // namespace dlo
