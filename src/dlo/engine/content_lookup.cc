#include "dlo/engine/content_lookup.h"

#include <utility>

#include "dlo/core/identity.h"

namespace dlo {

Result<std::optional<DeadLetter>> find_record(Office& office, const RecordId& id) {
  auto detail = office.get(id);
  if (detail) return std::optional<DeadLetter>(std::move(detail->record));
  if (detail.error().code == Code::not_found) return std::optional<DeadLetter>();
  return detail.error();
}

Result<std::optional<DeadLetter>> find_by_content(
    Office& office, const Message& message, const std::function<bool(const DeadLetter&)>& wanted) {
  Query query;
  const auto& statuses = all_statuses();
  query.statuses.assign(statuses.begin(), statuses.end());
  query.source = message.source;
  query.source_unsettled = true;
  query.limit = 200;
  while (true) {
    auto page = office.list(query);
    if (!page) return page.error();
    for (const RecordHead& head : page->rows) {
      if (head.event_type != message.event_type || head.key != message.key) continue;
      if (head.payload_size != (message.payload ? message.payload->size() : 0)) continue;
      auto record = find_record(office, head.id);
      if (!record) return record.error();
      if (!*record || !same_content(*(*record)->message, message)) continue;
      if (!wanted || wanted(**record)) return record;
    }
    if (!page->next) return std::optional<DeadLetter>();
    query.after = page->next;
  }
}

}  // namespace dlo
