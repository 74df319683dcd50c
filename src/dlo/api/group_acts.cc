// Merging, splitting and taking a group apart by what its dead letters have in common.
#include <algorithm>
#include <map>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/group_split.h"
#include "dlo/api/group_words.h"
#include "dlo/api/groups.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/overtaken.h"
#include "dlo/core/encoding.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_merged = 31;
constexpr std::size_t usual_sample = 1'000;
constexpr std::size_t most_sample = 5'000;
constexpr std::size_t page_size = 500;

/// What was answered under this request's key before, or what is wrong with the key; nothing: it is
/// to be done now. Of an act on groups only that it was done is kept: `group` is told as it is now.
std::optional<HttpResponse> told_before(Office& office, const Request& request,
                                        const std::optional<Id128>& group) {
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (!*key) return std::nullopt;
  auto before = (*key)->find(office);
  if (!before) return problem_of(before.error());
  if (!*before || !(*before)->body.empty() || !group) return std::move(*before);
  HttpResponse answer = group_answer(office, *group, request.now);
  answer.headers.push_back({"Idempotency-Replayed", "true"});
  return answer;
}

/// Nothing: somebody changed them since they were looked at, and they are to be looked at again.
std::optional<HttpResponse> carry_out(Office& office, const Request& request,
                                      std::vector<Change> changes, const Id128& group,
                                      Overtaken& overtaken) {
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (*key) changes.emplace_back((*key)->keep(HttpResponse{}));
  if (const auto applied = office.apply(changes); !applied) {
    if (auto told = told_before(office, request, group)) return told;
    if (overtaken.is_reason_to_begin_anew(applied.error())) return std::nullopt;
    return refusal_of(request, applied.error());
  }
  if (*key) IdempotencyKey::forget_old(office, request.now);
  return group_answer(office, group, request.now);
}

std::string both(const GroupSummary& from, const GroupSummary& into) {
  JsonWriter said;
  said.begin_object().member("from", to_string(from.fingerprint)).key("from_words");
  write_words(said, from);
  said.member("from_total", from.total).key("before");
  write_words(said, into);
  said.member("total", into.total).end_object();
  return said.take();
}

std::optional<HttpResponse> merge_once(Office& office, const Request& request,
                                       const std::vector<std::string>& ids, Overtaken& overtaken) {
  const auto into = find_group(office, request);
  if (!into) return problem_of(into.error());
  if (auto told = told_before(office, request, into->fingerprint)) return told;
  if (auto old = refuse_old(request, *into)) return old;
  std::vector<Change> changes;
  std::uint64_t version = into->version;
  for (const std::string& id : ids) {
    const auto from = find_group(office, id);
    if (!from) {  // somebody may have been quicker with the same key
      auto told = told_before(office, request, into->fingerprint);
      return told ? std::move(told) : problem_of(from.error());
    }
    changes.emplace_back(MergeGroups{from->fingerprint, into->fingerprint, version++});
    changes.emplace_back(
        audit_of(request, "merge", to_string(into->fingerprint), both(*from, *into)));
  }
  return carry_out(office, request, std::move(changes), into->fingerprint, overtaken);
}

HttpResponse merge(Office& office, const Request& request) {
  std::vector<std::string> ids;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fields.require("from");
    const JsonValue* from = fields.find("from");
    if (from != nullptr && from->kind == JsonKind::string) {
      ids.push_back(from->text());
      return;
    }
    for (const JsonValue& item : fields.items("from")) ids.push_back(item.text());
    if (ids.empty() || ids.size() > most_merged) {
      fields.complain("from", "must name 1 to 31 groups");
    }
  });
  if (!read) return problem_of(read.error());
  return answer_of_last(
      request, [&](Overtaken& overtaken) { return merge_once(office, request, ids, overtaken); });
}

std::optional<HttpResponse> split_once(const JobParts& parts, const Request& request,
                                       const std::string& fingerprint, const FacetWanted& facet,
                                       Overtaken& overtaken) {
  Office& office = parts.office;
  const auto group = find_group(office, request);
  if (!group) return problem_of(group.error());
  if (auto told = told_before(office, request, parse_id(fingerprint))) return told;
  if (auto old = refuse_old(request, *group)) return old;
  if (!facet.facet.empty()) return split_by_facet(parts, request, *group, facet);
  const auto inside = find_group(office, fingerprint);
  if (!inside) return problem_of(inside.error());
  if (inside->fingerprint != group->fingerprint) {
    // Somebody may have been quicker with the same key.
    if (auto told = told_before(office, request, parse_id(fingerprint))) return told;
    return problem(404, "not_found",
                   "Fingerprint " + fingerprint + " is not in group " +
                       to_string(group->fingerprint) + ". Its `merged` names those that are.");
  }
  const Id128 out = *parse_id(fingerprint);
  JsonWriter said;
  said.begin_object().member("fingerprint", fingerprint).key("before");
  write_words(said, *group);
  said.member("total", group->total).end_object();
  std::vector<Change> changes{
      SplitGroup{out, group->version},
      audit_of(request, "split", to_string(group->fingerprint), said.take())};
  return carry_out(office, request, std::move(changes), out, overtaken);
}

