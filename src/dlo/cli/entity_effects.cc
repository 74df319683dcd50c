#include "dlo/cli/entity_effects.h"

#include <memory>
#include <string>
#include <utility>

#include "dlo/cli/retry_settings.h"
#include "dlo/engine/handlers/http_handler.h"
#include "dlo/entities/entity_text.h"
#include "dlo/json/writer.h"
#ifdef DLO_WITH_POSTGRES
#include "dlo/postgres/once.h"
#endif

namespace dlo::cli {
namespace {

/// Whether the receiver would say the same again.
bool is_refusal(const Failure& failure) {
  const int status = failure.status.value_or(0);
  return status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
}

/// A POST like those of our HTTP handlers: signed, with the id of the dead letter as its key.
Result<CarryOutEffect> http_effect(const EntityKind& kind, const EffectSettings& settings) {
  HttpPushOptions push;
  push.url = settings.target;
  push.timeout = settings.timeout;
  auto secrets = secrets_in(settings.secret_file);
  if (!secrets) return secrets.error();
  push.secrets = std::move(*secrets);
  auto made = HttpHandler::make(std::move(push));
  if (!made) return made.error();
  const std::shared_ptr<HttpHandler> handler = std::move(*made);
  return CarryOutEffect(
      [handler, kind](const Entity& entity, const std::stop_token& stop) -> Result<void> {
        JsonWriter json;
        write_entity(json, entity, entity.counters.retry, entity.data);
        Message message;
        message.id = entity.id;
        message.source = kind.source;
        message.event_type = kind.event_type;
        message.content_type = "application/json";
        message.payload = json.end_object().take();
        message.enqueued_at = entity.updated_at;
        RunContext context;
        context.id = entity.dead_letter.value_or(RecordId{});
        context.counters.attempt = (entity.effect ? entity.effect->tries : 0) + 1;
        context.stop = stop;
        const Outcome outcome = handler->run(message, context);
        if (outcome.kind == OutcomeKind::ok) return {};
        return Error{is_refusal(outcome.failure) ? Code::invalid_argument : Code::unavailable,
                     "entities.http",
                     outcome.failure.text.empty() ? "nothing was sent" : outcome.failure.text};
      });
}

#ifdef DLO_WITH_POSTGRES
Result<CarryOutEffect> sql_effect(const EffectSettings& settings, const std::string& database) {
  if (auto fine = postgres::check_address(database); !fine) return fine.error();
  const auto once = std::make_shared<postgres::OnceOnly>(database, settings.timeout);
  return CarryOutEffect([once, settings](const Entity& entity, const std::stop_token&) {
    std::vector<std::optional<std::string>> values;
    for (const std::string& name : settings.values) values.push_back(entity_value(entity, name));
    return once->run(to_string(entity.dead_letter.value_or(RecordId{})), settings.target, values);
  });
}
#else
Result<CarryOutEffect> sql_effect(const EffectSettings&, const std::string&) {
  return Error{Code::refused, "entities.sql",
               "this dlo was built without PostgreSQL (DLO_WITH_POSTGRES); use one that has it, or "
               "`http`."};
}
#endif

Result<CarryOutEffect> effect_of(const Config& config, const EntitySettings& entity) {
  if (entity.effect.kind == "http") return http_effect(entity.kind, entity.effect);
  const std::string& own = entity.effect.database;
  return sql_effect(entity.effect, own.empty() ? config.text("office") : own);
}

std::string named(const EntitySettings& entity, const Error& error) {
  return "entities." + entity.kind.name + ".effect: " + error.detail;
}

}  // namespace

std::vector<EntityKind> entity_kinds(const Config& config) {
  std::vector<EntityKind> kinds;
  for (const EntitySettings& each : config.entities) kinds.push_back(each.kind);
  return kinds;
}

Result<api::EntityOptions> entity_options(const Config& config) {
  api::EntityOptions options;
  options.kinds = entity_kinds(config);
  for (const EntitySettings& each : config.entities) {
    if (each.effect.kind.empty()) continue;
    auto made = effect_of(config, each);
    if (!made) return Error{made.error().code, made.error().where, named(each, made.error())};
    options.effects.emplace(each.kind.name, std::move(*made));
  }
  return options;
}

std::vector<ConfigProblem> entity_problems(const Config& config) {
  std::vector<ConfigProblem> problems;
  for (const EntitySettings& each : config.entities) {
    if (each.effect.kind.empty()) continue;
    const auto made = effect_of(config, each);
    if (made) continue;
    const auto section = config.sections.find("entities." + each.kind.name);
    problems.push_back(
        {section == config.sections.end() ? 0 : section->second, named(each, made.error())});
  }
  return problems;
}

}  // namespace dlo::cli
