#pragma once

#include "dlo/core/failure.h"
#include "dlo/core/message.h"
#include "dlo/json/fields.h"

namespace dlo {

// Pieces that several documents share, each read from the members of one object.
[[nodiscard]] Message read_message(JsonFields& fields);
[[nodiscard]] Headers read_headers(JsonFields& fields);  // its member `headers`
[[nodiscard]] Failure read_failure(JsonFields& fields);

}  // namespace dlo
