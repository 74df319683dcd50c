#include "dlo/core/header_class.h"

#include <algorithm>
#include <array>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

struct Row {
  std::string_view name;  // "x-*": every name that begins so
  HeaderClass header_class;
  std::string_view why;
};

constexpr auto locked = HeaderClass::locked;
constexpr auto sensitive = HeaderClass::sensitive;

constexpr std::string_view ours = "it says where a replay came from, and is stamped by the office";
constexpr std::string_view death = "the broker wrote it when the message died";
constexpr std::string_view route = "others route by it";
constexpr std::string_view decode = "consumers decode by it";
constexpr std::string_view known =
    "consumers know the message by it: a change makes it another one";
constexpr std::string_view trace = "traces are joined by it";
constexpr std::string_view secret = "it may let somebody in";

// The first row that fits decides.
constexpr std::array<Row, 31> rows = {{
    {"dlo-*", locked, ours},
    {"webhook-*", locked, ours},
    {"x-death", locked, death},
    {"x-first-death-*", locked, death},
    {"x-last-death-*", locked, death},
    {"x-delivery-count", locked, death},
    {"deadletterreason", locked, death},
    {"deadlettererrordescription", locked, death},
    {"deadlettersource", locked, death},
    {"content-type", sensitive, decode},
    {"content-encoding", sensitive, decode},
    {"event-type", sensitive, decode},
    {"schema-id", sensitive, decode},
    {"ce-type", sensitive, decode},
    {"ce-specversion", sensitive, decode},
    {"message-id", sensitive, known},
    {"correlation-id", sensitive, known},
    {"ce-id", sensitive, known},
    {"idempotency-key", sensitive, known},
    {"partition-key", sensitive, route},
    {"session-id", sensitive, route},
    {"reply-to", sensitive, route},
    {"routing-key", sensitive, route},
    {"cc", sensitive, route},
    {"bcc", sensitive, route},
    {"expiration", sensitive, route},
    {"traceparent", sensitive, trace},
    {"tracestate", sensitive, trace},
    {"authorization", sensitive, secret},
    {"cookie", sensitive, secret},
    {"x-api-key", sensitive, secret},
}};

bool fits(std::string_view pattern, std::string_view name) noexcept {
  const bool open = pattern.ends_with('*');
  if (open) pattern.remove_suffix(1);
  if (open ? name.size() < pattern.size() : name.size() != pattern.size()) return false;
  return std::equal(pattern.begin(), pattern.end(), name.begin(),
                    [](char a, char b) { return a == ascii_lower(b); });
}

const Row* row_of(std::string_view name) noexcept {
  const auto* found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return fits(row.name, name); });
  return found == rows.end() ? nullptr : found;
}

}  // namespace

std::string_view name_of(HeaderClass header_class) noexcept {
  switch (header_class) {
    case HeaderClass::free:
      return "free";
    case HeaderClass::sensitive:
      return "sensitive";
    case HeaderClass::locked:
      return "locked";
  }
  return "unknown";
}

HeaderClass header_class(std::string_view name) noexcept {
  const Row* row = row_of(name);
  return row == nullptr ? HeaderClass::free : row->header_class;
}

std::string_view header_warning(std::string_view name) noexcept {
  const Row* row = row_of(name);
  return row == nullptr ? std::string_view{} : row->why;
}

}  // namespace dlo
