#include "dlo/api/router.h"

#include <algorithm>
#include <utility>

#include "dlo/api/curtain.h"

namespace dlo::api {
namespace {

bool is_place(std::string_view step) noexcept {
  return step.starts_with('{');
}

std::vector<std::string_view> steps_of(std::string_view pattern) {
  std::vector<std::string_view> steps;
  pattern.remove_prefix(1);
  while (!pattern.empty()) {
    const auto slash = pattern.find('/');
    steps.push_back(pattern.substr(0, slash));
    pattern.remove_prefix(slash == std::string_view::npos ? pattern.size() : slash + 1);
  }
  return steps;
}

/// Of as many steps.
bool fits(const std::vector<std::string_view>& pattern, const std::vector<std::string>& steps) {
  if (pattern.empty()) return true;
  const std::string_view last = pattern.back();  // which most routes are told apart by
  if (last.size() != steps.back().size() && !is_place(last)) return false;
  for (std::size_t i = pattern.size(); i-- > 0;) {  // the differences are at the end
    if (!is_place(pattern[i]) && pattern[i] != steps[i]) return false;
  }
  return true;
}

}  // namespace

Handler answering(std::function<HttpResponse(const Request&)> answer) {
  return [answer = std::move(answer)](const Request& request, const ExchangePtr& exchange) {
    HttpResponse told = answer(request);
    // An act that came too late is a refused one too.
    if (told.status == 409) request.note_refused("it is not possible as things are");
    if (told.status == 412) request.note_refused("it was meant for another version");
    exchange->send(std::move(told));
  };
}

Router::Router(std::vector<Route> routes) : routes_(std::move(routes)) {
  patterns_.reserve(routes_.size());
  for (const Route& route : routes_) {
    patterns_.push_back(steps_of(route.pattern));
    const std::size_t length = patterns_.back().size();
    if (by_length_.size() <= length) by_length_.resize(length + 1);
    by_length_[length].push_back(patterns_.size() - 1);
    actions_.push_back(action_of(route.method, route.pattern));
    reaches_.push_back(reach_of(route.method, route.pattern));
  }
}

std::vector<std::string> Router::actions() const {
  std::vector<std::string> all = actions_;
  all.emplace_back(reveal_action);  // no route by itself: it widens what `read` shows
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Router::Match Router::find(std::string_view method, std::vector<std::string> steps) const {
  if (method == "HEAD") method = "GET";
  Match match;
  std::string allowed;
  static const std::vector<std::size_t> none;
  for (const std::size_t i : steps.size() < by_length_.size() ? by_length_[steps.size()] : none) {
    if (!fits(patterns_[i], steps)) continue;
    if (routes_[i].method != method) {
      if (!allowed.empty()) allowed += ", ";
      allowed += routes_[i].method;
      continue;
    }
    match.route = &routes_[i];
    match.action = &actions_[i];
    match.reach = reaches_[i];
    for (std::size_t step = 0; step < steps.size(); ++step) {
      if (is_place(patterns_[i][step])) match.path.push_back(std::move(steps[step]));
    }
    return match;
  }
  if (allowed.empty()) {
    match.refusal = problem(404, "no_such_route",
                            "There is nothing at this address. /v1/openapi.yaml describes "
                            "what there is.");
  } else {
    match.refusal = problem(405, "method_not_allowed", "This address answers to: " + allowed + ".");
    match.refusal.headers.push_back({"Allow", std::move(allowed)});
  }
  return match;
}

}  // namespace dlo::api
