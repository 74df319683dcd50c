#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/sql/head.h"
#include "dlo/store/sqlite/readers.h"

namespace dlo::sqlite {

// The reads that are not lists. Each happens in one read transaction. Throw `Failed`.

[[nodiscard]] std::optional<RecordDetail> read_record(Readers::Turn& turn, const RecordId& id);
/// Fills in message and facts; false if the record is gone.
[[nodiscard]] bool complete(Readers::Turn& turn, Head& head);
/// All strands of the group that a fingerprint was merged into; none if it was not.
[[nodiscard]] std::vector<Strand> read_strands(Readers::Turn& turn, const Id128& fingerprint);
[[nodiscard]] Aggregate read_aggregate(Readers::Turn& turn, const AggregateRequest& request);
[[nodiscard]] std::vector<ChangeNote> read_changes(Readers::Turn& turn, std::uint64_t after,
                                                   std::size_t limit);

[[nodiscard]] std::optional<Document> read_document(Readers::Turn& turn, const std::string& kind,
                                                    const std::string& key);
[[nodiscard]] std::vector<Document> read_documents(Readers::Turn& turn, const std::string& kind,
                                                   const std::string& after, std::size_t limit);
[[nodiscard]] std::vector<AuditEntry> read_audit(Readers::Turn& turn, std::uint64_t after,
                                                 std::size_t limit);

[[nodiscard]] std::vector<PoisonItem> read_poison(Readers::Turn& turn, const PoisonQuery& query);
[[nodiscard]] std::optional<PoisonDetail> read_poison(Readers::Turn& turn, PoisonKind kind,
                                                      std::int64_t number);
[[nodiscard]] std::uint64_t count_poison(Readers::Turn& turn, PoisonKind kind);

}  // namespace dlo::sqlite
