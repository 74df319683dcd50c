#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/repair/recipe.h"
#include "dlo/repair/schema.h"
#include "dlo/store/office.h"

namespace dlo {

/// The number of the newest version of a dead letter; 0 if it was never edited.
[[nodiscard]] std::uint32_t newest_version(const RecordDetail& detail) noexcept;
/// What a version says; version 0 is the message as it first died. Nothing if there is none such.
[[nodiscard]] std::optional<Draft> draft_at(const RecordDetail& detail, std::uint32_t version);
/// What would be sent.
[[nodiscard]] Draft newest_draft(const RecordDetail& detail);

/// An edit that was looked at from all sides, and is not written yet.
struct Repair {
  Draft after;
  Difference difference;
  std::vector<std::string> warnings;        // sensitive headers
  std::vector<SchemaComplaint> complaints;  // of the schema of its source
  [[nodiscard]] bool changes() const noexcept {
    return difference.payload_differs || !difference.headers.empty();
  }
};

/// Refuses what touches a locked header. Complaints of the schema are for the caller to judge.
[[nodiscard]] Result<Repair> check_edit(Office& office, const RecordDetail& detail, Draft after);
/// The same for what a recipe makes of it.
[[nodiscard]] Result<Repair> check_recipe(Office& office, const RecordDetail& detail,
                                          const Recipe& recipe);
/// The complaints of a schema as one refusal; ok if there are none.
[[nodiscard]] Result<void> check_schema(const Repair& repair);

[[nodiscard]] AddVersion version_of(const DeadLetter& record, const Repair& repair, TimePoint at,
                                    std::string by, std::string why);
/// What the audit trail keeps: which headers and paths, and digests, but nothing of what they say.
[[nodiscard]] std::string audit_text(const Repair& repair, const Draft& before,
                                     std::uint32_t version, const std::string& why);

/// The JSON schema that payloads of a source must fit when they are edited: a document.
inline constexpr const char* schema_kind = "schema";
[[nodiscard]] Result<std::vector<SchemaComplaint>> schema_complaints(
    Office& office, const std::string& source, const std::optional<std::string>& payload);

}  // namespace dlo
