#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/json/text/value.h"
#include "dlo/json/writer.h"

namespace dlo {

/// A column that a list takes out of messages: `payment_id=body.PaymentId`, `tenant=header.tenant`.
/// Without a title it is called what it shows.
struct LiftedColumn {
  std::string title;
  std::string header;            // its name; empty: a field of the payload
  std::optional<JsonPath> path;  // into the payload
};
[[nodiscard]] Result<std::vector<LiftedColumn>> parse_columns(
    const std::vector<std::string>& texts);

/// What one message has in one column.
struct LiftedValue {
  enum class Kind : std::uint8_t { absent, text, json };
  Kind kind = Kind::absent;
  std::string text;  // json: as it stands in the payload, numbers untouched

  /// For a table: what a JSON string says, and everything else as it is.
  [[nodiscard]] std::string cell() const;
  void write(JsonWriter& json, std::string_view name) const;
};
/// One value for each column.
[[nodiscard]] std::vector<LiftedValue> lift(const std::vector<LiftedColumn>& columns,
                                            const Message& message);

}  // namespace dlo
