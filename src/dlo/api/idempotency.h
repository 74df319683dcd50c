#pragma once

#include <optional>
#include <string>

#include "dlo/api/request.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// An act that is asked for twice under one Idempotency-Key happens once, and both are answered
/// alike. The answer is a document written in the same list as the act itself, so there is no
/// moment at which one is durable and the other is not. Remembered for a day.
class IdempotencyKey {
 public:
  /// Empty if the request has no such header. Refuses one that is empty or longer than 200 bytes.
  [[nodiscard]] static Result<std::optional<IdempotencyKey>> of(const Request& request);

  /// The answer given before. Refused (conflict) if it was given to another body.
  [[nodiscard]] Result<std::optional<HttpResponse>> find(Office& office) const;

  /// What to write along with the act. Refused by the office (conflict) if it is there by now.
  [[nodiscard]] PutDocument keep(const HttpResponse& answer) const;

  /// Removes a few keys that are older than a day; every act under a key does so, and thereby they
  /// do not become more and more.
  static void forget_old(Office& office, TimePoint now);

  /// What the part of that number of the request is known by: the same under the same key.
  [[nodiscard]] Id128 identity(std::size_t part) const;

 private:
  std::string name_;    // of the key, route and actor
  std::string digest_;  // of the body
  TimePoint now_{};
};

}  // namespace dlo::api
