#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// Signs what is pushed, in the shape of Standard Webhooks: HMAC-SHA256 over
/// `<id>.<unix seconds>.<body>`, sent as `v1,<base64>`. With several secrets there is one
/// signature per secret, separated by blanks, so that receivers can rotate at their own pace.
class Signer {
 public:
  /// A secret is `whsec_` and base64, or any other text taken as its bytes. Refuses an empty one,
  /// one shorter than 16 bytes and bad base64; never repeats the secret in the error.
  [[nodiscard]] static Result<Signer> make(const std::vector<std::string>& secrets);

  [[nodiscard]] bool is_empty() const noexcept { return keys_.empty(); }

  /// The value of `webhook-signature`.
  [[nodiscard]] std::string sign(std::string_view id, TimePoint at, std::string_view body) const;

 private:
  std::vector<std::string> keys_;
};

/// Whole seconds since 1970: the value of `webhook-timestamp`.
[[nodiscard]] std::string unix_seconds(TimePoint at);

}  // namespace dlo
