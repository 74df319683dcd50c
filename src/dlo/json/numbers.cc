#include "dlo/json/json.h"
#include "dlo/json/parts.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

struct VerdictWords {
  JsonWriter& json;
  void operator()(const Run&) const { json.member("verdict", "run"); }
  void operator()(const Complete&) const { json.member("verdict", "complete"); }
  void operator()(const RetryAt& retry) const {
    json.member("verdict", "retry")
        .member("at", retry.when)
        .member("delay_ms", static_cast<std::uint64_t>(retry.delay.count()))
        .member("placement", name_of(retry.placement));
  }
  void operator()(const DeadLetterAs& dead) const {
    json.member("verdict", "dead_letter")
        .member("reason", dead.reason)
        .member("description", dead.description);
    json.key("exhausted").boolean(dead.exhausted);
  }
  void operator()(const GiveBack&) const { json.member("verdict", "give_back"); }
  void operator()(const Drop& drop) const {
    json.member("verdict", "drop").member("reason", drop.reason);
  }
  void operator()(const RejectToCaller& rejected) const {
    json.member("verdict", "reject_to_caller").member("reason", rejected.reason);
  }
};

void write_counters(JsonWriter& json, std::string_view name, const Counters& counters) {
  json.key(name).begin_object();
  for (const CounterName each :
       {CounterName::fetch, CounterName::attempt, CounterName::failure, CounterName::abandon,
        CounterName::retry, CounterName::next_retry, CounterName::abandon_or_fetch}) {
    json.member(name_of(each), value_of(counters, each));
  }
  json.member("replay", counters.replay).member("total", counters.total).end_object();
}

}  // namespace

void write_members(JsonWriter& json, const GroupSummary& group) {
  json.member("id", to_string(group.fingerprint))
      .member("title", group.title)
      .member("status", name_of(group.status))
      .member("owner", group.owner)
      .member("ticket", group.ticket)
      .member("notes", group.notes)
      .member("version", group.version)
      .member("resolved_at", group.resolved_at)
      .member("regressed_at", group.regressed_at)
      .member("repeats", group.repeats);
  json.key("tags").begin_array();
  for (const std::string& tag : group.tags) json.text(tag);
  json.end_array()
      .member("snoozed_until", group.snoozed_until)
      .member("open", group.open)
      .member("total", group.total)
      .member("first_seen", group.first_seen)
      .member("last_seen", group.last_seen)
      .member("sample", to_string(group.sample))
      .member("category", group.category)
      .member("source", group.source);
}

void write_json(JsonWriter& json, const GroupSummary& group) {
  json.begin_object();
  write_members(json, group);
  json.end_object();
}

std::string to_json(const GroupSummary& group) {
  JsonWriter json;
  write_json(json, group);
  return json.take();
}

std::string to_json(const Aggregate& aggregate) {
  JsonWriter json;
  json.begin_object().key("counts").begin_array();
  for (const Tally& tally : aggregate.tallies) {
    json.begin_object()
        .member("source", tally.source)
        .member("status", name_of(tally.status))
        .member("category", tally.category)
        .member("count", tally.count)
        .end_object();
  }
  json.end_array().key("groups").begin_array();
  for (const GroupSummary& group : aggregate.groups) write_json(json, group);
  json.end_array()
      .member("last_change", aggregate.last_change)
      .member("unindexed_payloads", aggregate.unindexed_payloads)
      .end_object();
  return json.take();
}

std::string to_json(const Explanation& explanation) {
  JsonWriter json;
  json.begin_object()
      .member("profile", explanation.profile)
      .member("category", explanation.category)
      .member("rule", explanation.rule);
  std::visit(VerdictWords{json}, explanation.verdict);
  json.member("because", explanation.because);
  if (explanation.delay) {
    json.member("shortest_delay_ms", static_cast<std::uint64_t>(explanation.shortest_delay.count()))
        .member("longest_delay_ms", static_cast<std::uint64_t>(explanation.longest_delay.count()));
  }
  json.member("policy", explanation.policy).member("limit", explanation.limit);
  json.key("ran").boolean(explanation.ran).member("caution", explanation.caution);
  write_counters(json, "counters_at_run", explanation.counters_at_run);
  write_counters(json, "counters_after", explanation.counters_after);
  json.key("steps").begin_array();
  for (const ExplainStep& step : explanation.steps) {
    json.begin_object().member("step", step.step).member("text", step.text).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace dlo
