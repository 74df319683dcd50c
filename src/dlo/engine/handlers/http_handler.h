#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/engine/handler.h"
#include "dlo/engine/handlers/http_channel.h"
#include "dlo/engine/handlers/http_request.h"
#include "dlo/engine/handlers/signature.h"

namespace dlo {

struct HttpPushOptions {
  std::string url;                        // http or https
  HttpHeaders headers;                    // added to each request, e.g. authorization
  std::vector<std::string> pass_headers;  // message headers sent under their own names
  std::vector<std::string> secrets;       // to sign with; none: unsigned
  bool reads_result = false;  // 2xx with a result that says it failed is a failure (returned.h)
  Millis timeout{30'000};     // beside the one of the run; the shorter counts, zero does not
  HttpTransport transport;
  std::function<TimePoint()> clock;  // for signatures and Retry-After dates; empty: the system's
};

/// Posts each message to a URL as a CloudEvent in binary mode, optionally signed (README.md has
/// the headers). 2xx is done; any other answer is a failure with its status, problem document
/// and Retry-After; no answer is a failure whose code says why. Certificates are verified, only
/// redirects that keep method, body and origin (307, 308) are followed, connections are reused.
class HttpHandler final : public Handler {
 public:
  /// Refuses a bad URL, illegal headers and weak secrets, with what to change.
  [[nodiscard]] static Result<std::unique_ptr<HttpHandler>> make(HttpPushOptions options);

  Outcome run(const Message& message, const RunContext& context) override;

 private:
  HttpHandler(HttpPushOptions options, Signer signer);
  [[nodiscard]] Outcome push(HttpChannel& channel, const Message& message,
                             const RunContext& context) const;
  [[nodiscard]] std::optional<Outcome> result_of(const HttpAnswer& answer) const;
  HttpPushOptions options_;
  Signer signer_;
  HttpChannelPool channels_;
};

}  // namespace dlo
