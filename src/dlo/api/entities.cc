#include "dlo/api/entities.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/api/idempotency.h"
#include "dlo/core/acts.h"
#include "dlo/core/redact.h"
#include "dlo/core/spelling.h"
#include "dlo/entities/entity_book.h"
#include "dlo/entities/entity_steps.h"
#include "dlo/entities/entity_text.h"
#include "dlo/jobs/former.h"
#include "dlo/json/writer.h"
#include "dlo/store/death_audit.h"

namespace dlo::api {
namespace {

constexpr std::size_t longest_text = 16 * 1024;
constexpr std::size_t usual_page = 50;
constexpr std::size_t longest_page = 500;
constexpr std::size_t longest_id = 200;
constexpr std::array<std::string_view, 2> statuses = {"FAILED", "PERMANENTLY_FAILED"};
constexpr const char* removed_text = R"({"removed":true})";

using Now = std::optional<KeptEntity>;
using Planned = Result<EntityBook::Step>;

std::string bounded(JsonFields& fields, std::string_view name) {
  std::string text = fields.text(name);
  if (text.size() > longest_text) fields.complain(name, "is longer than 16384 bytes");
  return text;
}

void read_error(JsonFields& fields, EntityWords& words) {
  if (fields.has("error")) words.error = redact(bounded(fields, "error"));
  if (fields.has("error_type")) words.error_type = redact(bounded(fields, "error_type"));
}

/// For the trail: states and counts, not what the owner said.
std::string trail_text(const Entity& entity) {
  JsonWriter json;
  json.begin_object()
      .member("status", name_of(entity.status))
      .member("retry_count", std::uint64_t{entity.counters.retry})
      .member("round", std::uint64_t{entity.round});
  if (entity.dead_letter) json.member("dead_letter", to_string(*entity.dead_letter));
  return json.end_object().take();
}

/// What closes a dead letter whose entity is opened again; nothing if somebody has closed it.
Result<std::vector<Change>> close_dead_letter(Office& office, const RecordId& id,
                                              Resolution resolution) {
  std::vector<Change> changes;
  const auto dead = office.get(id);
  if (!dead && dead.error().code == Code::not_found) return changes;
  if (!dead) return dead.error();
  const Status status = dead->record.status;
  if (!is_open(status) || !is_possible(Act::resolve, status)) return changes;
  auto former = remember_status(office, id, status);
  if (!former) return former.error();
  Transition close;
  close.id = id;
  close.expected_version = dead->record.version;
  close.to = Status::resolved;
  close.now = resolution.at;
  close.resolution = std::move(resolution);
  changes.emplace_back(std::move(close));
  changes.push_back(std::move(*former));
  return changes;
}

/// One request about one entity, from look-up to answer.
class Visit {
 public:
  Visit(const EntityParts& parts, const Request& request) : parts_(parts), request_(request) {}

  HttpResponse list() {
    if (auto refusal = find_kind()) return std::move(*refusal);
    const auto filter = read_filter();
    if (!filter) return problem_of(filter.error());
    EntityPage page;
    if (allows_source(request_.actor.scope, kind_->source)) {
      if (auto refusal = find_rules()) return std::move(*refusal);
      auto found = EntityBook(parts_.office).list(kind_->name, *filter);
      if (!found) return problem_of(found.error());
      page = std::move(*found);
    }
    JsonWriter json;
    json.begin_object().key("entities").begin_array();
    for (const KeptEntity& each : page.entities) write(json, each.entity);
    json.end_array().key("next");
    if (page.next.empty()) {
      json.null();
    } else {
      json.text(page.next);
    }
    return json_answer(json.end_object().take());
  }

  HttpResponse show() {
    if (auto refusal = enter()) return std::move(*refusal);
    const auto kept = EntityBook(parts_.office).get(*kind_, id());
    return kept ? answer(kept->entity, kept->version) : problem_of(kept.error());
  }

  HttpResponse put() {
    EntityWords words;
    const auto read = read_body(request_, [&](JsonFields& fields) {
      read_error(fields, words);
      words.created_at = fields.time("created_at");
      if (const JsonValue* data = fields.find("data")) words.data = std::string(data->raw);
    });
    if (auto refusal = enter(read)) return std::move(*refusal);
    if (words.data) {
      if (auto fine = check_data(*kind_, *words.data); !fine) return problem_of(fine.error());
    }
    return carry_out("entity.register", [&](const Now& now) {
      status_ = now ? 200 : 201;
      return register_step(*kind_, id(), now, words, request_.now);
    });
  }

  HttpResponse remove() {
    if (auto refusal = enter()) return std::move(*refusal);
    return carry_out("entity.remove", [&](const Now& now) -> Planned {
      if (!now) return none();
      EntityBook::Step step;
      Entity gone = now->entity;
      gone.effect.reset();
      step.also.push_back(note_effect(gone));
      return step;
    });
  }

