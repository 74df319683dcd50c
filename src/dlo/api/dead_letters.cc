#include "dlo/api/dead_letters.h"

#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/curtain.h"
#include "dlo/api/lookup.h"
#include "dlo/api/notes.h"
#include "dlo/core/forms.h"
#include "dlo/core/spelling.h"
#include "dlo/json/json.h"
#include "dlo/json/lifted.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"
#include "dlo/query/suggest.h"
#include "dlo/store/rules.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_rows = 1'000;
constexpr std::size_t usual_rows = 50;
constexpr std::size_t usual_tasks = 100;   // in the form of document 002 (S2-19)
constexpr std::size_t most_at_once = 250;  // of a stream
constexpr std::size_t most_shown_in_memory = 100;

Error refuse(std::string detail) {
  return {Code::invalid_argument, "api.list", std::move(detail)};
}

/// What a list was asked for.
struct Listing {
  Query query;
  std::vector<LiftedColumn> columns;
  std::optional<Form> form;
  const Curtain& curtain;
};

std::string not_durable(std::string object) {
  object.pop_back();  // the closing bracket
  return object + ",\"durable\":false}";
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from < text.size()) {
    const auto comma = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

Result<Listing> parse_listing(const Request& request) {
  Listing listing{.query = {}, .columns = {}, .form = {}, .curtain = curtain_of(request)};
  auto query = parse_query(request.text("q"), request.now);
  if (!query) {
    return refuse("The query " + in_quotes(request.text("q")) + " is not understood. " +
                  query.error().detail + ".");
  }
  listing.query = std::move(*query);
  if (auto fine = listing.curtain.check(listing.query, request); !fine) return fine.error();
  if (const auto& sources = request.actor.scope.sources; !sources.empty()) {
    listing.query.tests.push_back({Field::source, "", sources, false});
  }
  const bool tasks = request.text("form") == "workflow";
  auto limit = request.number("limit", tasks ? usual_tasks : usual_rows, 1, most_rows);
  if (!limit) return limit.error();
  listing.query.limit = *limit;
  if (const auto* order = request.find("order")) {
    if (*order != "newest" && *order != "oldest") {
      return refuse("order must be newest or oldest, not " + in_quotes(*order));
    }
    listing.query.order = *order == "oldest" ? Order::oldest_first : Order::newest_first;
  }
  if (const auto* cursor = request.find("cursor")) {
    listing.query.after = parse_cursor(*cursor);
    if (!listing.query.after) {
      return refuse(in_quotes(*cursor) + " is not a cursor. Use the `next` of an earlier page.");
    }
  }
  auto columns = parse_columns(split(request.text("columns")));
  if (!columns) return columns.error();
  listing.columns = std::move(*columns);
  if (const auto* form = request.find("form")) {
    auto parsed = parse_form(*form);
    if (!parsed) return parsed.error();
    listing.form = *parsed;
  }
  return listing;
}

/// One row: the head alone, with columns lifted out of its message, or the record in a form. Empty:
/// it was removed since it was listed.
Result<std::string> row_json(Office& office, const Listing& listing, const RecordHead& head) {
  if (listing.columns.empty() && !listing.form) return to_json(head);
  auto detail = office.get(head.id);
  if (!detail && detail.error().code != Code::not_found) return detail.error();
  if (detail) *detail = listing.curtain.hidden(std::move(*detail));
  if (listing.form) {
    if (!detail) return std::string();
    return to_json(render(*listing.form, detail->record, form_context(*detail)));
  }
  const auto values = detail ? lift(listing.columns, *detail->record.message)
                             : std::vector<LiftedValue>(listing.columns.size());
  JsonWriter lifted;
  lifted.begin_object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i].write(lifted, listing.columns[i].title);
  }
  lifted.end_object();
  std::string text = to_json(head);
  text.pop_back();  // the closing bracket
  return text + ",\"columns\":" + lifted.take() + "}";
}

/// What the office could not take yet: it can be neither sorted nor searched with the others.
void write_in_memory(JsonWriter& json, const Request& request, const FallbackShelf& shelf) {
  std::vector<std::string> rows;
  for (const auto& each : shelf.first(most_shown_in_memory)) {
    if (allows_source(request.actor.scope, each->record->message->source)) {
      rows.push_back(not_durable(to_json(head_of(*each->record))));
    }
  }
  if (rows.empty()) return;
  json.key("in_memory").begin_array();
  for (const std::string& row : rows) json.raw(row);
  json.end_array();
}

