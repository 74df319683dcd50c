#include "dlo/api/sources.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/queue_settings.h"
#include "dlo/core/spelling.h"
#include "dlo/core/unserved.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

struct Parts {
  Office& office;
  QueueHall* hall;
  ListCollected collected;
  ListRelayed relayed;
  ConsumedSources consumed;
};

/// What is known of one.
struct Source {
  std::shared_ptr<QueueWindow> queue;  // null: others report what died there
  std::vector<CollectedSource> collectors{};
  std::vector<RelayedSource> relays{};
  std::optional<ConsumedSource> consumer{};
  std::uint64_t open = 0;
  std::uint64_t total = 0;
  std::uint64_t live = 0;  // wait in the office for their next attempt

  /// Nobody here runs what waits.
  [[nodiscard]] bool is_unserved() const noexcept {
    return live > 0 && queue == nullptr && !consumer;
  }
  [[nodiscard]] const char* kind() const noexcept {
    if (queue != nullptr) return "queue";
    if (consumer) return "consumed";
    if (live > 0) return "unserved";
    if (!relays.empty()) return "outbox";
    return collectors.empty() ? "reported" : "collected";
  }
};
using Sources = std::map<std::string, Source>;

Result<Sources> find_all(const Parts& parts) {
  const auto numbers = parts.office.aggregate({});
  if (!numbers) return numbers.error();
  Sources sources;
  for (const Tally& tally : numbers->tallies) {
    Source& source = sources[tally.source];
    if (is_live(tally.status)) {
      source.live += tally.count;
      continue;
    }
    source.total += tally.count;
    if (is_open(tally.status)) source.open += tally.count;
  }
  if (parts.collected) {
    for (CollectedSource& each : parts.collected()) {
      auto& all = sources[each.source].collectors;
      all.push_back(std::move(each));
    }
  }
  if (parts.relayed) {
    for (RelayedSource& each : parts.relayed()) {
      auto& all = sources[each.name].relays;
      all.push_back(std::move(each));
    }
  }
  if (parts.consumed.list) {
    for (ConsumedSource& each : parts.consumed.list()) {
      auto& consumer = sources[each.source].consumer;
      consumer = std::move(each);
    }
  }
  if (parts.hall == nullptr) return sources;
  for (const auto& window : parts.hall->all()) {
    sources[window->settings().source.source].queue = window;
  }
  return sources;
}

Result<Source> find_one(const Parts& parts, const std::string& name) {
  auto all = find_all(parts);
  if (!all) return all.error();
  const auto found = all->find(name);
  if (found != all->end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& each : *all) names.push_back(each.first);
  return Error{Code::not_found, "api.sources", unknown_name("source", name, names)};
}

void write_collectors(JsonWriter& json, const std::vector<CollectedSource>& collectors) {
  json.key("collectors").begin_array();
  for (const CollectedSource& each : collectors) {
    json.begin_object().member("name", each.name).member("broker", each.broker);
    json.member("queue", each.queue).member("profile", each.profile).member("state", each.state);
    json.member("collected", each.collected).member("repeats", each.repeats);
    json.member("refused", each.refused).member("last_at", each.last_at);
    if (!each.trouble.empty()) json.member("trouble", each.trouble);
    json.end_object();
  }
  json.end_array();
}

void write_relays(JsonWriter& json, const std::vector<RelayedSource>& relays) {
  json.key("relays").begin_array();
  for (const RelayedSource& each : relays) {
    json.begin_object().member("name", each.name).member("table", each.table);
    json.member("shape", each.shape).member("to", each.to).member("profile", each.profile);
    json.member("state", each.state).member("published", each.published);
    json.member("failures", each.failures).member("dead", each.dead);
    json.member("waiting", each.waiting).member("share", each.share);
    json.member("last_at", each.last_at);
    if (!each.trouble.empty()) json.member("trouble", each.trouble);
    json.end_object();
  }
  json.end_array();
}

