#include "dlo/api/queues.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/core/caution.h"
#include "dlo/core/spelling.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_peeked = 1'000;

struct Hall {
  QueueHall& hall;
  Office& office;
  const Clock& clock;
};

/// Dead letters somebody still has to deal with, by source: what died of a queue is the office's.
using DeadBySource = std::map<std::string, std::uint64_t, std::less<>>;

Result<DeadBySource> count_dead(Office& office) {
  const auto numbers = office.aggregate({});
  if (!numbers) return numbers.error();
  DeadBySource dead;
  for (const Tally& tally : numbers->tallies) {
    if (is_open(tally.status)) dead[tally.source] += tally.count;
  }
  return dead;
}

std::uint64_t whole(double rate) {
  return static_cast<std::uint64_t>(std::llround(std::max(rate, 0.0)));
}

Result<std::string> queue_json(QueueWindow& window, const DeadBySource& dead, const Instant& now) {
  const auto stats = window.queue().stats(now);
  if (!stats) return stats.error();
  const auto died = dead.find(window.settings().source.source);
  JsonWriter json;
  json.begin_object().member("queue", window.settings().source.source);
  write_members(json, window.settings());
  json.key("paused").boolean(stats->paused);
  json.member("ready", stats->ready)
      .member("delayed", stats->delayed)
      .member("leased", stats->leased)
      .member("held", stats->held)
      .member("dead", died == dead.end() ? std::uint64_t{0} : died->second)
      .member("bytes", stats->bytes)
      .member("published", stats->published)
      .member("completed", stats->completed)
      .member("dead_lettered", stats->dead_lettered)
      .member("expired", stats->expired)
      .member("purged", stats->purged)
      .member("oldest", stats->oldest)
      .member("in_per_second", whole(stats->in_per_second))
      .member("out_per_second", whole(stats->out_per_second))
      .end_object();
  return json.take();
}

HttpResponse show_one(const Hall& in, QueueWindow& window, const Instant& now, int status = 200) {
  const auto dead = count_dead(in.office);
  if (!dead) return problem_of(dead.error());
  auto text = queue_json(window, *dead, now);
  if (!text) return problem_of(text.error());
  const auto profile = in.hall.profile_of(window.settings());
  JsonWriter json;
  json.text(profile ? caution(*profile) : std::string());
  text->pop_back();  // the closing bracket
  return json_answer(*text + ",\"caution\":" + json.take() + "}", status);
}

HttpResponse list(const Hall& in, const Request& request) {
  const auto dead = count_dead(in.office);
  if (!dead) return problem_of(dead.error());
  JsonWriter json;
  json.begin_object().key("queues").begin_array();
  for (const auto& window : in.hall.all()) {
    const auto text = queue_json(*window, *dead, request.instant());
    if (!text) return problem_of(text.error());
    json.raw(*text);
  }
  json.end_array().end_object();
  return json_answer(json.take());
}

HttpResponse declare(const Hall& in, const Request& request) {
  QueueSettings settings;
  const auto read = read_body(request, [&](JsonFields& fields) {
    settings = read_queue_settings(fields, request.path.front());
  });
  if (!read) return problem_of(read.error());
  const auto declared =
      in.hall.declare(settings, audit_of(request, "declare", "queue/" + request.path.front(), {}));
  if (!declared) return problem_of(declared.error());
  return show_one(in, *declared->window, request.instant(), declared->made ? 201 : 200);
}

/// An act on a queue: found, audited, carried out. Office first (R4): an act that is in the trail
/// and did not happen is better than one that happened and is not.
template <typename Act>
HttpResponse act_on(const Hall& in, const Request& request, std::string_view name,
                    std::string detail, const Act& act) {
  auto window = in.hall.get(request.path.front());
  if (!window) return problem_of(window.error());
  const std::vector<Change> trail{
      audit_of(request, name, "queue/" + request.path.front(), std::move(detail))};
  if (const auto applied = in.office.apply(trail); !applied) return problem_of(applied.error());
  return act(**window);
}

HttpResponse pause(const Hall& in, const Request& request, bool paused) {
  if (auto read = read_body(request, [](JsonFields&) {}); !read) return problem_of(read.error());
  const auto found = in.hall.get(request.path.front());
  if (!found) return problem_of(found.error());
  const auto before = (*found)->queue().stats(request.instant());
  if (!before) return problem_of(before.error());
  std::string said = pause_text(before->paused, paused);
  return act_on(in, request, paused ? "pause" : "resume", std::move(said),
                [&](QueueWindow& window) {
                  const auto done = paused ? window.queue().pause() : window.queue().resume();
                  if (!done) return problem_of(done.error());
                  if (!paused) window.wake();
                  return show_one(in, window, request.instant());
                });
}

