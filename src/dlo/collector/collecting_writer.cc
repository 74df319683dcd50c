#include "dlo/collector/collecting_writer.h"

#include <string>
#include <utility>

#include "dlo/broker/collected_headers.h"
#include "dlo/core/field_hash.h"
#include "dlo/core/identity.h"

namespace dlo::collector {
namespace {

std::string origin_of(const Message& message) {
  const Header* header = find_header(message.headers, origin_header);
  return header == nullptr ? std::string() : header->value;
}

RecordId with_origin(const RecordId& id, const Message& message) {
  FieldHash hash;
  hash.field("collected");
  hash.number(id.high);
  hash.number(id.low);
  hash.field(origin_of(message));
  return RecordId{hash.id()};
}

}  // namespace

Result<std::optional<DeadLetter>> CollectingWriter::get(const RecordId& id) {
  auto detail = office_.get(id);
  if (detail) return std::optional<DeadLetter>(std::move(detail->record));
  if (detail.error().code == Code::not_found) return std::optional<DeadLetter>();
  return detail.error();
}

Result<std::optional<DeadLetter>> CollectingWriter::find_by_content(const Message& message) {
  Query query;
  const auto& statuses = all_statuses();
  query.statuses.assign(statuses.begin(), statuses.end());
  query.source = message.source;
  query.source_unsettled = true;
  query.limit = 200;
  while (true) {
    auto page = office_.list(query);
    if (!page) return page.error();
    for (const RecordHead& head : page->rows) {
      if (head.event_type != message.event_type || head.key != message.key) continue;
      if (head.payload_size != (message.payload ? message.payload->size() : 0)) continue;
      if (absorbed_.contains(head.id)) continue;
      auto record = get(head.id);
      if (!record) return record.error();
      if (!*record || !same_content(*(*record)->message, message)) continue;
      if (origin_of(*(*record)->message) != origin_of(message)) continue;
      absorbed_.insert(head.id);
      return record;
    }
    if (!page->next) return std::optional<DeadLetter>();
    query.after = page->next;
  }
}

Result<std::optional<DeadLetter>> CollectingWriter::find_repeat(const Delivery& delivery) {
  const Message& message = *delivery.message;
  if (lineage_of(message.headers)) return appending_.find_repeat(delivery);
  if (!has_stable_identity(message)) return find_by_content(message);
  auto record = get(with_origin(identify(message), message));
  if (!record || !*record) return record;
  const Arrival arrival{1, message.position.has_value(), true, {}};
  if (is_repeat(existing_of(**record), arrival)) return record;
  return std::optional<DeadLetter>();
}

Result<void> CollectingWriter::name(const Delivery& delivery, DeadLetter& record) {
  if (auto named = appending_.name(delivery, record); !named) return named;
  const Message& message = *delivery.message;
  if (record.id == identify(message, delivery.lease)) record.id = with_origin(record.id, message);
  return {};
}

}  // namespace dlo::collector
