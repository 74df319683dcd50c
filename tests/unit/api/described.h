#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/api/schema_check.h"

#include "dlo/api/router.h"
#include "dlo/json/text/value.h"
#include "dlo/server/http.h"

namespace dlo::api {

/// The description that the server serves, asked questions. Complaints say what to write, and
/// where.
class Described {
 public:
  /// The one inside the program.
  static const Described& shared();
  explicit Described(std::string text);

  using Complaints = std::vector<std::string>;

  /// Routes that are not described, descriptions without a route, and wherever the two differ.
  [[nodiscard]] Complaints routes(const std::vector<Route>& routes) const;
  /// A request that was accepted and its answer, or one that was refused.
  [[nodiscard]] Complaints exchange(const HttpRequest& request, const HttpResponse& answer) const;
  /// Every $ref leads somewhere.
  [[nodiscard]] Complaints references() const;
  /// Every error code that any answer may have.
  [[nodiscard]] std::set<std::string> codes() const;

 private:
  struct Operation {
    const JsonValue* path = nullptr;
    const JsonValue* own = nullptr;
  };
  [[nodiscard]] Operation find(const std::string& method, const std::string& pattern) const;
  [[nodiscard]] std::pair<std::string, Operation> match(const HttpRequest& request) const;
  [[nodiscard]] std::map<std::string, std::set<std::string>> parameters(const Operation& of) const;
  void compare(const Route& route, const Operation& operation, Complaints& found) const;
  void check_body(const JsonValue& media, const HttpRequest& request, const std::string& type,
                  const std::string& body, const std::string& what, Complaints& found) const;
  void check_answer(const Operation& operation, const HttpRequest& request,
                    const HttpResponse& answer, const std::string& what, Complaints& found) const;
  void check_problem(const JsonValue& response, const HttpResponse& answer, const std::string& what,
                     Complaints& found) const;

  const std::string text_;
  JsonValue document_;
  SchemaCheck schemas_;
};

}  // namespace dlo::api
