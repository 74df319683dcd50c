#pragma once

#include <optional>

#include "dlo/api/request.h"
#include "dlo/core/error.h"
#include "dlo/server/http.h"

namespace dlo::api {

/// Whoever named no version (If-Match) means the thing as it is. If somebody else, a duty of the
/// server as well as a person, touches it between the look and the act, that is no reason to
/// refuse: it is looked at again, and the act is refused only if it is not possible any more.
class Overtaken {
 public:
  explicit Overtaken(const Request& request)
      : left_(request.http.has_header("If-Match") ? 1 : most_tries) {}

  /// Whether what failed with `error` is to be begun anew.
  [[nodiscard]] bool is_reason_to_begin_anew(const Error& error) noexcept {
    return error.code == Code::conflict && --left_ > 0;
  }

 private:
  static constexpr int most_tries = 8;
  int left_;
};

/// What `once` answers in the end. It answers nothing if it is to be called again.
template <typename Once>
HttpResponse answer_of_last(const Request& request, Once once) {
  Overtaken overtaken(request);
  while (true) {
    if (std::optional<HttpResponse> answer = once(overtaken)) return std::move(*answer);
  }
}

}  // namespace dlo::api
