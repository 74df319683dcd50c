#pragma once

#include <cstdint>
#include <string>

#include "dlo/core/error.h"
#include "dlo/server/http.h"

namespace dlo::api {

/// An error as a problem document. Its `code` is the stable name of the error's code.
///   not_found 404 · conflict, lease_lost 409 · invalid_argument 400 · full 507 · refused 403 ·
///   unavailable, disk_full 503 and timed_out 504 · corrupt 500. What may work later (503, 504,
///   507) comes with Retry-After (R20).
[[nodiscard]] HttpResponse problem_of(const Error& error);
[[nodiscard]] int status_of(Code code) noexcept;

/// A JSON answer; a line end is added.
[[nodiscard]] HttpResponse json_answer(std::string body, int status = 200);
void set_etag(HttpResponse& response, std::uint64_t version);

}  // namespace dlo::api
