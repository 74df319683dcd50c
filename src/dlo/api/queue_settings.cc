#include "dlo/api/queue_settings.h"

#include <algorithm>

#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

constexpr Millis usual_dedupe_window{600'000};

constexpr std::size_t longest_name = 200;

bool is_name_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '/';
}

void write_optional(JsonWriter& json, std::string_view name,
                    const std::optional<std::uint64_t>& value) {
  json.key(name);
  if (value) {
    json.number(*value);
  } else {
    json.null();
  }
}

std::uint64_t count(Millis value) {
  return static_cast<std::uint64_t>(value.count());
}

}  // namespace

Result<void> check_queue_name(const std::string& name) {
  if (!name.empty() && name.size() <= longest_name &&
      std::all_of(name.begin(), name.end(), is_name_byte)) {
    return {};
  }
  return Error{Code::invalid_argument, "api.queue",
               in_quotes(name) +
                   " cannot be the name of a queue: 1 to 200 letters, digits, '.', '_', '-', '/'"};
}

QueueSettings usual_queue_settings(const std::string& name) {
  QueueSettings settings;
  settings.source.source = name;
  // Costs nothing while nobody sends ids, and what a killed replay sends twice arrives once.
  settings.source.dedupe_window = usual_dedupe_window;
  return settings;
}

QueueSettings read_queue_settings(JsonFields& fields, const std::string& name) {
  QueueSettings settings = usual_queue_settings(name);
  if (fields.has("profile")) settings.profile = fields.text("profile");
  if (fields.has("lease_ms")) {
    settings.lease_for = fields.millis("lease_ms");
    if (settings.lease_for < Millis{1} || settings.lease_for > std::chrono::hours{24}) {
      fields.complain("lease_ms", "must be from 1 to 86400000 (a day)");
    }
  }
  SourceOptions& source = settings.source;
  if (fields.has("max_messages")) source.max_messages = fields.number("max_messages");
  if (fields.has("max_bytes")) source.max_bytes = fields.number("max_bytes");
  if (fields.has("dedupe_window_ms")) source.dedupe_window = fields.millis("dedupe_window_ms");
  if (fields.has("ageing_ms")) source.ageing = fields.millis("ageing_ms");
  if (fields.has("keys_in_order")) source.keys_in_order = fields.boolean("keys_in_order");
  if (fields.has("on_death")) {
    const auto on_death = parse_on_death(fields.text("on_death"));
    if (!on_death) fields.complain("on_death", "must be continue or hold");
    source.on_death = on_death.value_or(OnDeath::go_on);
  }
  if (fields.has("ttl_ms")) source.ttl = fields.millis("ttl_ms");
  source.drop_expired = fields.boolean("drop_expired");
  return settings;
}

std::string pause_text(bool before, bool after) {
  JsonWriter json;
  json.begin_object().key("before").begin_object().key("paused").boolean(before).end_object();
  json.key("after").begin_object().key("paused").boolean(after).end_object();
  return json.end_object().take();
}

void write_members(JsonWriter& json, const QueueSettings& settings) {
  const SourceOptions& source = settings.source;
  json.member("profile", settings.profile).member("lease_ms", count(settings.lease_for));
  write_optional(json, "max_messages", source.max_messages);
  write_optional(json, "max_bytes", source.max_bytes);
  json.member("dedupe_window_ms", count(source.dedupe_window))
      .member("ageing_ms", count(source.ageing));
  json.key("keys_in_order").boolean(source.keys_in_order);
  json.member("on_death", name_of(source.on_death));
  write_optional(json, "ttl_ms", source.ttl ? std::optional(count(*source.ttl)) : std::nullopt);
  json.key("drop_expired").boolean(source.drop_expired);
}

}  // namespace dlo::api
