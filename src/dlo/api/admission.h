#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlo/api/request.h"
#include "dlo/server/http.h"

namespace dlo::api {

/// Which sources a route is about, for tokens that are for some of them only.
enum class Reach : std::uint8_t {
  nothing,     // none: who am I, is it alive
  path,        // the one its first {…} names
  handler,     // its handler asks `allows_source`, or lists no others
  everything,  // all of them: closed to such tokens. Every route that is not known to be narrower
};
[[nodiscard]] Reach reach_of(std::string_view method, std::string_view pattern) noexcept;

/// What a route does, as scopes name it: "read" for whatever only looks, else resource and verb:
/// "queues.receive", "dead-letters.resolve", "tokens.create".
[[nodiscard]] std::string action_of(std::string_view method, std::string_view pattern);

/// Why this request is outside of its token's scope; nothing if it is not.
[[nodiscard]] std::optional<HttpResponse> check_scope(const Request& request, Reach reach,
                                                      const std::string& action);

/// What an act on many needs: the action that it would need on one. "dead-letters.discard" for
/// discard, so that no job does what its asker may not do one by one.
[[nodiscard]] std::string action_of_act(std::string_view act);
/// Why whoever asks may not have an act done to many, noted as refused; nothing if they may. With a
/// recipe it is an edit, too.
[[nodiscard]] std::optional<HttpResponse> check_act(const Request& request, std::string_view act,
                                                    bool with_recipe = false);

/// Why a request was made by a web page that has no business here; nothing if it was not.
/// - A page of another origin may not act: browsers say so by `Origin` or `Sec-Fetch-Site`.
/// - Without tokens, a page may not reach us under a name of its own (DNS rebinding): a `Host` that
///   is a domain name is refused.
[[nodiscard]] std::optional<HttpResponse> check_page(const HttpRequest& request, bool by_token);

}  // namespace dlo::api
