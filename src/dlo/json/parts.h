#pragma once

#include "dlo/core/dead_letter.h"
#include "dlo/core/forms.h"
#include "dlo/json/writer.h"
#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/query.h"

namespace dlo {

// Pieces that several documents share. Each writes one JSON value.
void write_json(JsonWriter& json, const Counters& counters);
void write_json(JsonWriter& json, const Headers& headers);
void write_json(JsonWriter& json, const Failure& failure);
void write_json(JsonWriter& json, const Message& message);
void write_json(JsonWriter& json, const Attempt& attempt);
void write_json(JsonWriter& json, const Version& version);
void write_json(JsonWriter& json, const RecordHead& head);
void write_json(JsonWriter& json, const GroupSummary& group);
void write_members(JsonWriter& json, const GroupSummary& group);  // without the braces
void write_json(JsonWriter& json, const AuditEntry& entry);
void write_json(JsonWriter& json, const RenderedForm& form);
void write_json(JsonWriter& json, const PoisonItem& item);
void write_json(JsonWriter& json, const PoisonDetail& detail);

}  // namespace dlo
