#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/store/change.h"
#include "dlo/store/sql/codec.h"
#include "dlo/store/sql/head.h"

namespace dlo::sql {

/// What of an append can be made ready by the thread that asks for it.
struct PreparedAppend {
  DeadLetter record;  // as it is stored, but for its number and change number
  std::string envelope;
  std::string facts;
  std::string words;
  std::vector<std::string> attempts;  // encoded, oldest first
};
[[nodiscard]] PreparedAppend prepare_append(const Append& append);

/// A change of a stored record, ready to be written.
struct Edit {
  const Head& before;
  const DeadLetter& after;
  std::optional<Lease> lease;
  std::uint32_t tries = 0;
  bool facts = false;    // the facts are loaded and changed
  bool message = false;  // the message was replaced
};

/// Fills `message` from a row of `bodies`: envelope, payload.
template <typename Row>
void read_body(const Row& row, int envelope, int payload, Message& message) {
  decode_envelope(row.view(envelope), message);
  if (!row.is_null(payload)) message.payload = row.text(payload);
}

inline constexpr const char* version_columns = "n, at, author, why, headers, payload";
template <typename Row>
[[nodiscard]] Version read_version(const Row& row) {
  Version version;
  version.number = row.template as<std::uint32_t>(0);
  version.at = row.time(1);
  version.by = row.text(2);
  version.why = row.text(3);
  version.headers = decode_headers(row.view(4));
  if (!row.is_null(5)) version.payload = row.text(5);
  return version;
}

}  // namespace dlo::sql
