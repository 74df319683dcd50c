#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Between two events: the change number of the office and the number of the audit entry up to
/// which everything was told. Written `120-45`; a `Last-Event-ID`.
struct EventPlace {
  std::uint64_t change = 0;
  std::uint64_t audit = 0;
  auto operator<=>(const EventPlace&) const = default;
};
[[nodiscard]] std::string to_string(const EventPlace& place);
[[nodiscard]] std::optional<EventPlace> parse_event_place(std::string_view text) noexcept;

struct Event {
  EventPlace place;  // after it
  std::string type;  // dead_letter, removed, group, job, queue, alert, circuit or act
  std::string source;
  std::string group;
  std::string data;  // JSON on one line
};
[[nodiscard]] const std::vector<std::string_view>& event_types();

/// What somebody wants to hear of. Empty: everything.
struct EventFilter {
  std::vector<std::string> types;
  std::optional<std::string> source;  // dead letters of this source, acts on this queue
  std::optional<std::string> group;   // dead letters of this group, acts on it
  [[nodiscard]] bool wants(const Event& event) const;
};

/// Reads from an office what happened after a place.
class EventFeed {
 public:
  explicit EventFeed(Office& office) : office_(office) {}

  struct Batch {
    std::vector<Event> events;
    EventPlace next;
    bool more = false;
  };
  /// Dead letters that changed, each once as it is now, then entries of the audit trail; that of a
  /// removal is told for every dead letter that is gone.
  [[nodiscard]] Result<Batch> after(const EventPlace& place);
  /// Where everything that has happened so far ends.
  [[nodiscard]] Result<EventPlace> newest();

 private:
  Result<void> add_changes(Batch& batch);
  Result<void> add_acts(Batch& batch);

  Office& office_;
};

/// As a stream has it.
[[nodiscard]] std::string event_text(const Event& event);

}  // namespace dlo::api
