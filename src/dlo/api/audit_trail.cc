#include "dlo/api/audit_trail.h"

#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/core/duration.h"
#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_entries = 1'000;
constexpr std::size_t read_at_once = 1'000;
constexpr std::size_t most_passed_over = 20'000;  // by one request

Error refuse(std::string detail) {
  return {Code::invalid_argument, "api.audit", std::move(detail)};
}

/// A moment, or how long ago it was.
Result<std::optional<TimePoint>> moment_of(const Request& request, std::string_view name) {
  const auto* text = request.find(name);
  if (text == nullptr) return std::optional<TimePoint>();
  if (const auto at = parse_iso8601(*text)) return std::optional(*at);
  if (const auto ago = parse_duration(*text)) return std::optional(request.now - *ago);
  return refuse(std::string(name) +
                " must be a moment (2026-01-31T12:00:00Z) or how long ago (2h)" + ", not " +
                in_quotes(*text));
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::size_t from = 0;
  while (from < text.size()) {
    const auto comma = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return words;
}

bool is_like(std::string_view act, std::string_view wanted) {
  if (!wanted.ends_with('*')) return act == wanted;
  return act.starts_with(wanted.substr(0, wanted.size() - 1));
}

/// Those below a number, newest first.
Result<std::vector<AuditEntry>> read_back(Ledger& ledger, std::uint64_t below) {
  const std::uint64_t from = below - std::min<std::uint64_t>(below, read_at_once + 1);
  auto part = ledger.audit(from, read_at_once);
  if (!part) return part;
  std::erase_if(*part, [below](const AuditEntry& each) { return each.number >= below; });
  std::reverse(part->begin(), part->end());
  return part;
}

}  // namespace

bool AuditFilter::takes(const AddAudit& entry) const {
  if (!actor.empty() && entry.actor != actor) return false;
  const bool among = acts.empty() || std::any_of(acts.begin(), acts.end(), [&](const auto& each) {
                       return is_like(entry.act, each);
                     });
  if (!among || entry.subject.find(subject) == std::string::npos) return false;
  if ((since && entry.at < *since) || (until && entry.at >= *until)) return false;
  return !refused || (entry.act == refused_act) == *refused;
}

Result<AuditFilter> read_audit_filter(const Request& request) {
  AuditFilter filter;
  filter.actor = request.text("actor");
  filter.acts = words_of(request.text("act"));
  filter.subject = request.text("subject");
  const auto since = moment_of(request, "since");
  if (!since) return since.error();
  const auto until = moment_of(request, "until");
  if (!until) return until.error();
  filter.since = *since;
  filter.until = *until;
  if (request.find("refused") != nullptr) {
    const auto refused = request.flag("refused");
    if (!refused) return refused.error();
    filter.refused = *refused;
  }
  if (request.find("before") != nullptr) {
    const auto before = request.number("before", 0, 1, UINT64_MAX);
    if (!before) return before.error();
    filter.before = *before;
  }
  const std::string order = request.text("order");
  if (!order.empty() && order != "newest" && order != "oldest") {
    return refuse("order must be newest or oldest, not " + in_quotes(order));
  }
  if (order == "newest" && !filter.before) filter.before = UINT64_MAX;
  if (filter.before && (order == "oldest" || request.find("after") != nullptr)) {
    return refuse("`before` goes with order newest, `after` with oldest");
  }
  return filter;
}

Result<AuditPage> read_trail(Ledger& ledger, const AuditFilter& filter, std::uint64_t after,
                             std::size_t limit) {
  AuditPage page;
  std::optional<std::uint64_t> below = filter.before;
  if (below && *below == UINT64_MAX) {
    const auto newest = newest_audit(ledger);
    if (!newest) return newest.error();
    below = *newest ? (*newest)->number + 1 : 1;
  }
  for (std::size_t seen = 0; seen < most_passed_over;) {
    auto part = below ? read_back(ledger, *below) : ledger.audit(after, read_at_once);
    if (!part) return part.error();
    for (AuditEntry& each : *part) {
      page.next = below ? below.emplace(each.number) : (after = each.number);
      if (filter.takes(each.act)) page.entries.push_back(std::move(each));
      if (page.entries.size() == limit) return page;
    }
    if (below ? part->empty() || *below <= 1 : part->size() < read_at_once) {
      page.next.reset();
      return page;
    }
    seen += part->size();
  }
  return page;
}

HttpResponse audit_trail(Office& office, const Request& request) {
  const auto after = request.number("after", 0, 0, UINT64_MAX);
  if (!after) return problem_of(after.error());
  const auto limit = request.number("limit", 100, 1, most_entries);
  if (!limit) return problem_of(limit.error());
  const auto filter = read_audit_filter(request);
  if (!filter) return problem_of(filter.error());
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) {
    return problem(501, "no_audit", "This office keeps no audit trail.");
  }
  const auto page = read_trail(*ledger, *filter, *after, *limit);
  if (!page) return problem_of(page.error());
  if (request.http.header("Accept").find("application/x-ndjson") != std::string_view::npos) {
    HttpResponse response;
    response.content_type = "application/x-ndjson";
    for (const AuditEntry& entry : page->entries) response.body += to_json(entry) + "\n";
    return response;
  }
  JsonWriter json;
  json.begin_object().key("entries").begin_array();
  for (const AuditEntry& entry : page->entries) json.raw(to_json(entry));
  json.end_array().key("next");
  if (page->next) {
    json.number(*page->next);
  } else {
    json.null();
  }
  json.end_object();
  return json_answer(json.take());
}

}  // namespace dlo::api
