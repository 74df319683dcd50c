#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dlo/core/result.h"
#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// Makes the data directory and everything above it.
[[nodiscard]] Result<void> make_directory(const std::string& directory);

/// Why there must have been an office in this directory whose file is gone, or was cut to nothing:
/// what belongs to it is still there. Opened, it would begin anew, and SQLite would throw its log
/// away. Nothing is changed.
[[nodiscard]] std::optional<Error> lost_office(const std::string& directory);

/// Opens the file for writing, created or brought up to date. Throws `Failed`.
[[nodiscard]] std::unique_ptr<Connection> open_current(const std::string& path);

/// The settings of a connection that writes, as SQL.
[[nodiscard]] const char* writer_settings() noexcept;

/// How a reader without a writer's rights can open the file.
[[nodiscard]] Access reading_access(const std::string& path);

}  // namespace dlo::sqlite
