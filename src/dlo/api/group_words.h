#pragma once

#include "dlo/api/request.h"
#include "dlo/core/result.h"
#include "dlo/json/fields.h"
#include "dlo/json/writer.h"
#include "dlo/server/http.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// A group as people see it at `now`: what is kept of it, its marks, and its last 24 hours.
void write_group(JsonWriter& json, const GroupSummary& group, TimePoint now);
/// Only what people said of it: what the audit trail keeps before and after a change.
void write_words(JsonWriter& json, const GroupSummary& group);

/// {status, owner, ticket, notes, tags, snoozed_until}, each of them if it is there.
[[nodiscard]] EditGroup read_group_edit(JsonFields& fields);

/// The group a request's path names; not_found and invalid_argument speak to who asked.
[[nodiscard]] Result<GroupSummary> find_group(Office& office, const Request& request);
/// The same by its id in text.
[[nodiscard]] Result<GroupSummary> find_group(Office& office, std::string_view id);

/// 412 unless the request's If-Match names the version of `group`; nothing if it names none.
[[nodiscard]] std::optional<HttpResponse> refuse_old(const Request& request,
                                                     const GroupSummary& group);

/// What the office said to an act on a group; a version that changed meanwhile is 412 if it was
/// asked for.
[[nodiscard]] HttpResponse refusal_of(const Request& request, const Error& error);

/// The group as it is now, with its ETag.
[[nodiscard]] HttpResponse group_answer(Office& office, const Id128& id, TimePoint now);

}  // namespace dlo::api
