#pragma once

#include <amqp.h>
#include <memory>
#include <optional>
#include <string>

#include "dlo/broker/rabbitmq/table.h"
#include "dlo/core/counters.h"
#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo::rabbitmq {

/// What is known of a message besides itself. It travels in one header, `dlo-carried`, and (for
/// others to read) the number of attempts in `dlo-attempts` (R6).
struct Carried {
  Counters counters;
  std::optional<TimePoint> due;  // not to be handed out before
  std::optional<TimePoint> first_attempt_at;
  Millis previous_delay{0};
  std::string last_error;
  std::string trail;
  bool operator==(const Carried&) const = default;
};

/// A message as it came, its body still to be added.
struct Parcel {
  Message message;  // source and payload are left out; no time: enqueued_at is zero
  Carried carried;
  std::uint32_t returns = 0;  // how often a quorum queue got it back (x-delivery-count)

  // Of our own header, until the body is there and `seal` can tell whether it belongs to it.
  std::optional<std::int64_t> carried_for;
  Message carried_fields;
  bool null_payload = false;
};

void open_parcel(const amqp_basic_properties_t& properties, Parcel& parcel);
/// Adds the body. What was carried for another message (somebody copied headers) is forgotten.
void seal(Parcel& parcel, std::string body);

/// A message as it goes out. `message` and `carried` must outlive it.
class Outgoing {
 public:
  Outgoing(const Message& message, const Carried& carried);

  [[nodiscard]] const amqp_basic_properties_t& properties() noexcept;
  [[nodiscard]] amqp_bytes_t body() const noexcept;
  /// Whether its header fits into one frame: it must.
  [[nodiscard]] Result<void> fits(std::size_t frame_max);

 private:
  void add_headers();
  void add_carried();
  void set_fields();
  void set(amqp_flags_t flag, amqp_bytes_t& to, std::string_view value, const char* if_long);
  void set_property(const Header& header);

  const Message& message_;
  const Carried& carried_;
  Table headers_;
  Table kept_;  // dlo-carried
  Table owner_;
  std::string counters_;
  amqp_basic_properties_t properties_{};
};

}  // namespace dlo::rabbitmq
