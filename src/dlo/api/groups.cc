#include "dlo/api/groups.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/group_words.h"
#include "dlo/api/overtaken.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"
#include "dlo/store/rules.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_groups = 500;
constexpr std::size_t usual_groups = 50;

/// status=open,fixing · owner= · tag= · open=true
Result<void> read_filter(const Request& request, GroupFilter& filter) {
  const std::string* statuses = request.find("status");
  std::string_view rest = statuses == nullptr ? std::string_view() : std::string_view(*statuses);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto status = parse_group_status(rest.substr(0, comma));
    if (!status) {
      return Error{Code::invalid_argument, "api.groups",
                   "status must be open, acknowledged, fixing, snoozed, resolved or ignored, or "
                   "several of them with commas, not " +
                       in_quotes(rest.substr(0, comma))};
    }
    filter.statuses.push_back(*status);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (const auto* owner = request.find("owner")) filter.owner = *owner;
  if (const auto* tag = request.find("tag")) filter.tag = *tag;
  if (request.find("open") != nullptr) {
    const auto open = request.flag("open");
    if (!open) return open.error();
    filter.has_open = *open;
  }
  return {};
}

std::string print_place(const GroupPlace& place, GroupOrder order) {
  return std::to_string(order == GroupOrder::open_count ? place.open : 0) + "." +
         std::to_string(place.last_seen.time_since_epoch().count()) + "." +
         to_string(place.fingerprint);
}

Result<GroupPlace> parse_place(const std::string& text) {
  GroupPlace place;
  std::int64_t last_seen = 0;
  const char* const end = text.data() + text.size();
  const auto open = std::from_chars(text.data(), end, place.open);
  if (open.ec == std::errc() && open.ptr != end && *open.ptr == '.') {
    const auto seen = std::from_chars(open.ptr + 1, end, last_seen);
    if (seen.ec == std::errc() && seen.ptr != end && *seen.ptr == '.') {
      if (const auto id = parse_id(std::string_view(seen.ptr + 1, end))) {
        place.last_seen = TimePoint{Millis{last_seen}};
        place.fingerprint = *id;
        return place;
      }
    }
  }
  return Error{Code::invalid_argument, "api.groups",
               in_quotes(text) + " is not a cursor. Use the `next` of an earlier page."};
}

/// A page, and where the next one begins. One more is asked for than is shown, so that a last page
/// knows that it is the last.
struct GroupPage {
  std::vector<GroupSummary> groups;
  std::optional<GroupPlace> next;
  bool partial = false;
};

Result<GroupPage> page_of(Office& office, AggregateRequest wanted, std::size_t limit) {
  wanted.groups = limit + 1;
  wanted.time_box = Query{}.time_box;
  auto numbers = office.aggregate(wanted);
  if (!numbers) return numbers.error();
  GroupPage page;
  page.groups = std::move(numbers->groups);
  page.next = numbers->partial_at;
  page.partial = page.next.has_value();
  if (page.groups.size() <= limit) return page;
  page.groups.resize(limit);
  page.next = place_of(page.groups.back());
  page.partial = false;
  return page;
}

HttpResponse list(Office& office, const Request& request) {
  const auto limit = request.number("limit", usual_groups, 1, most_groups);
  if (!limit) return problem_of(limit.error());
  AggregateRequest wanted;
  wanted.tallies = false;
  if (const auto* order = request.find("order")) {
    if (*order != "seen" && *order != "open") {
      return problem(400, "invalid_argument",
                     "order must be seen or open, not " + in_quotes(*order));
    }
    if (*order == "open") wanted.group_order = GroupOrder::open_count;
  }
  if (auto fine = read_filter(request, wanted.group_filter); !fine) return problem_of(fine.error());
  if (const auto* cursor = request.find("cursor")) {
    const auto place = parse_place(*cursor);
    if (!place) return problem_of(place.error());
    wanted.groups_after = *place;
  }
  const auto page = page_of(office, wanted, *limit);
  if (!page) return problem_of(page.error());
  JsonWriter json;
  json.begin_object().key("groups").begin_array();
  for (const GroupSummary& group : page->groups) write_group(json, group, request.now);
  json.end_array().key("next");
  if (page->next) {
    json.text(print_place(*page->next, wanted.group_order));
  } else {
    json.null();
  }
  json.key("partial").boolean(page->partial);
  json.end_object();
  return json_answer(json.take());
}

HttpResponse show(Office& office, const Request& request) {
  const auto group = find_group(office, request);
  return group ? group_answer(office, group->fingerprint, request.now) : problem_of(group.error());
}

HttpResponse trend(Office& office, const Request& request) {
  const auto group = find_group(office, request);
  if (!group) return problem_of(group.error());
  const auto write = [](JsonWriter& json, std::string_view name, std::int64_t step,
                        const std::vector<TrendBucket>& buckets) {
    json.key(name).begin_array();
    for (const TrendBucket& bucket : buckets) {
      json.begin_object()
          .member("from", TimePoint{Millis{bucket.start * step}})
          .member("count", bucket.count)
          .end_object();
    }
    json.end_array();
  };
  constexpr std::int64_t hour = 3'600'000;
  JsonWriter json;
  json.begin_object().member("id", to_string(group->fingerprint));
  write(json, "hours", hour, group->trend.hours);
  write(json, "days", 24 * hour, group->trend.days);
  json.end_object();
  return json_answer(json.take());
}

/// Before and after, as people said it.
std::string change_text(const GroupSummary& before, const GroupSummary& after) {
  JsonWriter said;
  said.begin_object().key("before");
  write_words(said, before);
  said.key("after");
  write_words(said, after);
  said.end_object();
  return said.take();
}

std::optional<HttpResponse> edit_once(Office& office, const Request& request, EditGroup change,
                                      Overtaken& overtaken) {
  const auto before = find_group(office, request);
  if (!before) return problem_of(before.error());
  if (auto old = refuse_old(request, *before)) return old;
  change.fingerprint = before->fingerprint;
  change.expected_version = before->version;  // else the trail could not say what was before
  change.at = request.now;
  GroupSummary after = *before;
  if (auto fine = edit_group(after, change); !fine) return problem_of(fine.error());
  const std::vector<Change> changes{
      change,
      audit_of(request, "group", to_string(before->fingerprint), change_text(*before, after))};
  if (const auto applied = office.apply(changes); !applied) {
    if (overtaken.is_reason_to_begin_anew(applied.error())) return std::nullopt;
    return refusal_of(request, applied.error());
  }
  return group_answer(office, before->fingerprint, request.now);
}

HttpResponse edit(Office& office, const Request& request) {
  EditGroup change;
  const auto read =
      read_body(request, [&](JsonFields& fields) { change = read_group_edit(fields); });
  if (!read) return problem_of(read.error());
  return answer_of_last(
      request, [&](Overtaken& overtaken) { return edit_once(office, request, change, overtaken); });
}

}  // namespace

std::vector<Route> group_routes(Office& office) {
  return {
      {"GET",
       "/v1/groups",
       Role::reader,
       Lane::quick,
       {"limit", "order", "cursor", "status", "owner", "tag", "open"},
       answering([&office](const Request& request) { return list(office, request); })},
      {"GET",
       "/v1/groups/{id}",
       Role::reader,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return show(office, request); })},
      {"GET",
       "/v1/groups/{id}/trend",
       Role::reader,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return trend(office, request); })},
      {"PATCH",
       "/v1/groups/{id}",
       Role::operator_,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return edit(office, request); })},
  };
}

}  // namespace dlo::api
