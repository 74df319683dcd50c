#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/context.h"
#include "dlo/cli/table.h"

namespace dlo::cli {

/// Items of an answer in the format that was asked for: the whole answer (json), a line each
/// (ndjson), the member `id_name` of each (id), or what `table` makes of them.
void print_items(Context& context, const Reply& reply, const std::vector<JsonValue>& items,
                 const char* id_name, const std::function<Table()>& table);

/// A text as JSON has it, in quotes.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace dlo::cli
