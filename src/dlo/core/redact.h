#pragma once

#include <string>
#include <string_view>

#include "dlo/core/failure.h"

namespace dlo {

/// Replaces secrets in error text by `***`: passwords and keys in connection strings and query
/// strings, bearer and basic credentials, user info in URLs, JSON members with telling names,
/// JWTs, PEM keys, cloud keys. All else is kept byte for byte, such as an IBAN. Idempotent.
[[nodiscard]] std::string redact(std::string_view text);

/// Type, text, code, causes and stack of a failure: who reports one may write anything anywhere.
/// Applied before anything is stored, indexed or fingerprinted (R26).
void redact(Failure& failure);

}  // namespace dlo