  HttpResponse retry() {
    EntityWords words;
    const auto read = read_body(request_, [&](JsonFields& fields) { read_error(fields, words); });
    if (auto refusal = enter(read)) return std::move(*refusal);
    return carry_out("entity.retry", [&](const Now& now) -> Planned {
      auto step = retry_step(*kind_, id(), now, words, *rules_, parts_.origin, request_.now);
      if (!step) return step.error();
      allowed_ = step->is_allowed;
      if (!step->is_allowed) add_death_audit(step->step.also, request_.actor.name, request_.now);
      return std::move(step->step);
    });
  }

  HttpResponse reopen() {
    std::string notes;
    const auto read =
        read_body(request_, [&](JsonFields& fields) { notes = bounded(fields, "notes"); });
    if (auto refusal = enter(read)) return std::move(*refusal);
    return carry_out("entity.reopen", [&](const Now& now) -> Planned {
      if (!now) return none();
      auto next = reopened(*kind_, now->entity, request_.now);
      if (!next) return next.error();
      EntityBook::Step step;
      if (now->entity.dead_letter) {
        auto closed = close_dead_letter(parts_.office, *now->entity.dead_letter,
                                        {request_.now, request_.actor.name, "reopened", notes});
        if (!closed) return closed.error();
        step.also = std::move(*closed);
      }
      step.also.push_back(note_effect(*next));
      step.next = std::move(*next);
      return step;
    });
  }

  HttpResponse effect() {
    if (auto refusal = enter(read_body(request_, [](JsonFields&) {}))) return std::move(*refusal);
    return carry_out("entity.effect", [&](const Now& now) -> Planned {
      if (!now) return none();
      auto next = with_effect_again(*kind_, now->entity, request_.now);
      if (!next) return next.error();
      EntityBook::Step step;
      step.also.push_back(note_effect(*next));
      step.next = std::move(*next);
      return step;
    });
  }

 private:
  [[nodiscard]] const std::string& id() const { return request_.path.back(); }
  [[nodiscard]] Error none() const {
    return {Code::not_found, "api.entities", not_found_text(*kind_, id())};
  }

  [[nodiscard]] Result<EntityFilter> read_filter() const {
    EntityFilter filter;
    const auto limit = request_.number("limit", usual_page, 1, longest_page);
    if (!limit) return limit.error();
    filter.limit = *limit;
    filter.after = request_.text("cursor");
    if (filter.after.size() > longest_id) {
      return Error{Code::invalid_argument, "api.entities",
                   "That is not a cursor. Use the `next` of an earlier page."};
    }
    const std::string status = request_.text("status");
    if (status.empty()) return filter;
    filter.status = parse_entity_status(status);
    if (!filter.status) {
      return Error{Code::invalid_argument, "api.entities",
                   unknown_name("status", status, statuses)};
    }
    return filter;
  }

  std::optional<HttpResponse> find_kind() {
    const auto& kinds = parts_.options.kinds;
    const auto found = std::ranges::find(kinds, request_.path.front(), &EntityKind::name);
    if (found == kinds.end()) {
      std::vector<std::string_view> names;
      for (const EntityKind& each : kinds) names.push_back(each.name);
      return problem_of({Code::not_found, "api.entities",
                         unknown_name("kind of entity", request_.path.front(), names)});
    }
    kind_ = &*found;
    return std::nullopt;
  }

  /// What is the same for all: kind, id, who asks, and the rules that hold for it.
  std::optional<HttpResponse> enter(const Result<void>& read = {}) {
    if (auto refusal = find_kind()) return refusal;
    if (!is_entity_id(id())) {
      return problem_of({Code::invalid_argument, "api.entities",
                         "The id of a " + kind_->name +
                             " has 1 to 200 bytes of text without control characters."});
    }
    if (!allows_source(request_.actor.scope, kind_->source)) {
      request_.note_refused("an entity of a source outside of its scope");
      return problem_of(none());
    }
    if (!read) return problem_of(read.error());
    return find_rules();
  }

  std::optional<HttpResponse> find_rules() {
    auto profile = parts_.rules()->find(kind_->profile, kind_->source);
    if (!profile) {  // it was configured away while the server runs
      return problem_of(
          {Code::unavailable, "api.entities",
           "No " + kind_->name + " can be counted: " + profile.error().detail +
               " Nothing was done; correct the configuration, or restart the server."});
    }
    if (kind_->limit) *profile = with_limit(std::move(*profile), *kind_->limit);
    auto rules = RuleBook::build(std::move(*profile), parts_.regex);
    if (!rules) return problem_of(rules.error());
    rules_.emplace(std::move(*rules));
    return std::nullopt;
  }

  /// As whoever asks is to see it.
  void write(JsonWriter& json, const Entity& entity) const {
    Headers headers;
    std::optional<std::string> data = entity.data;
    curtain_of(request_).hide(headers, data);
    write_entity(json, entity, rules_->profile().limit, data.value_or("null"));
    if (allowed_) json.key("retry").boolean(*allowed_);
    json.end_object();
  }
  [[nodiscard]] HttpResponse answer(const Entity& entity, std::uint64_t version) const {
    JsonWriter json;
    write(json, entity);
    HttpResponse response = json_answer(json.take(), status_);
    if (version != 0) set_etag(response, version);
    return response;
  }
  [[nodiscard]] HttpResponse answer(const std::optional<Entity>& entity,
                                    std::uint64_t version) const {
    return entity ? answer(*entity, version) : json_answer(removed_text);
  }

