#include "dlo/api/events.h"

#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/core/id.h"
#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

Error refuse(std::string detail) {
  return {Code::invalid_argument, "api.events", std::move(detail)};
}

Result<std::vector<std::string>> read_types(const std::string& text) {
  std::vector<std::string> types;
  std::size_t from = 0;
  while (from < text.size()) {
    const auto comma = std::min(text.find(',', from), text.size());
    types.push_back(text.substr(from, comma - from));
    from = comma + 1;
    const auto& known = event_types();
    if (std::find(known.begin(), known.end(), types.back()) == known.end()) {
      return refuse(unknown_name("event type", types.back(), known));
    }
  }
  return types;
}

Result<EventFilter> read_filter(const Request& request) {
  EventFilter filter;
  auto types = read_types(request.text("types"));
  if (!types) return types.error();
  filter.types = std::move(*types);
  if (const auto* source = request.find("source")) filter.source = *source;
  if (const auto* group = request.find("group")) {
    if (!parse_id(*group)) return refuse("group must be the id of a group: 32 hex digits");
    filter.group = *group;
  }
  return filter;
}

/// Where the client was: its Last-Event-ID, or `after` for clients that cannot send headers.
Result<std::optional<EventPlace>> read_place(const Request& request) {
  std::string text = request.text("after");
  if (request.http.has_header("Last-Event-ID")) text = request.http.header("Last-Event-ID");
  if (text.empty()) return std::optional<EventPlace>();
  const auto place = parse_event_place(text);
  if (!place) {
    return refuse(in_quotes(text) + " is not the id of an event. Leave it away to begin now.");
  }
  return std::optional(*place);
}

std::string plain_event(std::string_view type, const EventPlace& place) {
  return event_text({place, std::string(type), "", "", "{}"});
}

}  // namespace

Events::Events(Office& office, const Clock& clock, EventOptions options, StillAdmitted admitted)
    : feed_(office),
      clock_(clock),
      options_(options),
      admitted_(std::move(admitted)),
      thread_([this] { run(); }) {}

Events::~Events() {
  close();
  thread_.join();
}

void Events::close() {
  std::vector<ReaderPtr> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    left.swap(readers_);
    changed_.notify_all();
  }
  for (const ReaderPtr& reader : left) reader->exchange->end();
}

void Events::tell(const ReaderPtr& reader, const std::string& text) {
  reader->told = clock_.now();
  if (reader->exchange->write(text) != Room::full) return;
  // Until it has read what it has, it is passed over: its place stays where it is.
  reader->has_room.store(false);
  // Not held by its own exchange: neither would ever go.
  reader->exchange->when_room([held = std::weak_ptr(reader)](bool) {
    if (const ReaderPtr waiting = held.lock()) waiting->has_room.store(true);
  });
}

void Events::greet(const ReaderPtr& reader, const std::optional<EventPlace>& wanted,
                   EventPlace newest) {
  // A place that is not there yet belongs to another office, or to one that was restored since.
  const bool unknown = wanted && (wanted->change > newest.change || wanted->audit > newest.audit);
  reader->place = wanted && !unknown ? *wanted : newest;
  HttpResponse head;
  head.content_type = "text/event-stream";
  head.headers.push_back({"Cache-Control", "no-store"});
  head.headers.push_back({"X-Accel-Buffering", "no"});
  reader->exchange->begin(std::move(head));
  tell(reader, "retry: 2000\n" + plain_event(unknown ? "reset" : "ready", reader->place));
}

void Events::open(const Request& request, const ExchangePtr& exchange) {
  auto filter = read_filter(request);
  if (!filter) return exchange->send(problem_of(filter.error()));
  const auto wanted = read_place(request);
  if (!wanted) return exchange->send(problem_of(wanted.error()));
  const auto newest = feed_.newest();
  if (!newest) return exchange->send(problem_of(newest.error()));
  if (request.http.method == "HEAD") {
    HttpResponse head;
    head.content_type = "text/event-stream";
    return exchange->send(std::move(head));
  }
  auto reader = std::make_shared<Reader>();
  reader->exchange = exchange;
  reader->filter = std::move(*filter);
  reader->authorization = request.http.header("Authorization");
  const std::lock_guard lock(mutex_);
  if (closed_ || readers_.size() >= options_.most_readers) {
    HttpResponse busy = problem(503, "busy",
                                "As many listen to events as the server can tell, or it is about "
                                "to stop. Listen again in a moment.");
    busy.headers.push_back({"Retry-After", "2"});
    return exchange->send(std::move(busy));
  }
  greet(reader, *wanted, *newest);
  readers_.push_back(std::move(reader));
  changed_.notify_all();
}

bool Events::look(const std::vector<ReaderPtr>& readers) {
  std::map<EventPlace, std::optional<EventFeed::Batch>> batches;  // who is at one place, asks once
  bool more = false;
  for (const ReaderPtr& reader : readers) {
    if (!reader->has_room.load()) continue;  // nothing is told to it, so nothing is asked
    auto& batch = batches[reader->place];
    if (!batch) {
      auto read = feed_.after(reader->place);
      // Nothing is lost: it is asked again next time.
      batch = read ? std::move(*read) : EventFeed::Batch{{}, reader->place, false};
    }
    // Its token was revoked, or is too old. Asked after the office was: whoever hears that a token
    // is revoked knows that nothing later is told by it.
    if (admitted_ && !admitted_(reader->authorization)) {
      reader->over = true;
      reader->exchange->end();
      continue;
    }
    std::string text;
    for (const Event& event : batch->events) {
      if (reader->filter.wants(event)) text += event_text(event);
    }
    reader->place = batch->next;
    more = more || batch->more;
    if (text.empty() && clock_.now() - reader->told >= options_.heartbeat) {
      text = ": still here\nid: " + to_string(reader->place) + "\n\n";
    }
    if (!text.empty()) tell(reader, text);
  }
  return more;
}

void Events::run() {
  bool more = false;
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (readers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    std::erase_if(readers_,
                  [](const ReaderPtr& each) { return each->over || each->exchange->gone(); });
    const auto readers = readers_;
    lock.unlock();
    more = look(readers);
    lock.lock();
    if (!more && !closed_) clock_.wait_until(lock, changed_, clock_.now() + options_.look);
  }
}

std::vector<Route> Events::routes() {
  return {
      {"GET",
       "/v1/events",
       Role::reader,
       Lane::slow,
       {"types", "source", "group", "after"},
       [this](const Request& request, const ExchangePtr& exchange) { open(request, exchange); }}};
}

}  // namespace dlo::api
