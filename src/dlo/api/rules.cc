#include "dlo/api/rules.h"

#include <algorithm>
#include <map>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/core/explain_replay.h"
#include "dlo/core/spelling.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"
#include "dlo/retries/rule_shelf.h"

namespace dlo::api {
namespace {

constexpr std::uint64_t usual_sample = 1'000;
constexpr std::uint64_t most_sample = 5'000;
constexpr std::size_t page_size = 500;
constexpr std::size_t most_examples = 10;

/// How it failed the last time, as a question.
Question question_of(const DeadLetter& record, TimePoint now) {
  Question question;
  question.outcome.failure = record.failure;
  question.attempt = std::max<std::uint32_t>(record.counters.attempt, 1);
  question.now = now;
  return question;
}

/// What somebody asks about.
struct Asked {
  std::string id;
  Inquiry inquiry;
};

void read_counters(JsonFields& fields, Inquiry& inquiry) {
  const JsonValue* const given = fields.find("counters");
  if (given == nullptr) return;
  JsonFields counters(*given, fields.place_of("counters"), fields.complaints());
  for (const JsonMember& each : given->members) {
    inquiry.counters.emplace_back(each.name, counters.small(each.name));
  }
}

void read_asked(JsonFields& fields, Asked& asked) {
  asked.id = fields.text("id");
  Inquiry& inquiry = asked.inquiry;
  inquiry.profile = fields.text("profile");
  inquiry.source = fields.text("source");
  inquiry.event_type = fields.text("event_type");
  if (fields.has("id") == fields.has("error")) {
    fields.complain("id", "or `error` must say what is asked about, and only one of them");
  }
  if (fields.has("error")) inquiry.error = fields.text("error");
  inquiry.type = fields.text("type");
  inquiry.code = fields.text("code");
  if (fields.has("status")) inquiry.status = static_cast<int>(fields.number("status", 599));
  if (fields.has("attempt")) inquiry.attempt = fields.small("attempt");
  read_counters(fields, inquiry);
}

Result<RecordDetail> look_up(Office& office, const Request& request, const std::string& text) {
  const auto id = parse_id(text);
  if (!id) {
    return Error{Code::invalid_argument, "api.rules",
                 in_quotes(text) + " is not the id of a dead letter: 32 hex digits"};
  }
  auto detail = office.get(RecordId{*id});
  if (detail && !allows_source(request.actor.scope, detail->record.message->source)) {
    request.note_refused_look("a dead letter of a source outside of its scope");
    return Error{Code::not_found, "api.rules", "There is no dead letter " + text + "."};
  }
  return detail;
}

HttpResponse explain_one(const RuleParts& parts, const Request& request) {
  Asked asked;
  const auto read = read_body(request, [&](JsonFields& fields) { read_asked(fields, asked); });
  if (!read) return problem_of(read.error());
  RecordDetail detail;
  CaseFile file;
  if (!asked.id.empty()) {
    auto found = look_up(parts.office, request, asked.id);
    if (!found) return problem_of(found.error());
    detail = std::move(*found);
    file = {&detail.record, detail.attempts};
  }
  auto answer = explain(*parts.rules(), parts.regex, asked.inquiry, file, request.now);
  if (!answer) return problem_of(answer.error());
  const auto redirects = parts.redirects ? parts.redirects() : std::vector<RedirectRule>{};
  explain_replay(*answer, redirects, asked.inquiry, file);
  return json_answer(to_json(*answer));
}

/// What came of a comparison of many.
class Simulation {
 public:
  Simulation(RuleShelf& shelf, std::string profile, TimePoint now)
      : shelf_(shelf), profile_(std::move(profile)), now_(now) {}

