#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/engine/validator.h"
#include "dlo/json/text/scanner.h"

namespace dlo {

/// Stage header (S4-5): every name must be there with a value. A message whose event type is known
/// needs no `event-type` header. Failure type: MissingEventTypeHeader or MissingHeader.
[[nodiscard]] std::shared_ptr<const Validator> require_headers(std::vector<std::string> names);

enum class FieldType : std::uint8_t { any, string, number, integer, boolean, array, object };
[[nodiscard]] std::string_view name_of(FieldType type) noexcept;
/// Refuses unknown names with the valid ones and the nearest spelling.
[[nodiscard]] Result<FieldType> parse_field_type(std::string_view name);

/// A place in a JSON payload and what must stand there.
struct FieldRule {
  std::string path;  // order.items.0.sku, or a JSON pointer
  FieldType type = FieldType::any;
  std::string event_type;  // only for this type; empty: for every message
};

struct JsonRules {
  std::vector<FieldRule> fields;  // where something stands there and it is not null, its type
  bool null_payload = false;      // a message without payload passes
  std::size_t deepest = json_depth;
};

/// Stage decode (S4-4, S4-23): the payload is JSON and typed fields have their types, as a typed
/// deserialiser would demand. Bytes stay as they are; repeated keys pass, the last one counts.
/// Failure type: JsonException. Refuses bad paths.
[[nodiscard]] Result<std::shared_ptr<const Validator>> require_json(JsonRules rules);

/// Stage schema (S4-6): each field of the message's event type is there, not null, and of its
/// type. Failure type: SchemaViolation, whose text names all of them. Refuses bad paths.
[[nodiscard]] Result<std::shared_ptr<const Validator>> require_fields(
    std::vector<FieldRule> fields);

}  // namespace dlo
