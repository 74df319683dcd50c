#pragma once

#include <string>
#include <string_view>

#include "dlo/core/dead_letter.h"
#include "dlo/core/explain.h"
#include "dlo/core/forms.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/query.h"

namespace dlo {

// Values as JSON text on one line, for the CLI, the API and exports. Field names are stable,
// snake_case and DESIGN's words; times are ISO-8601 UTC with milliseconds, durations whole
// milliseconds in `..._ms`. Every member is always there; what is absent is null, and null and
// empty differ. Text that is not UTF-8 is repaired for reading and repeated in `<name>_base64`;
// payloads and header values that are not UTF-8 are base64 beside `<name>_encoding`. Metadata is
// embedded with its numbers as they were written.

[[nodiscard]] std::string to_json(const RecordHead& head);
[[nodiscard]] std::string to_json(const Page& page);
[[nodiscard]] std::string to_json(const DeadLetter& record);
[[nodiscard]] std::string to_json(const RecordDetail& detail);
[[nodiscard]] std::string to_json(const Message& message);
[[nodiscard]] std::string to_json(const Attempt& attempt);
[[nodiscard]] std::string to_json(const Version& version);
[[nodiscard]] std::string to_json(const GroupSummary& group);
[[nodiscard]] std::string to_json(const Aggregate& aggregate);
[[nodiscard]] std::string to_json(const Explanation& explanation);
[[nodiscard]] std::string to_json(const AuditEntry& entry);

/// A record in the words of its document (R14): the body alone, or an object of `headers` and
/// `body` where the document has both. JSON that was kept as text is embedded without its blanks,
/// numbers untouched; what is no JSON is a string.
[[nodiscard]] std::string to_json(const RenderedForm& form);

/// S3-37 and S3-38, with the kind and the record's id. As in the document, only activities have
/// `execution_id`, `activity_name`, `activity_id` and, in detail, `input`.
[[nodiscard]] std::string to_json(const PoisonItem& item);
[[nodiscard]] std::string to_json(const PoisonDetail& detail);

/// An exported record read back: parse(to_json(d)) is d, byte for byte; attempts and versions may
/// be missing. Members that are missing keep their defaults, except `id` and `message`, which must
/// be there. A member nobody knows is refused with the nearest spelling rather than lost.
[[nodiscard]] Result<RecordDetail> parse_record_detail(std::string_view text);

/// A message alone, as to_json(const Message&) writes it.
[[nodiscard]] Result<Message> parse_message(std::string_view text);

/// An exported entry, byte for byte: its hash can be checked far from the office. Every member must
/// be there.
[[nodiscard]] Result<AuditEntry> parse_audit_entry(std::string_view text);

}  // namespace dlo