HttpResponse split(const JobParts& parts, const Request& request) {
  std::string fingerprint;
  FacetWanted facet;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fingerprint = fields.text("fingerprint");
    facet = {fields.text("facet"), fields.text("value"), fields.boolean("dry_run")};
    if (fields.has("fingerprint") == fields.has("facet")) {
      fields.complain("fingerprint", "or `facet` must say what is split off, and only one of them");
    }
    if (fields.has("facet")) fields.require("value");
  });
  if (!read) return problem_of(read.error());
  return answer_of_last(request, [&](Overtaken& overtaken) {
    return split_once(parts, request, fingerprint, facet, overtaken);
  });
}

/// How many of the dead letters that were looked at have which value.
class Facets {
 public:
  void add(const DeadLetter& record) {
    const Message& message = *record.message;
    count("source", message.source);
    count("type", message.event_type);
    count("handler", record.handler);
    count("node", record.node);
    count("build", record.build);
    count("key", message.key);
    const TimePoint hour{Millis{hour_of(record.died_at) * 3'600'000}};
    count("hour", to_iso8601(hour));
    ++looked_at_;
  }
  [[nodiscard]] std::size_t looked_at() const noexcept { return looked_at_; }

  void write(JsonWriter& json, std::size_t limit) const {
    json.key("facets").begin_object();
    for (const auto& [name, values] : counts_) {
      std::vector<std::pair<std::string, std::uint64_t>> sorted(values.begin(), values.end());
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      json.key(name).begin_array();
      for (std::size_t i = 0; i < std::min(limit, sorted.size()); ++i) {
        json.begin_object().member("value", sorted[i].first);
        json.member("count", sorted[i].second).end_object();
      }
      json.end_array();
    }
    json.end_object();
  }

 private:
  void count(const std::string& facet, const std::string& value) {
    if (!value.empty()) ++counts_[facet][value];
  }
  std::map<std::string, std::map<std::string, std::uint64_t>> counts_;
  std::size_t looked_at_ = 0;
};

/// The newest dead letters of a group; true if these were all of them.
Result<bool> look_at(Office& office, const Id128& group, std::size_t most, Facets& facets) {
  Query query;
  query.group = group;
  query.limit = std::min(most, page_size);
  while (facets.looked_at() < most) {
    const auto page = office.list(query);
    if (!page) return page.error();
    for (const RecordHead& row : page->rows) {
      if (facets.looked_at() == most) return false;
      const auto detail = office.get(row.id);
      if (!detail && detail.error().code != Code::not_found) return detail.error();
      if (detail) facets.add(detail->record);
    }
    if (!page->next) return true;
    query.after = page->next;
  }
  return false;
}

HttpResponse facets_of(Office& office, const Request& request) {
  const auto limit = request.number("limit", 10, 1, 100);
  if (!limit) return problem_of(limit.error());
  const auto sample = request.number("sample", usual_sample, 1, most_sample);
  if (!sample) return problem_of(sample.error());
  const auto group = find_group(office, request);
  if (!group) return problem_of(group.error());
  Facets facets;
  const auto all = look_at(office, group->fingerprint, *sample, facets);
  if (!all) return problem_of(all.error());
  JsonWriter json;
  json.begin_object().member("id", to_string(group->fingerprint));
  json.member("looked_at", std::uint64_t{facets.looked_at()}).key("all").boolean(*all);
  facets.write(json, *limit);
  json.end_object();
  return json_answer(json.take());
}

}  // namespace

std::vector<Route> group_act_routes(const JobParts& parts) {
  Office& office = parts.office;
  return {
      {"POST",
       "/v1/groups/{id}/merge",
       Role::operator_,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return merge(office, request); })},
      {"POST",
       "/v1/groups/{id}/split",
       Role::operator_,
       Lane::quick,
       {},
       answering([parts](const Request& request) { return split(parts, request); })},
      {"GET",
       "/v1/groups/{id}/facets",
       Role::reader,
       Lane::slow,
       {"limit", "sample"},
       answering([&office](const Request& request) { return facets_of(office, request); })},
  };
}

}  // namespace dlo::api