void write_consumer(JsonWriter& json, const ConsumedSource& consumer) {
  json.member("profile", consumer.profile).key("paused").boolean(consumer.paused);
  json.member("leased", consumer.in_flight);
  json.key("consumer").begin_object();
  json.member("broker", consumer.broker).member("queue", consumer.queue);
  json.member("handler", consumer.handler);
  if (!consumer.dead_letter_queue.empty()) {
    json.member("dead_letter_queue", consumer.dead_letter_queue);
  }
  json.member("state", consumer.state).member("received", consumer.received);
  json.member("succeeded", consumer.succeeded).member("retried", consumer.retried);
  json.member("dead", consumer.dead).member("repeats", consumer.repeats);
  json.member("dropped", consumer.dropped);
  if (!consumer.trouble.empty()) json.member("trouble", consumer.trouble);
  json.end_object();
}

Result<std::string> source_json(const std::string& name, const Source& source, const Instant& now) {
  JsonWriter json;
  json.begin_object().member("source", name);
  json.member("kind", source.kind());
  json.member("open", source.open).member("total", source.total);
  json.member("waiting", source.live);
  if (source.is_unserved()) json.member("trouble", unserved_trouble(source.live));
  if (source.queue != nullptr) {
    const auto stats = source.queue->queue().stats(now);
    if (!stats) return stats.error();
    json.member("profile", source.queue->settings().profile);
    json.key("paused").boolean(stats->paused);
    json.member("ready", stats->ready).member("delayed", stats->delayed);
    json.member("leased", stats->leased).member("oldest", stats->oldest);
  }
  if (source.consumer) write_consumer(json, *source.consumer);
  if (!source.collectors.empty()) write_collectors(json, source.collectors);
  if (!source.relays.empty()) write_relays(json, source.relays);
  json.end_object();
  return json.take();
}

HttpResponse list(const Parts& parts, const Request& request) {
  const auto all = find_all(parts);
  if (!all) return problem_of(all.error());
  std::vector<std::pair<std::string, Source>> sorted(all->begin(), all->end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.open > b.second.open; });
  JsonWriter json;
  json.begin_object().key("sources").begin_array();
  for (const auto& [name, source] : sorted) {
    const auto text = source_json(name, source, request.instant());
    if (!text) return problem_of(text.error());
    json.raw(*text);
  }
  json.end_array().end_object();
  return json_answer(json.take());
}

HttpResponse show(const Parts& parts, const Request& request) {
  const auto source = find_one(parts, request.path.front());
  if (!source) return problem_of(source.error());
  auto text = source_json(request.path.front(), *source, request.instant());
  return text ? json_answer(std::move(*text)) : problem_of(text.error());
}

/// It is paused until somebody resumes it, also by the next server.
HttpResponse pause_consumer(const Parts& parts, const Request& request,
                            const ConsumedSource& consumer, bool paused) {
  const std::string& name = consumer.source;
  const std::vector<Change> changes{
      PutDocument{paused_kind, name, paused ? std::optional<std::string>("{}") : std::nullopt,
                  std::nullopt},
      audit_of(request, paused ? "pause" : "resume", "source/" + name,
               pause_text(consumer.paused, paused))};
  if (const auto noted = parts.office.apply(changes); !noted) return problem_of(noted.error());
  parts.consumed.pause(name, paused);
  return show(parts, request);
}

HttpResponse pause(const Parts& parts, const Request& request, bool paused) {
  if (auto read = read_body(request, [](JsonFields&) {}); !read) return problem_of(read.error());
  const std::string& name = request.path.front();
  const auto source = find_one(parts, name);
  if (!source) return problem_of(source.error());
  if (source->queue == nullptr && source->consumer) {
    return pause_consumer(parts, request, *source->consumer, paused);
  }
  if (source->queue == nullptr && !source->collectors.empty()) {
    return problem(409, "conflict",
                   in_quotes(name) +
                       " is drained as long as the configuration names it under `collectors`: take "
                       "it out there and restart the server to stop it.");
  }
  if (source->queue == nullptr && !source->relays.empty()) {
    return problem(409, "conflict",
                   "The rows of " + in_quotes(name) +
                       " are sent as long as the configuration names it under `outboxes`: take it "
                       "out there and restart the server to stop it.");
  }
  if (source->queue == nullptr) {
    return problem(409, "conflict",
                   "What died of " + in_quotes(name) +
                       " is reported by others: this server takes nothing from it, so there is "
                       "nothing to pause here.");
  }
  OwnQueue& queue = source->queue->queue();
  const auto before = queue.stats(request.instant());
  if (!before) return problem_of(before.error());
  const std::vector<Change> trail{audit_of(request, paused ? "pause" : "resume", "queue/" + name,
                                           pause_text(before->paused, paused))};
  if (const auto noted = parts.office.apply(trail); !noted) return problem_of(noted.error());
  const auto done = paused ? queue.pause() : queue.resume();
  if (!done) return problem_of(done.error());
  if (!paused) source->queue->wake();
  return show(parts, request);
}

