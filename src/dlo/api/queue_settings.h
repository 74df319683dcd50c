#pragma once

#include <string>

#include "dlo/broker/source_options.h"
#include "dlo/core/profile.h"
#include "dlo/core/result.h"
#include "dlo/json/fields.h"
#include "dlo/json/writer.h"

namespace dlo::api {

/// How a queue of the server works. Kept as a document in the office, under its name: what is
/// declared there exists after a restart whatever happened in between.
struct QueueSettings {
  SourceOptions source;                                     // its `source` is the queue's name
  std::string profile = std::string(default_profile_name);  // decides about failures
  Millis lease_for{30'000};                                 // unless a receiver asks for another
};
inline constexpr const char* queue_kind = "queue";

/// Letters, digits, '.', '_', '-' and '/', at most 200 bytes.
[[nodiscard]] Result<void> check_queue_name(const std::string& name);

/// Those of a queue that the first message makes, or a declaration without members.
[[nodiscard]] QueueSettings usual_queue_settings(const std::string& name);

/// The members of a declaration; those that are missing keep their defaults.
[[nodiscard]] QueueSettings read_queue_settings(JsonFields& fields, const std::string& name);
void write_members(JsonWriter& json, const QueueSettings& settings);
/// What the trail keeps of a pause or a resumption.
[[nodiscard]] std::string pause_text(bool before, bool after);

}  // namespace dlo::api
