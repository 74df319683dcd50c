#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/store/office.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::testing {

/// The n-th letter: pending, of source "orders", died n ms after noon of "timed out (n)".
[[nodiscard]] DeadLetter letter(std::uint64_t n);
[[nodiscard]] Change append_of(DeadLetter record);
/// `letter(n)` with another payload.
[[nodiscard]] DeadLetter letter_with_payload(std::uint64_t n, std::string payload);

[[nodiscard]] std::unique_ptr<SqliteOffice> open_office(const std::string& directory,
                                                        SqliteOptions options = {});
void must_apply(Office& office, const std::vector<Change>& changes);
[[nodiscard]] std::vector<RecordId> all_pages(Office& office, Query query);
/// Waits, for at most 30 s, until the payload index has followed.
void wait_for_index(Office& office);

/// The answer of one SQL question on a database file, rows joined by newlines, columns by commas.
std::string ask(const std::string& file, const std::string& sql);
[[nodiscard]] std::string bytes_of(const std::string& file);
void write_bytes(const std::string& file, const std::string& bytes);

/// Runs `body` in a process of its own; its answer is the exit code, 255 after an exception. The
/// process must have no other thread.
[[nodiscard]] int in_child(const std::function<int()>& body);

/// Takes step 5 of the schema back: nobody knows by which kinds of policies records are retried.
#define DLO_WITHOUT_POLICIES                                    \
  "DROP TABLE policies; UPDATE records SET flags = flags & 31;" \
  "DELETE FROM schema_versions WHERE version > 4;"
inline constexpr const char* without_policies = DLO_WITHOUT_POLICIES;

/// ... and step 4: one line of due records, and nothing counted for ever.
#define DLO_WITHOUT_LINES                                                                \
  DLO_WITHOUT_POLICIES                                                                   \
  "DROP INDEX records_due; DROP INDEX records_due_source;"                               \
  "ALTER TABLE records DROP COLUMN priority;"                                            \
  "CREATE INDEX records_due ON records(due_at) WHERE due_at IS NOT NULL;"                \
  "CREATE INDEX records_due_source ON records(source, due_at) WHERE due_at IS NOT NULL;" \
  "DELETE FROM counters WHERE name GLOB 'lifetime_*';"                                   \
  "DELETE FROM schema_versions WHERE version > 3;"
inline constexpr const char* without_lines = DLO_WITHOUT_LINES;

/// ... and step 3: groups as they were before they were issues.
inline constexpr const char* without_issues = DLO_WITHOUT_LINES
    "DROP TABLE strands; ALTER TABLE groups DROP COLUMN version;"
    "ALTER TABLE groups DROP COLUMN resolved_at; ALTER TABLE groups DROP COLUMN regressed_at;"
    "ALTER TABLE groups DROP COLUMN repeats; ALTER TABLE groups DROP COLUMN tags;"
    "ALTER TABLE groups DROP COLUMN trend; ALTER TABLE groups DROP COLUMN strands;"
    "DELETE FROM schema_versions WHERE version > 2";

}  // namespace dlo::testing