/// Looks, takes nothing and sends nothing.
HttpResponse test(const Parts& parts, const Request& request) {
  if (auto read = read_body(request, [](JsonFields&) {}); !read) return problem_of(read.error());
  const std::string& name = request.path.front();
  const auto source = find_one(parts, name);
  if (!source) return problem_of(source.error());
  bool works = true;
  std::vector<std::pair<bool, std::string>> found;
  const auto add = [&](bool fine, std::string text) {
    works = works && fine;
    found.emplace_back(fine, std::move(text));
  };
  for (const CollectedSource& each : source->collectors) {
    add(each.trouble.empty(), "Collector " + in_quotes(each.name) + " of queue " +
                                  in_quotes(each.queue) + ": " + each.state +
                                  (each.trouble.empty() ? "." : ": " + each.trouble));
  }
  for (const RelayedSource& each : source->relays) {
    add(each.trouble.empty(), "Outbox " + in_quotes(each.name) + ", table " +
                                  in_quotes(each.table) + ": " + each.state +
                                  (each.trouble.empty() ? "." : ": " + each.trouble));
  }
  if (source->consumer) {
    const ConsumedSource& each = *source->consumer;
    add(each.state == "working" && each.trouble.empty(),
        "Queue " + in_quotes(each.queue) + ", handled by " + each.handler + ": " + each.state +
            (each.trouble.empty() ? "." : ": " + each.trouble));
    if (parts.consumed.may_send && each.state != "broker_down") {
      const auto allowed = parts.consumed.may_send();
      add(allowed.has_value(),
          allowed ? "Copies and what is sent back can be sent to queues."
                  : "Queue " + in_quotes(each.queue) + ": " + allowed.error().detail);
    }
  }
  if (source->is_unserved()) add(false, unserved_trouble(source->live) + ".");
  if (source->queue == nullptr && source->collectors.empty() && source->relays.empty() &&
      !source->consumer && source->live == 0) {
    add(true, "Others report what died of it; whether they still can, only they know.");
  }
  if (source->queue != nullptr) {
    OwnQueue& queue = source->queue->queue();
    const auto stats = queue.stats(request.instant());
    add(stats.has_value(), stats ? "The queue answers." : stats.error().detail);
    const auto peeked = queue.peek(1);
    add(peeked.has_value(), peeked ? "Its messages can be read." : peeked.error().detail);
    if (stats && stats->paused) add(false, "It is paused: nothing is handed out.");
  }
  JsonWriter json;
  json.begin_object().member("source", name).key("works").boolean(works);
  json.key("checks").begin_array();
  for (const auto& [fine, text] : found) {
    json.begin_object().key("ok").boolean(fine).member("text", text).end_object();
  }
  json.end_array().end_object();
  return json_answer(json.take());
}

template <typename Answer>
Route route(std::string_view method, std::string_view pattern, Role role, const Parts& parts,
            const Answer& answer, Lane lane = Lane::quick) {
  return {method,
          pattern,
          role,
          lane,
          {},
          answering([parts, answer](const Request& request) { return answer(parts, request); })};
}

}  // namespace

std::vector<Route> source_routes(Office& office, QueueHall* hall, ListCollected collected,
                                 ListRelayed relayed, ConsumedSources consumed) {
  const Parts parts{office, hall, std::move(collected), std::move(relayed), std::move(consumed)};
  return {
      route("GET", "/v1/sources", Role::reader, parts, list),
      route("GET", "/v1/sources/{source}", Role::reader, parts, show),
      route("POST", "/v1/sources/{source}/pause", Role::operator_, parts,
            [](const Parts& at, const Request& request) { return pause(at, request, true); }),
      route("POST", "/v1/sources/{source}/resume", Role::operator_, parts,
            [](const Parts& at, const Request& request) { return pause(at, request, false); }),
      route("POST", "/v1/sources/{source}/test", Role::reader, parts, test, Lane::slow),
  };
}

}  // namespace dlo::api
