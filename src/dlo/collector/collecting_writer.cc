#include "dlo/collector/collecting_writer.h"

#include <string>
#include <utility>
#include <vector>

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
  const auto is_it = [&](const DeadLetter& record) {
    return origin_of(*record.message) == origin_of(message);
  };
  ContentClaims& claims = *appending_.claims();
  std::vector<RecordId> others;
  Result<std::optional<DeadLetter>> found = std::optional<DeadLetter>();
  while (const auto free = claims.take(message)) {
    found = get(*free);
    if (found && *found && is_it(**found)) break;
    if (!found || *found) others.push_back(*free);
    if (!found) break;
    found = std::optional<DeadLetter>();
  }
  for (const RecordId& each : others) claims.lost(message, each);
  if (!found || *found) return found;
  return dlo::find_by_content(office_, message, [&](const DeadLetter& record) {
    return is_it(record) && claims.claim(record.id);
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
  // It is acknowledged as soon as it is durable. After a crash in between nobody can tell whether
  // it was, and an identical message must not vanish behind this record: in doubt there are two.
  if (!has_stable_identity(message)) record.source_unsettled = false;
  return {};
}

}  // namespace dlo::collector
