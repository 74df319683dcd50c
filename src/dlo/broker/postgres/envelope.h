#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dlo/core/failure.h"
#include "dlo/core/message.h"

namespace dlo::postgres {

/// A message but for what has a column of its own: payload, priority, expiry, place.
struct Envelope {
  std::shared_ptr<Message> message;
  bool has_payload = false;
  std::shared_ptr<const Failure> undecodable;  // why the payload cannot be read; null: it can
};

/// `keeps_source`: the queue has no name to give it.
[[nodiscard]] std::string encode_envelope(const Message& message, TimePoint enqueued_at,
                                          bool keeps_source, const Failure* undecodable = nullptr);
/// Null in `message` if these bytes are not an envelope.
[[nodiscard]] Envelope decode_envelope(std::string_view bytes);

/// What a key is known by in a queue: never 0, unless it is empty.
[[nodiscard]] std::int64_t hash_of_key(std::string_view key) noexcept;

/// What a message weighs against max_bytes.
[[nodiscard]] std::uint64_t weight_of(const Message& message) noexcept;

}  // namespace dlo::postgres
