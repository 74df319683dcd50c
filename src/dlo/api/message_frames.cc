#include "dlo/api/message_frames.h"

#include <cstdint>

#include "dlo/json/parts.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t settlement_size = 17;

Error broken(const std::string& what) {
  return {Code::invalid_argument, "api.frames",
          what + ". Nothing was done; docs/api.md describes the format."};
}

std::uint64_t number(std::string_view bytes, std::size_t size) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

void append_number(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    out += static_cast<char>(value & 0xFFU);
    value >>= 8U;
  }
}

/// A lease is told in hex elsewhere: its bytes are those digits in the same order, so that whoever
/// receives frames can tell a failure as NDJSON.
void append_lease(std::string& out, const LeaseToken& lease) {
  for (const std::uint64_t half : {lease.high, lease.low}) {
    for (unsigned bits = 64; bits > 0; bits -= 8)
      out += static_cast<char>(half >> (bits - 8U) & 0xFFU);
  }
}

LeaseToken read_lease(std::string_view bytes) noexcept {
  std::uint64_t halves[2] = {0, 0};
  for (std::size_t i = 0; i < 16; ++i) {
    halves[i / 8] = halves[i / 8] << 8U | static_cast<std::uint8_t>(bytes[i]);
  }
  return LeaseToken{Id128{halves[0], halves[1]}};
}

bool is_plain(const Message& message) noexcept {
  return message.id.empty() && message.event_type.empty() && message.key.empty() &&
         message.correlation_id.empty() && message.content_type.empty() &&
         message.headers.empty() && message.payload && !message.owner;
}

/// The message without its payload, or nothing for one that is payload only.
std::string head_of(const Message& message) {
  if (is_plain(message)) return {};
  Message bare = message;
  bare.payload.reset();
  JsonWriter json;
  write_json(json, bare);
  return json.take();
}

}  // namespace

Result<std::vector<Frame>> read_frames(std::string_view bytes) {
  std::vector<Frame> frames;
  while (!bytes.empty()) {
    const std::string which = "Message " + std::to_string(frames.size() + 1);
    if (bytes.size() < 8) return broken(which + " ends in the middle of its sizes");
    const std::uint64_t size = number(bytes, 4);
    const std::uint64_t head = number(bytes.substr(4), 4);
    bytes.remove_prefix(4);
    if (size < 4 + head) return broken(which + " is shorter than its own head");
    if (size > bytes.size()) return broken(which + " is longer than what was sent");
    frames.push_back({bytes.substr(4, head), bytes.substr(4 + head, size - 4 - head)});
    bytes.remove_prefix(size);
  }
  return frames;
}

void append_frame(std::string& out, std::string_view head, std::string_view payload) {
  append_number(out, 4 + head.size() + payload.size(), 4);
  append_number(out, head.size(), 4);
  out += head;
  out += payload;
}

std::string handed_frames(const std::vector<PullDesk::Handed>& handed) {
  std::string out;
  for (const auto& each : handed) {
    const std::string head = head_of(*each.message);
    const std::string_view payload =
        each.message->payload ? std::string_view(*each.message->payload) : std::string_view();
    append_number(out, 24 + head.size() + payload.size(), 4);
    append_lease(out, each.lease);
    append_number(out, each.counters.attempt, 4);
    append_number(out, head.size(), 4);
    out += head;
    out += payload;
  }
  return out;
}

Result<std::vector<PullSettlement>> read_settlements(std::string_view bytes) {
  if (bytes.size() % settlement_size != 0) {
    return broken("Settlements are 17 bytes each, and this is no multiple of that");
  }
  std::vector<PullSettlement> settlements;
  settlements.reserve(bytes.size() / settlement_size);
  for (; !bytes.empty(); bytes.remove_prefix(settlement_size)) {
    PullSettlement each{read_lease(bytes), PullCompleted{}};
    const auto outcome = static_cast<std::uint8_t>(bytes[16]);
    if (outcome == 1) {
      each.ending = PullReleased{};
    } else if (outcome != 0) {
      return broken("Outcome " + std::to_string(outcome) +
                    " is neither 0 (complete) nor 1 (release); failures are told as NDJSON");
    }
    settlements.push_back(std::move(each));
  }
  return settlements;
}

}  // namespace dlo::api
