#include "dlo/api/queue_bodies.h"

#include <array>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/api/message_frames.h"
#include "dlo/api/report_reading.h"
#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"
#include "dlo/json/parts.h"
#include "dlo/json/read_parts.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::string_view ndjson = "application/x-ndjson";
constexpr std::string_view header_prefix = "dlo-header-";

Error refuse(std::string detail) {
  return {Code::invalid_argument, "api.message", std::move(detail)};
}

Error at_line(const Error& error, std::size_t number) {
  const bool ended = error.detail.ends_with('.');
  return {error.code, error.where,
          "Line " + std::to_string(number) + ": " + error.detail + (ended ? "" : ".") +
              " Nothing of the batch was used."};
}

Result<Publication> publication(std::string_view text, TimePoint now) {
  Publication out;
  const auto read = read_object(text, [&](JsonFields& fields) {
    if (fields.has("source"))
      fields.complain("source", "is the queue it is sent to: leave it away");
    auto message = std::make_shared<Message>(read_sent_message(fields, now));
    if (message->position) fields.complain("offset", "is given by the queue: leave it away");
    out.message = std::move(message);
    out.delay = fields.millis("delay_ms");
    if (out.delay < Millis{0} || out.delay > longest_duration) {
      fields.complain("delay_ms", "must be from 0 to ten years");
    }
    out.dedupe_id = fields.text("dedupe_id");
  });
  if (!read) return read.error();
  return out;
}

Result<Publication> single(const Request& request) {
  auto message = std::make_shared<Message>();
  message->id = request.text("id");
  message->event_type = request.text("type");
  message->key = request.text("key");
  message->correlation_id = request.text("correlation_id");
  message->content_type = std::string(request.http.header("Content-Type"));
  message->enqueued_at = request.now;
  message->payload = request.http.body;
  for (const HttpHeader& header : request.http.headers) {
    const std::string name = ascii_lower(header.name);
    if (!name.starts_with(header_prefix)) continue;
    message->headers.push_back({name.substr(header_prefix.size()), header.value});
  }
  if (const auto* priority = request.find("priority")) {
    if (*priority != "low" && *priority != "normal" && *priority != "high") {
      return refuse("priority must be low, normal or high, not " + in_quotes(*priority));
    }
    message->priority = *priority == "low"    ? Priority::low
                        : *priority == "high" ? Priority::high
                                              : Priority::normal;
  }
  Publication out;
  const auto delay = request.number("delay_ms", 0, 0, std::uint64_t(longest_duration.count()));
  if (!delay) return delay.error();
  out.delay = Millis{static_cast<std::int64_t>(*delay)};
  out.dedupe_id = request.text("dedupe_id");
  out.message = std::move(message);
  return out;
}

Result<Publication> framed(const Frame& frame, TimePoint now) {
  if (frame.head.empty()) {
    Publication out;
    auto message = std::make_shared<Message>();
    message->enqueued_at = now;
    message->payload = std::string(frame.payload);
    out.message = std::move(message);
    return out;
  }
  auto out = publication(frame.head, now);
  if (!out) return out;
  if (out->message->payload) return refuse("The head of a frame must not have a payload.");
  auto whole = std::make_shared<Message>(*out->message);
  whole->payload = std::string(frame.payload);
  out->message = std::move(whole);
  return out;
}

Failure read_error(JsonFields& fields) {
  Failure failure;
  if (const JsonValue* value = fields.find("failure")) {
    JsonFields inside(*value, fields.place_of("failure"), fields.complaints());
    return read_failure(inside);
  }
  failure.text = fields.text("error");
  return failure;
}

AbandonOptions read_abandon(JsonFields& fields) {
  AbandonOptions options;
  options.increment_count = fields.boolean("increment_count");
  options.force_poison = fields.boolean("force_poison");
  if (fields.has("error_message")) options.error_message = fields.text("error_message");
  if (fields.has("max_abandon_count"))
    options.max_abandon_count = fields.small("max_abandon_count");
  options.delay = fields.millis("delay_ms");
  if (fields.has("delay")) {
    const auto delay = parse_duration(fields.text("delay"));
    if (!delay) fields.complain("delay", delay.error().detail);
    if (delay) options.delay = *delay;
    if (fields.has("delay_ms")) fields.complain("delay", "stands beside `delay_ms`: use one");
  }
  if (options.delay < Millis{0} || options.delay > longest_duration) {
    fields.complain("delay_ms", "must be from 0 to ten years");
  }
  return options;
}

constexpr std::array<std::string_view, 6> outcomes{"complete", "fail",        "abandon",
                                                   "release",  "dead_letter", "renew"};

void read_outcome(JsonFields& fields, SettleWish& wish, Millis usual_lease) {
  const auto outcome = fields.choice("outcome", outcomes);
  if (!outcome) return;
  switch (*outcome) {
    case 0:
      wish.settlement.ending = PullCompleted{};
      break;
    case 1:
      wish.settlement.ending = PullFailed{read_error(fields)};
      break;
    case 2:
      wish.settlement.ending = read_abandon(fields);
      break;
    case 3:
      wish.settlement.ending = PullReleased{};
      break;
    case 4:
      fields.require("reason");
      wish.settlement.ending = PullCondemned{fields.text("reason"), fields.text("description")};
      break;
    default:
      wish.renew_for = fields.has("lease_ms") ? fields.millis("lease_ms") : usual_lease;
      if (*wish.renew_for < Millis{1} || *wish.renew_for > std::chrono::hours{24}) {
        fields.complain("lease_ms", "must be from 1 to 86400000 (a day)");
      }
  }
}

