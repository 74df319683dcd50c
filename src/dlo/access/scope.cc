#include "dlo/access/scope.h"

#include <algorithm>

#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::size_t most_names = 100;
constexpr std::size_t longest_name = 200;

bool fits(std::string_view pattern, std::string_view action) noexcept {
  if (!pattern.ends_with(".*")) return pattern == action;
  pattern.remove_suffix(1);  // the dot stays: "queues.*" is not "queuesend"
  return action.starts_with(pattern);
}

Result<void> check_names(const std::vector<std::string>& names, const char* what) {
  if (names.size() > most_names) {
    return Error{Code::invalid_argument, "access.scope",
                 "A token has at most " + std::to_string(most_names) + " " + what + "."};
  }
  for (const std::string& name : names) {
    if (!name.empty() && name.size() <= longest_name && is_utf8(name)) continue;
    return Error{
        Code::invalid_argument, "access.scope",
        in_quotes(name) + " cannot be one of a token's " + what + ": a name of 1 to 200 bytes."};
  }
  return {};
}

/// `all`: whoever names none may all of them, which is more than these.
Error more_than(const std::string& what, const std::vector<std::string>& own, bool all) {
  std::string names;
  for (const std::string& each : own) names += (names.empty() ? "" : ", ") + each;
  return {Code::refused, "access.scope",
          "A token gives no more than its maker has: yours is for the " + what + " " + names +
              " only" + (all ? ", so name those that the new one is for." : ".")};
}

}  // namespace

bool allows_source(const Scope& scope, std::string_view source) noexcept {
  return scope.sources.empty() ||
         std::find(scope.sources.begin(), scope.sources.end(), source) != scope.sources.end();
}

bool allows_action(const Scope& scope, std::string_view action) noexcept {
  return scope.actions.empty() ||
         std::any_of(scope.actions.begin(), scope.actions.end(),
                     [&](const std::string& each) { return fits(each, action); });
}

Result<void> check(const Scope& scope) {
  if (auto sources = check_names(scope.sources, "sources"); !sources) return sources;
  return check_names(scope.actions, "actions");
}

Result<void> check_within(const Scope& wanted, const Scope& own) {
  const bool all_sources = wanted.sources.empty();
  if (!own.sources.empty() &&
      (all_sources || !std::all_of(wanted.sources.begin(), wanted.sources.end(),
                                   [&](const auto& each) { return allows_source(own, each); }))) {
    return more_than("sources", own.sources, all_sources);
  }
  const bool all_actions = wanted.actions.empty();
  // "queues.*" fits itself: a group is within the same group, and in none of its members.
  if (!own.actions.empty() &&
      (all_actions || !std::all_of(wanted.actions.begin(), wanted.actions.end(),
                                   [&](const auto& each) { return allows_action(own, each); }))) {
    return more_than("actions", own.actions, all_actions);
  }
  return {};
}

Result<void> check_actions(const Scope& scope, const std::vector<std::string>& known) {
  const std::vector<std::string_view> valid(known.begin(), known.end());
  for (const std::string& wanted : scope.actions) {
    const bool some = std::any_of(valid.begin(), valid.end(),
                                  [&](std::string_view each) { return fits(wanted, each); });
    if (!some) {
      return Error{Code::invalid_argument, "access.scope", unknown_name("action", wanted, valid)};
    }
  }
  return {};
}

}  // namespace dlo
