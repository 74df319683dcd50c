#pragma once

#include <string>
#include <string_view>

#include "dlo/postgres/migration.h"

namespace dlo::postgres {

/// The tables of queues and the functions that move messages between their states.
[[nodiscard]] Holding queue_holding(const std::string& schema);

/// The statements that make a fresh connection one of these queues. `synced`: what it commits is on
/// the server's disk before it is answered.
[[nodiscard]] std::string queue_settings(const std::string& schema, bool synced);

// The functions, by what they are about.
[[nodiscard]] std::string_view arriving_functions() noexcept;
[[nodiscard]] std::string_view leasing_functions() noexcept;
[[nodiscard]] std::string_view ending_functions() noexcept;
[[nodiscard]] std::string_view keeping_functions() noexcept;

}  // namespace dlo::postgres
