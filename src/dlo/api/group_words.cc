#include "dlo/api/group_words.h"

#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/core/spelling.h"
#include "dlo/json/parts.h"

namespace dlo::api {
namespace {

constexpr std::size_t longest_text = 16 * 1024;
constexpr std::size_t longest_tag = 100;
constexpr std::size_t most_tags = 64;
constexpr std::int64_t spark_hours = 24;

void write_marks(JsonWriter& json, const GroupSummary& group, TimePoint now) {
  const GroupMarks marks = marks_of(
      {group.status, group.first_seen, group.regressed_at, group.repeats, group.trend}, now);
  json.key("marks").begin_array();
  if (marks.is_new) json.text("NEW");
  if (marks.regressed) json.text("REGRESSED");
  if (marks.escalating) json.text("ESCALATING");
  if (marks.repeat > 0) json.text("REPEAT");
  json.end_array();
}

void write_spark(JsonWriter& json, const Trend& trend, TimePoint now) {
  const std::int64_t hour = hour_of(now);
  json.key("last_24_hours").begin_array();
  for (std::int64_t each = hour - spark_hours + 1; each <= hour; ++each) {
    json.number(deaths_in_hours(trend, each, each));
  }
  json.end_array();
}

void write_inside(JsonWriter& json, const GroupSummary& group, TimePoint now) {
  write_members(json, group);
  write_marks(json, group, now);
  write_spark(json, group.trend, now);
}

Error no_group(const Id128& id) {
  return {Code::not_found, "api.group", "There is no group " + to_string(id) + "."};
}

std::string bounded(JsonFields& fields, std::string_view name) {
  std::string text = fields.text(name);
  if (text.size() > longest_text) fields.complain(name, "is longer than 16384 bytes");
  return text;
}

/// A page may make a link of it: an address that runs something when it is followed is refused, and
/// what browsers would overlook in one (tabs, line ends).
bool is_fit_for_a_link(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) return false;
  const std::string lower =
      ascii_lower(text.substr(std::min(text.find_first_not_of(' '), text.size())));
  const std::size_t end = lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-");
  const bool has_scheme = end != std::string::npos && end > 0 && lower[end] == ':';
  return !has_scheme || lower.starts_with("http://") || lower.starts_with("https://");
}

std::vector<std::string> read_tags(JsonFields& fields) {
  std::vector<std::string> tags;
  for (const JsonValue& item : fields.items("tags")) {
    const std::string tag = item.text();
    if (item.kind != JsonKind::string || tag.empty() || tag.size() > longest_tag) {
      fields.complain("tags", "must hold strings of 1 to 100 bytes");
    }
    tags.push_back(tag);
  }
  if (tags.size() > most_tags) fields.complain("tags", "must not hold more than 64");
  return tags;
}

}  // namespace

void write_group(JsonWriter& json, const GroupSummary& group, TimePoint now) {
  json.begin_object();
  write_inside(json, group, now);
  json.end_object();
}

void write_words(JsonWriter& json, const GroupSummary& group) {
  json.begin_object()
      .member("version", group.version)
      .member("status", name_of(group.status))
      .member("owner", group.owner)
      .member("ticket", group.ticket)
      .member("notes", group.notes);
  json.key("tags").begin_array();
  for (const std::string& tag : group.tags) json.text(tag);
  json.end_array().member("snoozed_until", group.snoozed_until).end_object();
}

EditGroup read_group_edit(JsonFields& fields) {
  EditGroup edit;
  if (fields.has("status")) {
    edit.status = parse_group_status(fields.text("status"));
    if (!edit.status) {
      fields.complain("status", "must be open, acknowledged, fixing, snoozed, resolved or ignored");
    }
  }
  if (fields.has("owner")) edit.owner = bounded(fields, "owner");
  if (fields.has("ticket")) {
    edit.ticket = bounded(fields, "ticket");
    if (!is_fit_for_a_link(*edit.ticket)) {
      fields.complain("ticket", "must be a name or number, or an http or https address");
    }
  }
  if (fields.has("notes")) edit.notes = bounded(fields, "notes");
  if (fields.has("tags")) edit.tags = read_tags(fields);
  edit.snoozed_until = fields.time("snoozed_until");
  if (edit.snoozed_until && edit.status != GroupStatus::snoozed) {
    fields.complain("snoozed_until", "needs status \"snoozed\" beside it");
  }
  return edit;
}

Result<GroupSummary> find_group(Office& office, std::string_view text) {
  const auto id = parse_id(text);
  if (!id) {
    return Error{Code::invalid_argument, "api.group",
                 in_quotes(text) + " is not the id of a group: 32 hex digits, as lists show them"};
  }
  AggregateRequest wanted;
  wanted.tallies = false;
  wanted.only_group = *id;
  auto numbers = office.aggregate(wanted);
  if (!numbers) return numbers.error();
  if (numbers->groups.empty()) {
    return no_group(*id);
  }
  return std::move(numbers->groups.front());
}

Result<GroupSummary> find_group(Office& office, const Request& request) {
  return find_group(office, request.path.front());
}

std::optional<HttpResponse> refuse_old(const Request& request, const GroupSummary& group) {
  const auto wanted = request.if_match();
  if (!wanted) return problem_of(wanted.error());
  if (!*wanted || **wanted == group.version) return std::nullopt;
  return problem(412, "version_changed",
                 "The group is at version " + std::to_string(group.version) + " by now, not " +
                     std::to_string(**wanted) + ". Nothing was changed; look at it again.");
}

HttpResponse refusal_of(const Request& request, const Error& error) {
  const auto wanted = request.if_match();
  if (error.code == Code::conflict && wanted && *wanted) {
    return problem(412, "version_changed", error.detail);
  }
  return problem_of(error);
}

HttpResponse group_answer(Office& office, const Id128& id, TimePoint now) {
  AggregateRequest wanted;
  wanted.tallies = false;
  wanted.only_group = id;
  const auto numbers = office.aggregate(wanted);
  if (!numbers) return problem_of(numbers.error());
  if (numbers->groups.empty()) return problem_of(no_group(id));
  const GroupSummary& group = numbers->groups.front();
  JsonWriter json;
  json.begin_object();
  write_inside(json, group, now);
  json.key("merged").begin_array();
  for (const GroupSummary& strand : numbers->strands) {
    json.begin_object()
        .member("fingerprint", to_string(strand.fingerprint))
        .member("title", strand.title)
        .member("open", strand.open)
        .member("total", strand.total)
        .member("last_seen", strand.last_seen)
        .end_object();
  }
  json.end_array().end_object();
  HttpResponse response = json_answer(json.take());
  set_etag(response, group.version);
  return response;
}

}  // namespace dlo::api