  /// Under its key it happens once; with `If-Match` only to the version that is meant.
  HttpResponse carry_out(std::string_view act, const EntityBook::Plan& plan) {
    const auto wanted = request_.if_match();
    if (!wanted) return problem_of(wanted.error());
    const auto key = IdempotencyKey::of(request_);
    if (!key) return problem_of(key.error());
    std::optional<HttpResponse> told;
    std::optional<Entity> next;
    const auto kept =
        EntityBook(parts_.office).change(kind_->name, id(), [&](const Now& now) -> Planned {
          told = told_before(*key, *wanted, now);
          if (told) return none();
          auto step = plan(now);
          if (!step) return step;
          next = step->next;
          if (step->write) add_notes(act, *key, now, *step);
          return step;
        });
    if (told) return std::move(*told);
    if (!kept) return refusal(kept.error());
    if (*key) IdempotencyKey::forget_old(parts_.office, request_.now);
    if (next) say(*next);
    if (next && next->effect && parts_.owed) parts_.owed(kind_->name);
    return answer(next, kept->version);
  }

  /// The answer that was given under this key before, or why this is too late.
  [[nodiscard]] std::optional<HttpResponse> told_before(const std::optional<IdempotencyKey>& key,
                                                        const std::optional<std::uint64_t>& wanted,
                                                        const Now& now) const {
    if (key) {
      auto before = key->find(parts_.office);
      if (!before) return problem_of(before.error());
      if (*before) return std::move(*before);
    }
    if (!wanted || (now && now->version == *wanted)) return std::nullopt;
    return problem(412, "version_changed",
                   kind_->title + " " + id() +
                       " has changed since the version that If-Match names. Nothing was done; "
                       "look at it again.");
  }

  /// What every act writes beside it.
  void add_notes(std::string_view act, const std::optional<IdempotencyKey>& key, const Now& now,
                 EntityBook::Step& step) const {
    const std::string before = now ? trail_text(now->entity) : "";
    const std::string after = step.next ? trail_text(*step.next) : "";
    step.also.emplace_back(
        audit_of(request_, act, kind_->name + " " + id(), before_and_after(before, after)));
    if (key) step.also.emplace_back(key->keep(answer(step.next, 0)));
  }

  /// A caller who hears of an error knows what became of the entity.
  [[nodiscard]] HttpResponse refusal(Error error) const {
    // The text of a refusal that stands alone is the document's (S1-25).
    const bool goes_on = error.code == Code::timed_out || is_retryable(error.code);
    if (goes_on && !error.detail.empty() && error.detail.back() != '.') error.detail += '.';
    if (error.code == Code::timed_out) {
      error.detail +=
          " Whether it was done is not known: ask again with the same Idempotency-Key, or look at "
          "it first.";
    } else if (is_retryable(error.code)) {
      error.detail += " " + kind_->title + " " + id() +
                      " is as it was: nothing was counted, and the same may be asked again.";
    }
    return problem_of(error);
  }

  /// Of a death, in the words of document 001.
  void say(const Entity& entity) const {
    if (!parts_.options.log || allowed_.value_or(true)) return;
    parts_.options.log(moving_line(*kind_, entity, *rules_), true);
    parts_.options.log(stored_line(*kind_, entity), false);
  }

  const EntityParts& parts_;
  const Request& request_;
  const EntityKind* kind_ = nullptr;
  std::optional<RuleBook> rules_;
  std::optional<bool> allowed_;  // a retry was asked for
  int status_ = 200;
};

}  // namespace

std::vector<Route> entity_routes(EntityParts parts) {
  const auto shared = std::make_shared<const EntityParts>(std::move(parts));
  const auto row = [&](std::string_view method, std::string_view pattern, Role role,
                       HttpResponse (Visit::*run)()) {
    return Route{
        method, pattern, role, Lane::quick, {}, answering([shared, run](const Request& request) {
          return (Visit(*shared, request).*run)();
        })};
  };
  Route list = row("GET", "/v1/entities/{kind}", Role::reader, &Visit::list);
  list.lane = Lane::slow;
  list.query = {"limit", "cursor", "status"};
  return {
      std::move(list),
      row("GET", "/v1/entities/{kind}/{id}", Role::reader, &Visit::show),
      row("PUT", "/v1/entities/{kind}/{id}", Role::operator_, &Visit::put),
      row("DELETE", "/v1/entities/{kind}/{id}", Role::operator_, &Visit::remove),
      row("POST", "/v1/entities/{kind}/{id}/retries", Role::operator_, &Visit::retry),
      row("POST", "/v1/entities/{kind}/{id}/reopen", Role::operator_, &Visit::reopen),
      row("POST", "/v1/entities/{kind}/{id}/effect", Role::operator_, &Visit::effect),
  };
}

}  // namespace dlo::api
