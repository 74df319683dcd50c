#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/message_frames.h"
#include "dlo/api/queue_bodies.h"
#include "dlo/api/queues.h"
#include "dlo/core/sha256.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_received = 1'000;
constexpr std::uint64_t longest_lease_ms = 86'400'000;

HttpResponse busy() {
  return problem_of({Code::unavailable, "api.queue",
                     "The server is too busy; nothing was done. Try again in a moment."});
}

HttpResponse sent_answer(const Result<std::vector<PublishAnswer>>& sent) {
  if (!sent) return problem_of(sent.error());
  const auto duplicates = std::count_if(sent->begin(), sent->end(),
                                        [](const PublishAnswer& each) { return each.duplicate; });
  JsonWriter json;
  json.begin_object()
      .member("sent", sent->size() - static_cast<std::size_t>(duplicates))
      .member("duplicates", static_cast<std::uint64_t>(duplicates))
      .end_object();
  return json_answer(json.take(), duplicates == 0 ? 201 : 200);
}

/// An Idempotency-Key is a dedupe id for each message: the queue itself remembers those, durably
/// and in the same write as the message. Another body under the same key is another message: to
/// drop it as a repeat would lose it.
Result<void> heed_idempotency(const Request& request, const QueueSettings& settings,
                              std::vector<Publication>& messages) {
  if (!request.http.has_header("Idempotency-Key")) return {};
  const std::string key(request.http.header("Idempotency-Key"));
  if (key.empty() || key.size() > 200) {
    return Error{Code::invalid_argument, "api.idempotency",
                 "An Idempotency-Key has 1 to 200 bytes."};
  }
  if (settings.source.dedupe_window <= Millis{0}) {
    return Error{Code::invalid_argument, "api.idempotency",
                 "Queue " + settings.source.source +
                     " remembers no keys. Declare it with dedupe_window_ms; nothing was sent."};
  }
  const std::string body = to_hex(sha256(request.http.target + "\n" + request.http.body));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].dedupe_id.empty()) continue;
    messages[i].dedupe_id = key + "/" + body + "/" + std::to_string(i);
  }
  return {};
}

void send_to(QueueWindow& window, std::vector<Publication> messages, const ExchangePtr& exchange) {
  window.send(std::move(messages), *exchange,
              [exchange](const auto& sent) { exchange->send(sent_answer(sent)); });
}

/// A queue is made by the first who sends to it: on a thread that may wait for the office, since
/// its settings and who made it are written first.
void send_to_new(QueueHall& hall, const Request& request, std::vector<Publication> messages,
                 const ExchangePtr& exchange) {
  const std::string& name = request.path.front();
  AddAudit audit = audit_of(request, "declare", "queue/" + name, "first message");
  const auto work = [&hall, name, audit = std::move(audit), exchange,
                     kept = std::make_shared<std::vector<Publication>>(std::move(messages))] {
    const auto window = hall.get_or_make(name, audit);
    if (!window) return exchange->send(problem_of(window.error()));
    send_to(**window, std::move(*kept), exchange);
  };
  if (!hall.later(work)) exchange->send(busy());
}

void send(QueueHall& hall, const Request& request, const ExchangePtr& exchange) {
  const std::string& name = request.path.front();
  const auto window = hall.find(name);
  if (window == nullptr && !hall.made_by_sending()) {
    return exchange->send(problem_of(hall.get(name).error()));
  }
  auto messages = read_publications(request);
  if (!messages) return exchange->send(problem_of(messages.error()));
  const auto heeded = heed_idempotency(
      request, window ? window->settings() : usual_queue_settings(name), *messages);
  if (!heeded) return exchange->send(problem_of(heeded.error()));
  if (messages->empty()) return exchange->send(sent_answer(std::vector<PublishAnswer>()));
  if (window == nullptr) return send_to_new(hall, request, std::move(*messages), exchange);
  send_to(*window, std::move(*messages), exchange);
}

void receive(QueueHall& hall, const Request& request, const ExchangePtr& exchange) {
  const auto window = hall.get(request.path.front());
  if (!window) return exchange->send(problem_of(window.error()));
  const auto usual = static_cast<std::uint64_t>((*window)->settings().lease_for.count());
  const auto limit = request.number("limit", 1, 1, most_received);
  const auto wait = request.number("wait_ms", 0, 0, longest_wait_ms);
  const auto lease = request.number("lease_ms", usual, 1, longest_lease_ms);
  for (const auto* each : {&limit, &wait, &lease}) {
    if (!*each) return exchange->send(problem_of(each->error()));
  }
  QueueWindow::Wanted wanted;
  wanted.limit = *limit;
  wanted.wait = Millis{static_cast<std::int64_t>(*wait)};
  wanted.lease_for = Millis{static_cast<std::int64_t>(*lease)};
  const HandedForm form = handed_form(request);
  (*window)->receive(wanted, exchange, [form](const QueueWindow::Handed& handed) {
    return render_handed(handed, form);
  });
}

