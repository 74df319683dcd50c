#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/core/result.h"

namespace dlo {

/// The record as the source documents write it (R14).
enum class Form : std::uint8_t { service_bus, booking, booking_document, workflow, durable, kafka };
[[nodiscard]] std::string_view name_of(Form form) noexcept;  // "service-bus", "booking-document"
/// Refuses an unknown name with the valid ones and the nearest spelling.
[[nodiscard]] Result<Form> parse_form(std::string_view text);

// What a field holds. Rendering (JSON, columns, headers) happens elsewhere and decides how bytes
// that are no UTF-8 are written.
struct FormBytes {  // a payload as it was
  std::string bytes;
  bool operator==(const FormBytes&) const = default;
};
struct FormJson {  // a JSON value as it was kept; a string if it is none
  std::string text;
  bool operator==(const FormJson&) const = default;
};
struct FormMember {  // the member `name` of a JSON object; an empty list if there is none
  std::string object;
  std::string name;
  bool operator==(const FormMember&) const = default;
};
using FormValue = std::variant<std::monostate,  // null
                               bool, std::int64_t, std::string, FormBytes, FormJson, FormMember>;

struct FormField {
  std::string_view name;  // static
  FormValue value;
  bool operator==(const FormField&) const = default;
};

/// Fields in the order of the document. Only the Kafka form has headers.
struct RenderedForm {
  std::vector<FormField> headers;
  std::vector<FormField> body;
  bool operator==(const RenderedForm&) const = default;
};

/// What a form wants to know beyond the record.
struct FormContext {
  std::string consumer_group;              // S4-15
  std::optional<std::string> first_error;  // S2-37 `error`, beside `last_error`
  std::optional<TimePoint> updated_at;     // S2-37
};

/// S0-37 service-bus · S1-12 booking · S1-13 booking-document · S2-37 workflow · S3-37/38 durable ·
/// S4-15/16 kafka. Total: a record of any profile has every form.
[[nodiscard]] RenderedForm render(Form form, const DeadLetter& record,
                                  const FormContext& context = {});

/// The name `form` has for a reason of death: the document's own word for what another profile
/// calls differently, else the reason as it is (people may give their own, S0-36).
[[nodiscard]] std::string_view reason_in(Form form, std::string_view reason) noexcept;

/// The word `workflow` has for a status: pending, retrying, exhausted, completed, archived,
/// removed.
[[nodiscard]] std::string_view workflow_status(const DeadLetter& record) noexcept;

/// `8-4-4-4-12`, for documents whose ids are UUIDs.
[[nodiscard]] std::string to_uuid(const Id128& id);

}  // namespace dlo
