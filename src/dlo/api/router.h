#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/api/admission.h"
#include "dlo/api/request.h"
#include "dlo/server/http_exchange.h"

namespace dlo::api {

/// Where a handler runs.
enum class Lane : std::uint8_t {
  here,   // on the I/O thread: it waits for nothing
  quick,  // on threads for short acts
  slow,   // on threads for lists and searches, so that these hold up no acts
};

/// Answers now or later; see HttpExchange.
using Handler = std::function<void(Request, ExchangePtr)>;

/// One row of the API. Everything that is true of all routes (roles, description, strictness) is
/// read off this table and tested over it.
struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/dead-letters/{id}"
  Role role = Role::admin;
  Lane lane = Lane::quick;
  std::vector<std::string_view> query;  // the parameters it knows; others are refused by name
  Handler run;
};

/// A handler that has its answer at once.
[[nodiscard]] Handler answering(std::function<HttpResponse(const Request&)> answer);

class Router {
 public:
  explicit Router(std::vector<Route> routes);

  struct Match {
    const Route* route = nullptr;  // null: `refusal` says why
    const std::string* action = nullptr;
    Reach reach = Reach::everything;
    std::vector<std::string> path;  // what {…} stand for
    HttpResponse refusal;
  };
  /// 404 for a path nobody has, 405 (with Allow) for a method it does not have. HEAD is GET.
  [[nodiscard]] Match find(std::string_view method, std::vector<std::string> steps) const;

  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }
  /// Every name a scope may have, once.
  [[nodiscard]] std::vector<std::string> actions() const;

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string_view>> patterns_;  // in steps
  std::vector<std::vector<std::size_t>> by_length_;      // which routes have so many steps
  std::vector<std::string> actions_;                     // of each route
  std::vector<Reach> reaches_;
};

}  // namespace dlo::api