/// Reads what is written without blanks or escapes, one piece after the other.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) noexcept : rest_(text) {}
  bool take(char c) noexcept {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_string(std::string_view& into) noexcept {
    if (!take('"')) return false;
    const auto end = rest_.find('"');
    if (end == std::string_view::npos) return false;
    into = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return into.find('\\') == std::string_view::npos;
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// What most say, word for word: this lease is complete. Anything else is read with care.
std::optional<LeaseToken> plainly_complete(std::string_view text) noexcept {
  PlainReader reader(text);
  std::string_view lease;
  std::string_view outcome;
  if (!reader.take('{')) return std::nullopt;
  for (int member = 0; member < 2; ++member) {
    std::string_view name;
    std::string_view value;
    if (member > 0 && !reader.take(',')) return std::nullopt;
    if (!reader.take_string(name) || !reader.take(':') || !reader.take_string(value)) {
      return std::nullopt;
    }
    (name == "lease" ? lease : outcome) = value;
    if (name != "lease" && name != "outcome") return std::nullopt;
  }
  if (!reader.take('}') || !reader.at_end() || outcome != "complete") return std::nullopt;
  const auto id = parse_id(lease);
  if (!id) return std::nullopt;
  return LeaseToken{*id};
}

Result<void> read_wish(std::string_view text, Millis usual_lease, SettleWish& wish) {
  if (const auto lease = plainly_complete(text)) {
    wish.settlement = {*lease, PullCompleted{}};
    return {};
  }
  return read_object(text, [&](JsonFields& fields) {
    fields.require("lease");
    fields.require("outcome");
    const auto lease = parse_id(fields.text("lease"));
    if (!lease) fields.complain("lease", "must be the lease a receive answered: 32 hex digits");
    wish.settlement.lease = LeaseToken{lease.value_or(Id128{})};
    read_outcome(fields, wish, usual_lease);
  });
}

void write_json(JsonWriter& json, const PullDesk::Handed& handed) {
  json.begin_object()
      .member("lease", to_string(handed.lease))
      .member("leased_until", handed.leased_until)
      .member("attempt", handed.counters.attempt);
  dlo::write_json(json.key("counters"), handed.counters);
  json.member("last_error", handed.last_error);
  dlo::write_json(json.key("message"), *handed.message);
  json.end_object();
}

}  // namespace

Result<std::vector<Publication>> read_publications(const Request& request) {
  const std::string type = media_type(request);
  std::vector<Publication> out;
  const bool batch = type == ndjson || type == frames_type;
  if (batch && !request.query.empty()) {
    return refuse("Parameters describe a single message; in a batch each says its own.");
  }
  if (type == ndjson) {
    for (const Line& line : lines_of(request.http.body)) {
      auto one = publication(line.text, request.now);
      if (!one) return at_line(one.error(), line.number);
      out.push_back(std::move(*one));
    }
  } else if (type == frames_type) {
    const auto frames = read_frames(request.http.body);
    if (!frames) return frames.error();
    for (const Frame& frame : *frames) {
      auto one = framed(frame, request.now);
      if (!one) return at_line(one.error(), out.size() + 1);
      out.push_back(std::move(*one));
    }
  } else {
    auto one = single(request);
    if (!one) return one.error();
    out.push_back(std::move(*one));
  }
  return out;
}

Result<std::vector<SettleWish>> read_settle_wishes(const Request& request, Millis usual_lease) {
  const std::string type = media_type(request);
  std::vector<SettleWish> out;
  if (type == settlements_type) {
    auto settlements = read_settlements(request.http.body);
    if (!settlements) return settlements.error();
    for (auto& each : *settlements) out.emplace_back().settlement = std::move(each);
  } else if (type == ndjson) {
    for (const Line& line : lines_of(request.http.body)) {
      const auto read = read_wish(line.text, usual_lease, out.emplace_back());
      if (!read) return at_line(read.error(), line.number);
    }
  } else if (type == "application/json") {
    const auto read = read_wish(request.http.body, usual_lease, out.emplace_back());
    if (!read) return read.error();
  } else {
    return refuse(
        "Say how one message went as application/json, or of many as application/x-ndjson.");
  }
  return out;
}

HandedForm handed_form(const Request& request) {
  const std::string_view accept = request.http.header("Accept");
  if (accept.find(frames_type) != std::string_view::npos) return HandedForm::frames;
  if (accept.find(ndjson) != std::string_view::npos) return HandedForm::ndjson;
  return HandedForm::json;
}

HttpResponse render_handed(const std::vector<PullDesk::Handed>& handed, HandedForm form) {
  HttpResponse response;
  if (form == HandedForm::frames) {
    response.content_type = frames_type;
    response.body = handed_frames(handed);
  } else if (form == HandedForm::ndjson) {
    response.content_type = ndjson;
    for (const auto& each : handed) {
      JsonWriter json;
      write_json(json, each);
      response.body += json.take() + "\n";
    }
  } else {
    JsonWriter json;
    json.begin_object().key("messages").begin_array();
    for (const auto& each : handed) write_json(json, each);
    json.end_array().end_object();
    response = json_answer(json.take());
  }
  return response;
}

std::string answer_json(const PullAnswer& answer, bool renewed) {
  const bool lost = answer.fate == PullAnswer::Fate::lease_lost;
  JsonWriter json;
  json.begin_object().member("fate", renewed && !lost ? "renewed" : name_of(answer.fate));
  if (!answer.reason.empty()) json.member("reason", answer.reason);
  if (answer.record) json.member("dead_letter", to_string(*answer.record));
  if (answer.next_at) json.member("next_at", *answer.next_at);
  if (answer.abandon_count) json.member("abandon_count", *answer.abandon_count);
  json.end_object();
  return json.take();
}

}  // namespace dlo::api
