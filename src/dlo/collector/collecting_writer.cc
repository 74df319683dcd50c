#include "dlo/collector/collecting_writer.h"

#include <string>
#include <utility>

#include "dlo/broker/collected_headers.h"
#include "dlo/core/field_hash.h"
#include "dlo/core/identity.h"
#include "dlo/engine/content_lookup.h"

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
  return find_record(office_, id);
}

Result<std::optional<DeadLetter>> CollectingWriter::find_by_content(const Message& message) {
  return dlo::find_by_content(office_, message, [&](const DeadLetter& record) {
    if (origin_of(*record.message) != origin_of(message)) return false;
    return absorbed_.insert(record.id).second;
  });
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