  Result<void> add(const DeadLetter& record) {
    std::string profile = profile_.empty() ? record.profile : profile_;
    if (profile.empty()) profile = default_profile_name;
    const auto book = shelf_.find(profile, *record.message);
    if (!book) return book.error();
    const auto says = explain(**book, question_of(record, now_));
    if (!says) return says.error();
    ++looked_at;
    ++verdicts_[std::string(name_of(says->verdict))];
    ++categories_[{record.category, says->category}];
    if (record.category == says->category && record.rule == says->rule) return {};
    ++changed_;
    if (examples_.size() < most_examples) {
      examples_.push_back(
          {to_string(record.id), record.rule, says->rule, std::string(name_of(says->verdict))});
    }
    return {};
  }

  [[nodiscard]] std::string text(bool all) const {
    JsonWriter json;
    json.begin_object().member("looked_at", looked_at).key("all").boolean(all);
    json.member("changed", changed_).key("verdicts").begin_object();
    for (const auto& [name, count] : verdicts_) json.member(name, count);
    json.end_object().key("categories").begin_array();
    for (const auto& [names, count] : categories_) {
      json.begin_object().member("was", names.first).member("becomes", names.second);
      json.member("count", count).end_object();
    }
    json.end_array().key("examples").begin_array();
    for (const Example& each : examples_) {
      json.begin_object().member("id", each.id).member("rule_was", each.was);
      json.member("rule_becomes", each.becomes).member("verdict", each.verdict).end_object();
    }
    json.end_array().end_object();
    return json.take();
  }

  std::uint64_t looked_at = 0;

 private:
  struct Example {
    std::string id;
    std::string was;
    std::string becomes;
    std::string verdict;
  };
  RuleShelf& shelf_;
  const std::string profile_;
  const TimePoint now_;
  std::uint64_t changed_ = 0;
  std::map<std::string, std::uint64_t> verdicts_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> categories_;
  std::vector<Example> examples_;
};

/// The newest that match; true if these were all of them.
Result<bool> look_at(Office& office, Query query, std::uint64_t most, Simulation& simulation) {
  query.limit = std::min<std::size_t>(most, page_size);
  while (simulation.looked_at < most) {
    const auto page = office.list(query);
    if (!page) return page.error();
    for (const RecordHead& row : page->rows) {
      if (simulation.looked_at == most) return false;
      const auto detail = office.get(row.id);
      if (!detail && detail.error().code == Code::not_found) continue;
      if (!detail) return detail.error();
      if (auto added = simulation.add(detail->record); !added) return added.error();
    }
    if (!page->next) return !page->partial;
    query.after = page->next;
  }
  return false;
}

HttpResponse simulate(const RuleParts& parts, const Request& request) {
  std::string text;
  std::string profile;
  std::uint64_t sample = usual_sample;
  const auto read = read_body(request, [&](JsonFields& fields) {
    text = fields.text("query");
    profile = fields.text("profile");
    if (fields.has("sample")) sample = fields.number("sample", most_sample);
    if (sample == 0) fields.complain("sample", "must be 1 to 5000");
  });
  if (!read) return problem_of(read.error());
  auto query = parse_query(text, request.now);
  if (!query) return problem_of(query.error());
  if (auto fine = curtain_of(request).check(*query, request); !fine) {
    return problem_of(fine.error());
  }
  RuleShelf shelf(*parts.rules(), parts.regex);
  if (!profile.empty()) {  // a misspelt one is refused also where nothing matches
    if (const auto there = shelf.find(profile, {}); !there) return problem_of(there.error());
  }
  Simulation simulation(shelf, profile, request.now);
  const auto all = look_at(parts.office, std::move(*query), sample, simulation);
  return all ? json_answer(simulation.text(*all)) : problem_of(all.error());
}

}  // namespace

std::vector<Route> rule_routes(const RuleParts& parts) {
  return {
      {"POST",
       "/v1/rules/explain",
       Role::reader,
       Lane::quick,
       {},
       answering([parts](const Request& request) { return explain_one(parts, request); })},
      {"POST",
       "/v1/rules/simulate",
       Role::reader,
       Lane::slow,
       {},
       answering([parts](const Request& request) { return simulate(parts, request); })},
  };
}

}  // namespace dlo::api