HttpResponse count_answer(std::string_view name, std::uint64_t count) {
  JsonWriter json;
  json.begin_object().member(name, count).end_object();
  return json_answer(json.take());
}

/// What is about to be lost for good, or to go `to` another queue, for the trail (R8).
std::string what_waits(const Hall& in, const Request& request, const std::string& to = {}) {
  JsonWriter json;
  json.begin_object();
  if (!to.empty()) json.member("to", to);
  const auto window = in.hall.get(request.path.front());
  const auto stats = window ? (*window)->queue().stats(request.instant()) : window.error();
  if (stats) {
    json.member("ready", std::uint64_t{stats->ready})
        .member("delayed", std::uint64_t{stats->delayed})
        .member("leased", std::uint64_t{stats->leased});
  }
  json.end_object();
  return json.take();
}

HttpResponse purge(const Hall& in, const Request& request) {
  std::string confirm;
  const auto read =
      read_body(request, [&](JsonFields& fields) { confirm = fields.text("confirm"); });
  if (!read) return problem_of(read.error());
  if (confirm != request.path.front()) {
    return problem(400, "confirmation_needed",
                   "A purge removes every message of queue " + in_quotes(request.path.front()) +
                       " that nobody has leased, for good. Say {\"confirm\": \"" +
                       request.path.front() + "\"} if that is meant. Nothing was removed.");
  }
  return act_on(in, request, "purge", what_waits(in, request), [](QueueWindow& window) {
    const auto purged = window.queue().purge();
    return purged ? count_answer("purged", *purged) : problem_of(purged.error());
  });
}

HttpResponse move(const Hall& in, const Request& request) {
  std::string to;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fields.require("to");
    to = fields.text("to");
  });
  if (!read) return problem_of(read.error());
  const auto target = in.hall.get(to);
  if (!target) return problem_of(target.error());
  if (to == request.path.front()) {
    return problem(400, "invalid_argument", "A queue cannot be moved into itself.");
  }
  return act_on(in, request, "move", what_waits(in, request, to), [&](QueueWindow& window) {
    const auto moved = window.queue().move_to((*target)->queue());
    if (!moved) return problem_of(moved.error());
    (*target)->wake();
    return count_answer("moved", *moved);
  });
}

HttpResponse peek(const Hall& in, const Request& request) {
  const auto limit = request.number("limit", 10, 1, most_peeked);
  if (!limit) return problem_of(limit.error());
  const auto window = in.hall.get(request.path.front());
  if (!window) return problem_of(window.error());
  const auto messages = (*window)->queue().peek(*limit);
  if (!messages) return problem_of(messages.error());
  JsonWriter json;
  json.begin_object().key("messages").begin_array();
  for (const MessagePtr& message : *messages) {
    json.raw(to_json(*curtain_of(request).hidden(message)));
  }
  json.end_array().end_object();
  return json_answer(json.take());
}

HttpResponse show(const Hall& in, const Request& request) {
  const auto window = in.hall.get(request.path.front());
  return window ? show_one(in, **window, request.instant()) : problem_of(window.error());
}

template <typename Answer>
Route route(std::string_view method, std::string_view pattern, Role role, const Hall& in,
            const Answer& answer, std::vector<std::string_view> query = {}) {
  return {method,
          pattern,
          role,
          Lane::quick,
          std::move(query),
          answering([in, answer](const Request& request) { return answer(in, request); })};
}

}  // namespace

std::vector<Route> queue_routes(QueueHall& hall, Office& office, const Clock& clock) {
  const Hall in{hall, office, clock};
  return {
      route("GET", "/v1/queues", Role::reader, in, list),
      route("PUT", "/v1/queues/{queue}", Role::admin, in, declare),
      route("GET", "/v1/queues/{queue}", Role::reader, in, show),
      route("GET", "/v1/queues/{queue}/messages", Role::reader, in, peek, {"limit"}),
      route("POST", "/v1/queues/{queue}/pause", Role::operator_, in,
            [](const Hall& at, const Request& request) { return pause(at, request, true); }),
      route("POST", "/v1/queues/{queue}/resume", Role::operator_, in,
            [](const Hall& at, const Request& request) { return pause(at, request, false); }),
      route("POST", "/v1/queues/{queue}/purge", Role::admin, in, purge),
      route("POST", "/v1/queues/{queue}/move", Role::operator_, in, move),
  };
}

}  // namespace dlo::api