HttpResponse list_page(Office& office, const Listing& listing, const Request& request,
                       const FallbackShelf& shelf) {
  const auto page = office.list(listing.query);
  if (!page) return problem_of(page.error());
  JsonWriter json;
  json.begin_object().key("dead_letters").begin_array();
  for (const RecordHead& head : page->rows) {
    const auto row = row_json(office, listing, head);
    if (!row) return problem_of(row.error());
    if (!row->empty()) json.raw(*row);
  }
  json.end_array().key("next");
  if (page->next) {
    json.text(to_string(*page->next));
  } else {
    json.null();
  }
  json.key("partial").boolean(page->partial);
  if (!listing.query.after) write_in_memory(json, request, shelf);
  json.end_object();
  return json_answer(json.take());
}

/// Everything that matches, a page at a time, as fast as the client reads it. Between two pages no
/// thread is held.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Office& office, WorkerPool& pool, Listing listing, ExchangePtr exchange,
         std::optional<std::size_t> most)
      : office_(office),
        pool_(pool),
        listing_(std::move(listing)),
        exchange_(std::move(exchange)),
        left_(most) {
    listing_.query.limit = most_at_once;
  }

  void start() {
    HttpResponse head;
    head.content_type = "application/x-ndjson";
    exchange_->begin(std::move(head));
    step();
  }

 private:
  void step() {
    if (left_) listing_.query.limit = std::min(*left_, most_at_once);
    auto page = office_.list(listing_.query);
    if (!page) return fail(page.error());
    if (left_) *left_ -= std::min(*left_, page->rows.size());
    std::string lines;
    for (const RecordHead& head : page->rows) {
      const auto row = row_json(office_, listing_, head);
      if (!row) return fail(row.error());
      if (!row->empty()) lines += *row + "\n";
    }
    const Room room = exchange_->write(lines);
    const bool over = !page->next || (left_ && *left_ == 0);
    if (room == Room::gone || over) return exchange_->end();
    listing_.query.after = page->next;
    if (room == Room::yes) return go_on();
    exchange_->when_room([self = shared_from_this()](bool alive) {
      if (alive) self->go_on();
    });
  }
  void go_on() {
    if (!pool_.post([self = shared_from_this()] { self->step(); })) {
      fail({Code::unavailable, "api.list", "the server is too busy to go on; ask again"});
    }
  }
  /// The status is sent long ago: the last line says that this is not all.
  void fail(const Error& error) {
    std::string line = problem_of(error).body;
    exchange_->write(line);
    exchange_->end();
  }

  Office& office_;
  WorkerPool& pool_;
  Listing listing_;
  const ExchangePtr exchange_;
  std::optional<std::size_t> left_;  // of what was asked for; empty: everything
};

void list(Office& office, WorkerPool& pool, const FallbackShelf& shelf, const Request& request,
          const ExchangePtr& exchange) {
  auto listing = parse_listing(request);
  if (!listing) return exchange->send(problem_of(listing.error()));
  if (request.http.header("Accept").find("application/x-ndjson") != std::string_view::npos) {
    std::optional<std::size_t> most;
    if (request.find("limit") != nullptr) most = listing->query.limit;
    return std::make_shared<Stream>(office, pool, std::move(*listing), exchange, most)->start();
  }
  exchange->send(list_page(office, *listing, request, shelf));
}

/// One that is in memory only; without what people can add to it.
std::optional<HttpResponse> show_in_memory(const FallbackShelf& shelf, const Request& request) {
  const auto found = shelf.find(request.path.front());
  if (found == nullptr) return std::nullopt;
  if (!allows_source(request.actor.scope, found->record->message->source)) return std::nullopt;
  RecordDetail detail{*found->record, found->attempts, {}};
  detail = curtain_of(request).hidden(std::move(detail));
  if (const auto* name = request.find("form")) {
    const auto form = parse_form(*name);
    if (!form) return problem_of(form.error());
    return json_answer(not_durable(to_json(render(*form, detail.record, form_context(detail)))));
  }
  std::string text = to_json(detail);
  text.pop_back();
  return json_answer(not_durable(text + ",\"notes\":[]}"));
}

