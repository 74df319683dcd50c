#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/access/role.h"
#include "dlo/access/scope.h"
#include "dlo/core/instant.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/server/http.h"

namespace dlo::api {

class Curtain;

/// The longest somebody may have an answer wait for what is to come (`wait_ms`).
inline constexpr std::uint64_t longest_wait_ms = 60'000;

/// Who asks.
struct Actor {
  std::string name;
  Role role = Role::nobody;
  Scope scope{};
  std::optional<std::uint64_t> max_body{};  // of its requests
  std::optional<Millis> wait{};             // it asks too often
  std::optional<Millis> shut_out{};         // too many wrong tokens came from there: nobody
  bool by_token = false;
};

/// A request on its way to a resource: its path and query taken apart, and who asks.
struct Request {
  HttpRequest http;
  std::vector<std::string> path;                           // what {…} of the pattern stands for
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Actor actor;
  TimePoint now{};
  TimePoint steady{};  // the same moment of the clock that nobody sets
  std::function<void(const Request&, const std::string& why)> refused{};  // keeps what was refused
  const Curtain* curtain = nullptr;                                       // null: nothing is masked

  /// For handlers that find out by themselves that a token is not for what is asked: an act that
  /// was refused is in the audit trail, whoever refuses it.
  void note_refused(const std::string& why) const;
  /// The same for what is no act and yet in the trail: whoever is refused what is masked.
  void note_refused_look(const std::string& why) const;

  /// For brokers.
  [[nodiscard]] Instant instant() const noexcept { return {now, steady}; }

  /// The last value of that name, or null.
  [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
  [[nodiscard]] std::string text(std::string_view name) const;
  /// A whole number within bounds, `otherwise` if it is not there; refused with the bounds.
  [[nodiscard]] Result<std::uint64_t> number(std::string_view name, std::uint64_t otherwise,
                                             std::uint64_t least, std::uint64_t most) const;
  /// `true`, `false`, or (without a value) true.
  [[nodiscard]] Result<bool> flag(std::string_view name) const;
  /// The version an If-Match header names; empty without one, or if it is `*`.
  [[nodiscard]] Result<std::optional<std::uint64_t>> if_match() const;
};

}  // namespace dlo::api
