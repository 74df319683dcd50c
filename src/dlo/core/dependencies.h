#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/core/states.h"
#include "dlo/core/time.h"

namespace dlo {

// A task may wait for others to succeed (S2-54). They are named by their task ids, within one
// source: a task can be waited for before anybody has heard of it.

/// What is known of a task that is waited for.
enum class Awaited : std::uint8_t {
  unknown,    // nobody reported it, or it was removed
  open,       // it failed, and may still succeed
  succeeded,  // resolved, however, and perhaps put away afterwards
  gone,       // archived, discarded or expired unresolved: it will not succeed any more
};
/// By the status of its newest record; empty: there is none. `has_resolution`: the record says how
/// it was resolved, which one that is open again does not.
[[nodiscard]] Awaited awaited(std::optional<Status> status, bool has_resolution) noexcept;

/// Of one that was given up nothing may be left: it will not succeed for that.
[[nodiscard]] constexpr Awaited remembered(Awaited state, bool given_up) noexcept {
  return state == Awaited::unknown && given_up ? Awaited::gone : state;
}

struct Prerequisite {
  std::string task;
  Awaited state = Awaited::unknown;
};

/// All succeeded: it runs, at its own moment.
struct Ready {
  bool operator==(const Ready&) const = default;
};
struct Wait {
  std::optional<TimePoint> until;  // then it is judged again; empty: when a task changes
  bool operator==(const Wait&) const = default;
};
/// It would wait in vain. Somebody may release it all the same.
struct Blocked {
  std::string why;  // for people
  bool operator==(const Blocked&) const = default;
};
using DependencyVerdict = std::variant<Ready, Wait, Blocked>;

/// One that is gone blocks at once, one that nobody reported after `timeout`; one that is open is
/// waited for as long as it is. Pure and total.
[[nodiscard]] DependencyVerdict judge(const std::vector<Prerequisite>& tasks, TimePoint reported_at,
                                      Millis timeout, TimePoint now);

/// When a task that was reported then has waited long enough for those that nobody knows.
[[nodiscard]] TimePoint deadline_of(TimePoint reported_at, Millis timeout) noexcept;

/// For how long unknown tasks are waited for, unless something else is configured.
inline constexpr Millis usual_depends_timeout{24 * 3'600'000};
inline constexpr std::size_t most_prerequisites = 16;

/// Refuses too many, empty, endless or repeated names.
[[nodiscard]] Result<void> check_prerequisites(const std::vector<std::string>& tasks);

/// Which tasks a task waits for, as far as that is known.
using WaitsFor = std::function<std::vector<std::string>(const std::string& task)>;

/// The way from `task` over one of `tasks` back to itself: "a", "b", "a". Empty: there is none.
/// Refuses to follow more than a thousand tasks (full).
[[nodiscard]] Result<std::vector<std::string>> find_cycle(const std::string& task,
                                                          const std::vector<std::string>& tasks,
                                                          const WaitsFor& waits_for);

/// "a" waits for "b" waits for "a".
[[nodiscard]] std::string way_in_words(const std::vector<std::string>& way);
/// A report that would make one is refused; a task that is put back may close one all the same.
[[nodiscard]] Blocked blocked_by_cycle(const std::vector<std::string>& way);

/// A task carries their names in headers, one each.
inline constexpr std::string_view depends_on_header = "dlo-depends-on";
void put_depends_on(Headers& headers, const std::vector<std::string>& tasks);
[[nodiscard]] std::vector<std::string> depends_on(const Headers& headers);

inline constexpr std::string_view waits_reason = "Waits";
inline constexpr std::string_view blocked_reason = "Blocked";

}  // namespace dlo
