#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/postgres/connection.h"
#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/rules.h"
#include "dlo/store/sql/head.h"

// What readers ask. Whatever needs more than one statement is asked in one transaction that sees
// one moment, in one round trip. All throw `Failed`.

namespace dlo::postgres {

/// Begins a transaction that sees one moment; goes into the pipeline.
void send_snapshot(Connection& db);

[[nodiscard]] std::optional<RecordDetail> read_record(Connection& db, const RecordId& id);
/// Fills in messages and facts; heads whose record is gone are left out.
[[nodiscard]] std::vector<sql::Head> complete(Connection& db, std::vector<sql::Head> heads);
[[nodiscard]] Aggregate read_aggregate(Connection& db, const AggregateRequest& request);
[[nodiscard]] std::vector<Strand> read_strands(Connection& db, const Id128& fingerprint);
[[nodiscard]] std::vector<ChangeNote> read_changes(Connection& db, std::uint64_t after,
                                                   std::size_t limit);
[[nodiscard]] std::optional<Document> read_document(Connection& db, const std::string& kind,
                                                    const std::string& key);
[[nodiscard]] std::vector<Document> read_documents(Connection& db, const std::string& kind,
                                                   const std::string& after, std::size_t limit);
[[nodiscard]] std::vector<AuditEntry> read_audit(Connection& db, std::uint64_t after,
                                                 std::size_t limit);
[[nodiscard]] std::vector<PoisonItem> read_poison(Connection& db, const PoisonQuery& query);
[[nodiscard]] std::optional<PoisonDetail> read_poison(Connection& db, PoisonKind kind,
                                                      std::int64_t number);
[[nodiscard]] std::uint64_t count_poison(Connection& db, PoisonKind kind);

}  // namespace dlo::postgres
