#include "dlo/api/poison.h"

#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/overtaken.h"
#include "dlo/core/spelling.h"
#include "dlo/durable/runtime.h"
#include "dlo/jobs/former.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"
#include "dlo/store/poison_book.h"

namespace dlo::api {
namespace {

constexpr std::uint64_t usual_items = 100;
constexpr std::uint64_t most_items = 1'000;

/// Nobody is told: the instance failed when its item was poisoned, and a retry is a person's act.
class NoHooks final : public OwnerHooks {
 public:
  Result<void> fail_orchestration(const Owner&, const Poison&) override { return {}; }
  Result<void> notify_parent(const Owner&, const Poison&) override { return {}; }
  Result<void> fail_activity(const Owner&, const Poison&) override { return {}; }
  void warn(const std::string&) override {}
};

struct Book {
  Office& office;
  QueueHall* hall;
  PoisonKind kind;
};

Result<std::int64_t> poison_id(const Request& request) {
  const std::string& text = request.path.front();
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size()) return id;
  return Error{Code::invalid_argument, "api.poison",
               in_quotes(text) + " is not a poison id: a whole number, as lists show them"};
}

/// Null: there is none. A backend without a poison book has none (S3-36).
Result<std::optional<PoisonDetail>> find(const Book& book, std::int64_t id) {
  PoisonBook* poison = book.office.extras().poison;
  if (poison == nullptr) return std::optional<PoisonDetail>();
  return poison->get(book.kind, id);
}

HttpResponse list(const Book& book, const Request& request) {
  PoisonQuery query{.kind = book.kind};
  if (const auto* given = request.find("instance")) query.instance = *given;
  const auto after = request.number("after", 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!after) return problem_of(after.error());
  const auto limit = request.number("limit", usual_items, 1, most_items);
  if (!limit) return problem_of(limit.error());
  query.after = static_cast<std::int64_t>(*after);
  query.limit = *limit;
  std::optional<std::int64_t> next;
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  if (PoisonBook* poison = book.office.extras().poison) {
    const auto items = poison->list(query);
    if (!items) return problem_of(items.error());
    for (const PoisonItem& item : *items) json.raw(to_json(item));
    if (items->size() == query.limit) next = items->back().poison_id;
  }
  json.end_array().key("next");
  if (next) {
    json.number(*next);
  } else {
    json.null();
  }
  json.end_object();
  return json_answer(json.take());
}

HttpResponse show(const Book& book, const Request& request) {
  const auto id = poison_id(request);
  if (!id) return problem_of(id.error());
  const auto detail = find(book, *id);
  if (!detail) return problem_of(detail.error());
  if (!*detail) {
    return problem(404, "not_found",
                   "There is no poisoned item " + std::to_string(*id) + " of this kind.");
  }
  PoisonDetail shown = **detail;
  shown.work_item = curtain_of(request).hidden(shown.work_item);
  return json_answer(to_json(shown));
}

HttpResponse yes_or_no(std::string_view name, bool answer) {
  JsonWriter json;
  json.begin_object();
  json.key(name).boolean(answer).end_object();
  return json_answer(json.take());
}

std::string move_text(Status from, Status to) {
  JsonWriter json;
  json.begin_object().member("from", name_of(from)).member("to", name_of(to)).end_object();
  return json.take();
}

std::optional<HttpResponse> remove_once(const Book& book, const Request& request,
                                        Overtaken& overtaken) {
  const auto id = poison_id(request);
  if (!id) return problem_of(id.error());
  const auto detail = find(book, *id);
  if (!detail) return problem_of(detail.error());
  if (!*detail) return yes_or_no("removed", false);
  const RecordId record = (*detail)->item.record;
  const auto now = book.office.get(record);
  if (!now && now.error().code == Code::not_found) return yes_or_no("removed", false);
  if (!now) return problem_of(now.error());
  // A discard like any other: its grace begins, and a restore finds the way back.
  auto changes = remember_discard(book.office, record, now->record.status, request.now);
  if (!changes) return problem_of(changes.error());
  Transition away;
  away.id = record;
  away.expected_version = now->record.version;
  away.to = Status::discarding;
  away.now = request.now;
  changes->emplace_back(std::move(away));
  changes->emplace_back(audit_of(request, "poison.remove", to_string(record),
                                 move_text(now->record.status, Status::discarding)));
  const auto applied = book.office.apply(*changes);
  if (!applied && overtaken.is_reason_to_begin_anew(applied.error())) return std::nullopt;
  return applied ? yes_or_no("removed", true) : problem_of(applied.error());
}

HttpResponse remove(const Book& book, const Request& request) {
  return answer_of_last(
      request, [&](Overtaken& overtaken) { return remove_once(book, request, overtaken); });
}

HttpResponse retry(const Book& book, const Request& request) {
  const auto id = poison_id(request);
  if (!id) return problem_of(id.error());
  if (auto read = read_body(request, [](JsonFields&) {}); !read) return problem_of(read.error());
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (*key) {
    auto before = (*key)->find(book.office);
    if (!before) return problem_of(before.error());
    if (*before) return std::move(**before);
  }
  const auto detail = find(book, *id);
  if (!detail) return problem_of(detail.error());
  if (!*detail) return yes_or_no("retried", false);
  const std::string& source = (*detail)->work_item->source;
  const auto window = book.hall == nullptr ? nullptr : book.hall->find(source);
  if (window == nullptr) {
    return problem(
        409, "conflict",
        "The item came from " + in_quotes(source) +
            ", which is no queue of this server. Nothing was changed; declare the queue, "
            "or let the runtime itself retry it.");
  }
  JsonWriter said;
  said.begin_object().member("to", source).end_object();
  const std::vector<Change> trail{
      audit_of(request, "poison.retry", to_string((*detail)->item.record), said.take())};
  if (const auto applied = book.office.apply(trail); !applied) return problem_of(applied.error());
  NoHooks hooks;
  DurableRuntime runtime({book.office, window->queue(), window->queue(), window->rules(), hooks});
  const auto retried = runtime.retry_poison(book.kind, *id, request.instant());
  if (!retried) return problem_of(retried.error());
  window->wake();
  HttpResponse answer = yes_or_no("retried", *retried);
  if (!*key || !*retried) return answer;
  // Afterwards: a key that was kept for nothing would keep the item from being retried. If this is
  // lost the item is not among the poisoned any more, and nothing is sent twice.
  const Change kept = (*key)->keep(answer);
  if (book.office.apply({&kept, 1})) IdempotencyKey::forget_old(book.office, request.now);
  return answer;
}

/// Zero: it was not named, and there is none of the usual name.
Result<std::uint64_t> depth_of(const Book& book, const Request& request, std::string_view name) {
  const auto* given = request.find(name);
  const std::string queue = given != nullptr ? *given : std::string(name);
  const auto window = book.hall == nullptr ? nullptr : book.hall->find(queue);
  if (window == nullptr && given == nullptr) return std::uint64_t{0};
  if (window == nullptr) {
    return Error{Code::not_found, "api.poison", "There is no queue " + in_quotes(queue) + "."};
  }
  const auto numbers = window->queue().stats(request.instant());
  if (!numbers) return numbers.error();
  return numbers->ready + numbers->delayed + numbers->leased + numbers->held;
}

HttpResponse stats(const Book& book, const Request& request) {
  JsonWriter json;
  json.begin_object();
  for (const std::string_view name : {"orchestrator_queue", "worker_queue"}) {
    const auto depth = depth_of(book, request, name);
    if (!depth) return problem_of(depth.error());
    json.member(name, *depth);
  }
  PoisonBook* poison = book.office.extras().poison;
  for (const auto& [name, kind] :
       {std::pair("poison_orchestrator_count", PoisonKind::orchestration),
        std::pair("poison_worker_count", PoisonKind::activity)}) {
    const auto count = poison == nullptr ? Result<std::uint64_t>(0) : poison->count(kind);
    if (!count) return problem_of(count.error());
    json.member(name, *count);
  }
  json.end_object();
  return json_answer(json.take());
}

using Answer = HttpResponse (*)(const Book&, const Request&);

Route route(std::string_view method, std::string_view pattern, Role role, const Book& book,
            Answer answer, std::vector<std::string_view> query = {}) {
  return {method,
          pattern,
          role,
          Lane::quick,
          std::move(query),
          answering([book, answer](const Request& request) { return answer(book, request); })};
}

}  // namespace

std::vector<Route> poison_routes(Office& office, QueueHall* hall) {
  const Book orchestrations{office, hall, PoisonKind::orchestration};
  const Book activities{office, hall, PoisonKind::activity};
  return {
      route("GET", "/v1/poison/stats", Role::reader, orchestrations, stats,
            {"orchestrator_queue", "worker_queue"}),
      route("GET", "/v1/poison/orchestrations", Role::reader, orchestrations, list,
            {"instance", "after", "limit"}),
      route("GET", "/v1/poison/orchestrations/{poison_id}", Role::reader, orchestrations, show),
      route("DELETE", "/v1/poison/orchestrations/{poison_id}", Role::operator_, orchestrations,
            remove),
      route("POST", "/v1/poison/orchestrations/{poison_id}/retry", Role::operator_, orchestrations,
            retry),
      route("GET", "/v1/poison/activities", Role::reader, activities, list,
            {"instance", "after", "limit"}),
      route("GET", "/v1/poison/activities/{poison_id}", Role::reader, activities, show),
      route("DELETE", "/v1/poison/activities/{poison_id}", Role::operator_, activities, remove),
      route("POST", "/v1/poison/activities/{poison_id}/retry", Role::operator_, activities, retry),
  };
}

}  // namespace dlo::api
