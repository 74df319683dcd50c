#include "dlo/core/identity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "dlo/core/field_hash.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

/// In these states an arrival without lineage may be something the office does not have yet.
bool expects_news(Status status) noexcept {
  return is_closed(status) || status == Status::replaying || status == Status::replayed;
}

bool is_header(const Header& header, std::string_view name) noexcept {
  const auto lower = [](char c) { return ascii_lower(c); };
  return std::ranges::equal(header.name, name, {}, lower, lower);
}

}  // namespace

RecordId identify(const Message& message, const Id128& delivery) {
  FieldHash hash;
  if (message.position) {
    hash.field("position");
    hash.field(message.source);
    hash.field(message.position->partition);
    hash.number(static_cast<std::uint64_t>(message.position->offset));
    return RecordId{hash.id()};
  }
  hash.field(message.id.empty() ? "content" : "message-id");
  hash.field(message.source);
  if (message.id.empty()) {
    hash.number(delivery.high);
    hash.number(delivery.low);
  } else {
    hash.field(message.id);
  }
  hash.field(message.event_type);
  hash.field(message.key);
  hash.field(message.content_type);
  hash.nullable(message.payload);
  return RecordId{hash.id()};
}

bool has_stable_identity(const Message& message) noexcept {
  return message.position.has_value() || !message.id.empty();
}

bool same_content(const Message& a, const Message& b) noexcept {
  return a.event_type == b.event_type && a.key == b.key && a.content_type == b.content_type &&
         a.payload == b.payload;
}

std::optional<Lineage> lineage_of(const Headers& headers) noexcept {
  const Header* id = find_header(headers, lineage_id_header);
  const Header* replay = find_header(headers, lineage_replay_header);
  if (id == nullptr || replay == nullptr) return std::nullopt;
  const auto record = parse_id(id->value);
  std::uint32_t number = 0;
  const char* end = replay->value.data() + replay->value.size();
  const auto [stop, error] = std::from_chars(replay->value.data(), end, number);
  if (!record || error != std::errc{} || stop != end || number == 0) return std::nullopt;
  return Lineage{RecordId{*record}, number};
}

void stamp_lineage(Headers& headers, const Lineage& lineage) {
  std::erase_if(headers, [](const Header& header) {
    return is_header(header, lineage_id_header) || is_header(header, lineage_replay_header);
  });
  headers.push_back({std::string(lineage_id_header), to_string(lineage.id), HeaderType::text});
  headers.push_back(
      {std::string(lineage_replay_header), std::to_string(lineage.replay), HeaderType::text});
}

bool is_what_was_sent(const Message& arrived, const Message& known,
                      std::span<const std::optional<std::string>* const> payloads) noexcept {
  const bool same_letter = arrived.id == known.id && arrived.event_type == known.event_type &&
                           arrived.key == known.key && arrived.content_type == known.content_type;
  if (!same_letter) return false;
  return arrived.payload == known.payload ||
         std::ranges::any_of(payloads, [&](const auto* each) { return arrived.payload == *each; });
}

std::optional<std::uint32_t> honoured_occurrence(const Lineage& lineage,
                                                 const Sender& record) noexcept {
  const bool issued = record.sent_it && (record.replays_sent > 0 || record.ran) &&
                      lineage.replay > 0 && lineage.replay <= record.occurrence &&
                      lineage.replay < std::numeric_limits<std::uint32_t>::max();
  const bool is_news = lineage.replay == record.occurrence;
  if (!issued || !(is_news || record.same_source)) return std::nullopt;
  return lineage.replay + 1;
}

Existing existing_of(const DeadLetter& record) noexcept {
  return {record.occurrence, record.status, record.source_unsettled, record.died_at};
}

Arrival arrival_of(const DeadLetter& record) noexcept {
  return {record.occurrence, record.message && record.message->position.has_value(), false,
          record.died_at};
}

AppendEffect append_effect(const std::optional<Existing>& existing,
                           const Arrival& arrival) noexcept {
  if (!existing) return AppendEffect::insert;
  if (arrival.occurrence > existing->occurrence) return AppendEffect::new_occurrence;
  if (arrival.occurrence > 1) return AppendEffect::merge;
  if (!expects_news(existing->status)) return AppendEffect::merge;
  if (arrival.died_at == existing->died_at) return AppendEffect::merge;
  const bool same_delivery =
      existing->source_unsettled && (arrival.has_position || arrival.redelivered);
  return same_delivery ? AppendEffect::merge : AppendEffect::new_occurrence;
}

std::uint32_t next_occurrence(const Existing& existing, const Arrival& arrival) noexcept {
  const std::uint32_t after = existing.occurrence == std::numeric_limits<std::uint32_t>::max()
                                  ? existing.occurrence
                                  : existing.occurrence + 1;
  return std::max(arrival.occurrence, after);
}

bool is_repeat(const std::optional<Existing>& existing, const Arrival& arrival) noexcept {
  return append_effect(existing, arrival) == AppendEffect::merge;
}

}  // namespace dlo