/// Everything known of it. What is masked says so: whoever takes it in elsewhere would keep masks.
Result<std::string> whole_json(Office& office, const RecordDetail& shown, const HoldOf& hold,
                               bool masked) {
  const auto notes = notes_of(office, shown.record.id);
  if (!notes) return notes.error();
  JsonWriter json;
  json.begin_object().key("notes");
  write_json(json, *notes);
  if (const auto held = hold(shown.record)) {
    json.key("holds_key").begin_object().member("waiting", held->waiting).end_object();
  }
  if (masked) json.key("masked").boolean(true);
  std::string text = to_json(shown);
  text.back() = ',';
  return text + json.end_object().take().substr(1);
}

HttpResponse show(Office& office, const FallbackShelf& shelf, const HoldOf& hold,
                  const Request& request) {
  const auto kept = find_record(office, request);
  if (!kept) {
    if (auto in_memory = show_in_memory(shelf, request)) return std::move(*in_memory);
    return problem_of(kept.error());
  }
  const auto detail = curtain_of(request).shown(office, request, *kept);
  if (!detail) return problem_of(detail.error());
  std::string text;
  if (const auto* name = request.find("form")) {
    const auto form = parse_form(*name);
    if (!form) return problem_of(form.error());
    text = to_json(render(*form, detail->record, form_context(*detail)));
  } else {
    auto whole = whole_json(office, *detail, hold, is_hidden_in(*kept, *detail));
    if (!whole) return problem_of(whole.error());
    text = std::move(*whole);
  }
  HttpResponse response = json_answer(std::move(text));
  set_etag(response, detail->record.version);
  return response;
}

HttpResponse payload(Office& office, const Request& request) {
  const auto detail = find_shown(office, request);
  if (!detail) return problem_of(detail.error());
  const auto& versions = detail->versions;
  const auto newest = versions.empty() ? 0 : versions.back().number;
  const auto wanted = request.number("version", newest, 0, newest);
  if (!wanted) return problem_of(wanted.error());
  const auto found = std::find_if(versions.begin(), versions.end(),
                                  [&](const Version& each) { return each.number == *wanted; });
  const auto& bytes = found == versions.end() ? detail->record.message->payload : found->payload;
  if (!bytes) {
    return problem(404, "no_payload", "The message of this dead letter has no payload at all.");
  }
  HttpResponse response;
  const std::string& type = detail->record.message->content_type;
  // Never as something a browser would run: these are bytes of strangers.
  response.content_type = "application/octet-stream";
  response.headers.push_back({"Content-Disposition", "attachment"});
  if (!type.empty()) response.headers.push_back({"Dlo-Content-Type", type});
  response.body = *bytes;
  return response;
}

HttpResponse suggestions(Office& office, const Request& request) {
  AggregateRequest wanted;
  wanted.groups = most_suggestions;
  wanted.group_order = GroupOrder::open_count;
  const auto numbers = office.aggregate(wanted);
  if (!numbers) return problem_of(numbers.error());
  const std::string text = request.text("q");
  const auto at = request.number("at", text.size(), 0, text.size());
  if (!at) return problem_of(at.error());
  const Suggestions found = suggest(text, *at, *numbers);
  JsonWriter json;
  json.begin_object().member("from", found.from).member("to", found.to);
  json.key("suggestions").begin_array();
  for (const Suggestion& each : found.items) {
    json.begin_object()
        .member("text", each.text)
        .member("about", each.about)
        .member("count", each.count)
        .end_object();
  }
  json.end_array().end_object();
  return json_answer(json.take());
}

}  // namespace

std::vector<Route> dead_letter_routes(Office& office, WorkerPool& slow, const FallbackShelf& shelf,
                                      HoldOf hold) {
  return {
      {"GET",
       "/v1/dead-letters",
       Role::reader,
       Lane::slow,
       {"q", "limit", "order", "cursor", "columns", "form"},
       [&office, &slow, &shelf](const Request& request, const ExchangePtr& exchange) {
         list(office, slow, shelf, request, exchange);
       }},
      {"GET",
       "/v1/dead-letters/{id}",
       Role::reader,
       Lane::quick,
       {"form", "reveal"},
       answering([&office, &shelf, hold = std::move(hold)](const Request& request) {
         return show(office, shelf, hold, request);
       })},
      {"GET",
       "/v1/dead-letters/{id}/payload",
       Role::reader,
       Lane::quick,
       {"version", "reveal"},
       answering([&office](const Request& request) { return payload(office, request); })},
      {"GET",
       "/v1/suggestions",
       Role::reader,
       Lane::quick,
       {"q", "at"},
       answering([&office](const Request& request) { return suggestions(office, request); })},
  };
}

}  // namespace dlo::api
