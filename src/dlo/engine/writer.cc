#include "dlo/engine/writer.h"

#include <utility>

#include "dlo/core/identity.h"
#include "dlo/engine/content_lookup.h"
#include "dlo/engine/replay_witness.h"

namespace dlo {

Result<std::optional<DeadLetter>> AppendingWriter::get(const RecordId& id) {
  return find_record(office_, id);
}

Result<std::optional<DeadLetter>> AppendingWriter::find_by_content(const Message& message) {
  while (const auto free = claims_.take(message)) {
    auto record = get(*free);
    if (!record) claims_.lost(message, *free);
    if (!record || *record) return record;
  }
  return dlo::find_by_content(office_, message, [&](const DeadLetter& record) {
    if (!node_.empty() && record.node != node_) return false;
    if (!claims_.claim(record.id)) return false;
    // Whoever had it may have used it up since it was read.
    const auto now = get(record.id);
    if (now && *now && (*now)->source_unsettled) return true;
    claims_.used(record.id);
    return false;
  });
}

Result<std::optional<AppendingWriter::Returned>> AppendingWriter::find_sender(
    const Message& message) {
  const auto lineage = lineage_of(message.headers);
  if (!lineage) return std::optional<Returned>();
  auto detail = office_.get(lineage->id);
  if (!detail && detail.error().code == Code::not_found) return std::optional<Returned>();
  if (!detail) return detail.error();
  const auto occurrence = honoured_occurrence(*lineage, sender_of(*detail, message));
  if (!occurrence) return std::optional<Returned>();
  return std::optional<Returned>(Returned{std::move(detail->record), *occurrence});
}

Result<std::optional<DeadLetter>> AppendingWriter::find_repeat(const Delivery& delivery) {
  const Message& message = *delivery.message;
  Arrival arrival{1, message.position.has_value(), true, {}};
  auto sender = find_sender(message);
  if (!sender) return sender.error();
  if (*sender) {
    arrival.occurrence = (*sender)->occurrence;
    if (!is_repeat(existing_of((*sender)->record), arrival)) return std::optional<DeadLetter>();
    return std::optional<DeadLetter>(std::move((*sender)->record));
  }
  if (!has_stable_identity(message)) return find_by_content(message);
  auto record = get(identify(message));
  if (!record || !*record) return record;
  if (is_repeat(existing_of(**record), arrival)) return record;
  return std::optional<DeadLetter>();
}

Result<void> AppendingWriter::name(const Delivery& delivery, DeadLetter& record) {
  const Message& message = *delivery.message;
  record.source_unsettled = true;
  auto sender = find_sender(message);
  if (!sender) return sender.error();
  record.id = *sender ? (*sender)->record.id : identify(message, delivery.lease);
  record.occurrence = *sender ? (*sender)->occurrence : 1;
  return {};
}

void AppendingWriter::write(const Delivery& /*delivery*/, const DeadLetterPtr& record,
                            std::vector<Attempt> attempts, TimePoint /*now*/,
                            std::vector<Change>& out) {
  out.emplace_back(Append{record, std::move(attempts)});
}

}  // namespace dlo
