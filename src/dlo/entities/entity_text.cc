#include "dlo/entities/entity_text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "dlo/core/spelling.h"
#include "dlo/json/fields.h"

namespace dlo {
namespace {

constexpr std::size_t longest_data = 64 * 1024;

Error bad_data(std::string detail) {
  return {Code::invalid_argument, "entities.data", std::move(detail)};
}

/// The counters that are not what a new entity has anyway, in the order of the struct.
void write_counters(JsonWriter& json, const Counters& counters) {
  json.key("counters").begin_array();
  for (const std::uint32_t each :
       {counters.fetch, counters.attempt, counters.failure, counters.abandon, counters.retry,
        counters.replay, counters.total}) {
    json.number(std::uint64_t{each});
  }
  json.end_array();
}

Counters read_counters(JsonFields& fields) {
  Counters counters;
  const std::array<std::uint32_t*, 7> places = {
      &counters.fetch, &counters.attempt, &counters.failure, &counters.abandon,
      &counters.retry, &counters.replay,  &counters.total};
  const auto items = fields.items("counters");
  if (items.size() != places.size()) {
    fields.complain("counters", "must hold seven numbers");
    return counters;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto value = items[i].to_uint64();
    if (!value || *value > UINT32_MAX) fields.complain("counters", "must hold whole numbers");
    *places[i] = static_cast<std::uint32_t>(value.value_or(0));
  }
  return counters;
}

void write_effect(JsonWriter& json, const EntityEffect& effect) {
  json.begin_object()
      .member("state", name_of(effect.state))
      .member("tries", std::uint64_t{effect.tries})
      .member("why", effect.why)
      .member("at", effect.at)
      .member("next_at", effect.next_at)
      .end_object();
}

void read_effect(JsonFields& fields, Entity& entity) {
  const JsonValue* value = fields.find("effect");
  if (value == nullptr) return;
  JsonFields inner(*value, "effect", fields.complaints());
  EntityEffect effect;
  const auto state = parse_effect_state(inner.text("state"));
  if (!state) inner.complain("state", "is none that an effect has");
  effect.state = state.value_or(EffectState::pending);
  effect.tries = inner.small("tries");
  effect.why = inner.text("why");
  effect.at = inner.time("at").value_or(TimePoint{});
  effect.next_at = inner.time("next_at");
  entity.effect = std::move(effect);
}

void text_or_null(JsonWriter& json, std::string_view name, const std::string& text) {
  if (text.empty()) {
    json.key(name).null();
  } else {
    json.member(name, text);
  }
}

}  // namespace

std::string to_document(const Entity& entity) {
  JsonWriter json;
  json.begin_object()
      .member("kind", entity.kind)
      .member("id", entity.id)
      .member("status", name_of(entity.status))
      .member("error", entity.error)
      .member("error_type", entity.error_type)
      .member("message", entity.message)
      .member("reason", entity.reason)
      .member("created_at", entity.created_at)
      .member("registered_at", entity.registered_at)
      .member("updated_at", entity.updated_at)
      .member("last_retry_at", entity.last_retry_at)
      .member("round", std::uint64_t{entity.round})
      .bytes("trail", entity.trail);
  write_counters(json, entity.counters);
  if (entity.dead_letter) json.member("dead_letter", to_string(*entity.dead_letter));
  if (entity.effect) write_effect(json.key("effect"), *entity.effect);
  return json.key("data").raw(entity.data).end_object().take();
}

Result<Entity> from_document(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  Entity entity;
  JsonComplaints complaints("entities.document");
  {
    JsonFields fields(*value, "", complaints);
    entity.kind = fields.text("kind");
    entity.id = fields.text("id");
    const auto status = parse_entity_status(fields.text("status"));
    if (!status) fields.complain("status", "is none that an entity has");
    entity.status = status.value_or(EntityStatus::failed);
    entity.error = fields.text("error");
    entity.error_type = fields.text("error_type");
    entity.message = fields.text("message");
    entity.reason = fields.text("reason");
    entity.created_at = fields.time("created_at").value_or(TimePoint{});
    entity.registered_at = fields.time("registered_at").value_or(TimePoint{});
    entity.updated_at = fields.time("updated_at").value_or(TimePoint{});
    entity.last_retry_at = fields.time("last_retry_at");
    entity.round = fields.small("round");
    entity.trail = fields.bytes("trail").value_or("");
    entity.counters = read_counters(fields);
    if (const auto id = parse_id(fields.text("dead_letter"))) entity.dead_letter = RecordId{*id};
    read_effect(fields, entity);
    if (const JsonValue* data = fields.find("data")) entity.data = data->raw;
  }
  if (complaints.first()) return *complaints.first();
  return entity;
}

void write_entity(JsonWriter& json, const Entity& entity, std::uint32_t max_retries,
                  std::string_view data) {
  json.begin_object()
      .member("kind", entity.kind)
      .member("id", entity.id)
      .member("status", name_of(entity.status))
      .member("retry_count", std::uint64_t{entity.counters.retry})
      .member("max_retries", std::uint64_t{max_retries});
  text_or_null(json, "message", entity.message.empty() ? entity.error : entity.message);
  text_or_null(json, "error", entity.error);
  text_or_null(json, "error_type", entity.error_type);
  text_or_null(json, "reason", entity.reason);
  text_or_null(json, "dead_letter", entity.dead_letter ? to_string(*entity.dead_letter) : "");
  json.member("created_at", entity.created_at)
      .member("updated_at", entity.updated_at)
      .member("last_retry_at", entity.last_retry_at)
      .member("round", std::uint64_t{entity.round});
  json.key("effect");
  if (entity.effect) {
    write_effect(json, *entity.effect);
  } else {
    json.null();
  }
  json.key("data").raw(data);
}

std::string payload_of(const EntityKind& kind, const Entity& entity) {
  JsonWriter json;
  json.begin_object().member(kind.id_key, entity.id);
  const auto data = parse_json(entity.data);
  if (kind.fields.empty() && data) {
    for (const JsonMember& each : data->members) json.key(each.name).raw(each.value.raw);
  }
  for (const std::string& name : kind.fields) {
    const JsonValue* value = data ? data->find(name) : nullptr;
    json.key(name).raw(value == nullptr ? std::string_view("null") : value->raw);
  }
  json.member(kind.retry_count_key, std::uint64_t{entity.counters.retry})
      .member(kind.last_retry_key, entity.last_retry_at)
      .member(kind.created_key, entity.created_at);
  text_or_null(json, kind.error_key, entity.error);
  return json.end_object().take();
}

Result<void> check_data(const EntityKind& kind, std::string_view data) {
  if (data.size() > longest_data) {
    return bad_data(
        "`data` is longer than 65536 bytes. Keep what people need to find the cause, "
        "and the rest where it belongs.");
  }
  const auto value = parse_json(data);
  if (!value) return value.error();
  if (value->kind != JsonKind::object) return bad_data("`data` must be a JSON object.");
  const std::vector<std::string_view> known(kind.fields.begin(), kind.fields.end());
  for (const JsonMember& each : value->members) {
    if (is_own_key(kind, each.name)) {
      return bad_data("`data` must not hold " + in_quotes(each.name) +
                      ": the office itself writes that into dead letters.");
    }
    if (!known.empty() && std::ranges::find(known, each.name) == known.end()) {
      return bad_data(unknown_name("member of `data` of a " + kind.name, each.name, known));
    }
  }
  return {};
}

}  // namespace dlo