HttpResponse settled_answer(const std::vector<SettleWish>& wishes,
                            const std::vector<PullAnswer>& answers, std::string_view type) {
  if (type == "application/json") {
    if (answers.front().fate == PullAnswer::Fate::lease_lost) {
      return problem(409, "lease_lost",
                     "This lease is over, or was settled already: the message is or was somebody "
                     "else's. Nothing was changed.");
    }
    return json_answer(answer_json(answers.front(), wishes.front().renew_for.has_value()));
  }
  const bool lines = type != settlements_type;
  HttpResponse response;
  JsonWriter json;
  std::uint64_t done = 0;
  json.begin_object().key("lost").begin_array();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool lost = answers[i].fate == PullAnswer::Fate::lease_lost;
    if (lost) response.status = 207;
    if (lines) {
      response.body += answer_json(answers[i], wishes[i].renew_for.has_value()) + "\n";
    } else if (lost) {
      json.number(std::uint64_t{i});
    } else {
      ++done;
    }
  }
  json.end_array().member("settled", done).end_object();
  response.content_type = lines ? "application/x-ndjson" : "application/json";
  if (!lines) response.body = json.take() + "\n";
  return response;
}

/// Renewals are answered first, so that what follows in the same batch finds its lease alive.
Result<void> renew_all(QueueWindow& window, const std::vector<SettleWish>& wishes,
                       std::vector<PullAnswer>& answers) {
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!wishes[i].renew_for) continue;
    const auto live = window.renew({wishes[i].settlement.lease}, *wishes[i].renew_for);
    if (!live) return live.error();
    answers[i].fate = live->front() ? PullAnswer::Fate::completed : PullAnswer::Fate::lease_lost;
  }
  return {};
}

using Wishes = std::shared_ptr<std::vector<SettleWish>>;
using Window = std::shared_ptr<QueueWindow>;

/// Renews on this thread, and hands the rest to the queue.
void carry_out(const Window& window, const Wishes& kept, const std::string& type,
               const ExchangePtr& exchange) {
  auto answers = std::make_shared<std::vector<PullAnswer>>(kept->size());
  if (auto renewed = renew_all(*window, *kept, *answers); !renewed) {
    return exchange->send(problem_of(renewed.error()));
  }
  std::vector<PullSettlement> settlements;
  auto places = std::make_shared<std::vector<std::size_t>>();
  for (std::size_t i = 0; i < kept->size(); ++i) {
    if ((*kept)[i].renew_for) continue;
    places->push_back(i);
    settlements.push_back((*kept)[i].settlement);
  }
  if (settlements.empty()) return exchange->send(settled_answer(*kept, *answers, type));
  const auto told = [exchange, kept, answers, places,
                     type](const Result<std::vector<PullAnswer>>& settled) {
    if (!settled) return exchange->send(problem_of(settled.error()));
    for (std::size_t i = 0; i < places->size(); ++i) (*answers)[(*places)[i]] = (*settled)[i];
    exchange->send(settled_answer(*kept, *answers, type));
  };
  window->settle(std::move(settlements), *exchange, told);
}

void settle(QueueHall& hall, const Request& request, const ExchangePtr& exchange) {
  const auto window = hall.get(request.path.front());
  if (!window) return exchange->send(problem_of(window.error()));
  auto wishes = read_settle_wishes(request, (*window)->settings().lease_for);
  if (!wishes) return exchange->send(problem_of(wishes.error()));
  const std::string type = media_type(request);
  const bool renews = std::any_of(wishes->begin(), wishes->end(), [](const SettleWish& each) {
    return each.renew_for.has_value();
  });
  const auto kept = std::make_shared<std::vector<SettleWish>>(std::move(*wishes));
  if (!renews) return carry_out(*window, kept, type, exchange);
  const Window shared = *window;
  if (!shared->later([shared, kept, type, exchange] { carry_out(shared, kept, type, exchange); })) {
    exchange->send(busy());
  }
}

using Act = void (*)(QueueHall&, const Request&, const ExchangePtr&);

Route route(std::string_view pattern, Lane lane, QueueHall& hall, Act act,
            std::vector<std::string_view> query) {
  return {"POST",
          pattern,
          Role::operator_,
          lane,
          std::move(query),
          [&hall, act](const Request& request, const ExchangePtr& exchange) {
            act(hall, request, exchange);
          }};
}

}  // namespace

std::vector<Route> queue_message_routes(QueueHall& hall) {
  // Sending is read on the I/O thread and written by the queue's gatherer; the other two may have
  // to wait for the office or the disk.
  return {
      route("/v1/queues/{queue}/messages", Lane::here, hall, send,
            {"id", "type", "key", "correlation_id", "priority", "delay_ms", "dedupe_id"}),
      route("/v1/queues/{queue}/receive", Lane::here, hall, receive,
            {"limit", "wait_ms", "lease_ms"}),
      route("/v1/queues/{queue}/settle", Lane::here, hall, settle, {}),
  };
}

}  // namespace dlo::api
