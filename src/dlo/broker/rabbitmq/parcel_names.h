#pragma once

#include <cstdint>
#include <string_view>

/// Names on the wire, and of properties that stand among a message's headers.
namespace dlo::rabbitmq {

inline constexpr std::string_view carried_header = "dlo-carried";
inline constexpr std::string_view delivery_count_header = "x-delivery-count";
inline constexpr std::string_view kinds_header = "amqp-kinds";

/// Properties of AMQP that a Message has no field for.
namespace property {
inline constexpr std::string_view content_encoding = "amqp-content-encoding";
inline constexpr std::string_view reply_to = "amqp-reply-to";
inline constexpr std::string_view expiration = "amqp-expiration";
inline constexpr std::string_view user_id = "amqp-user-id";
inline constexpr std::string_view app_id = "amqp-app-id";
inline constexpr std::string_view cluster_id = "amqp-cluster-id";
inline constexpr std::string_view priority = "amqp-priority";
}  // namespace property

/// Entries of `dlo-carried`.
namespace kept {
inline constexpr std::string_view of = "of";  // which message all this is about
inline constexpr std::string_view counters = "counters";
inline constexpr std::string_view due = "due";
inline constexpr std::string_view first_attempt = "first-attempt";
inline constexpr std::string_view delay = "delay";
inline constexpr std::string_view error = "error";
inline constexpr std::string_view trail = "trail";
inline constexpr std::string_view key = "key";
inline constexpr std::string_view id = "id";  // this and the next three: longer than 255 bytes
inline constexpr std::string_view type = "type";
inline constexpr std::string_view correlation = "correlation";
inline constexpr std::string_view content_type = "content-type";
inline constexpr std::string_view at = "at";  // the property has whole seconds only
inline constexpr std::string_view expires = "expires";
inline constexpr std::string_view owner = "owner";
inline constexpr std::string_view no_payload = "no-payload";
}  // namespace kept

/// Tells whether what is carried belongs to this message: whoever makes messages out of a message
/// copies its headers, ours included.
[[nodiscard]] std::int64_t mark_of(std::string_view id, std::string_view body) noexcept;

}  // namespace dlo::rabbitmq
