#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dlo/core/result.h"
#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/damage.h"

namespace dlo::sqlite {

/// Makes the data directory and everything above it.
[[nodiscard]] Result<void> make_directory(const std::string& directory);

/// Why there must have been an office in this directory whose file is gone, or was cut to nothing:
/// what belongs to it is still there. Opened, it would begin anew, and SQLite would throw its log
/// away. Nothing is changed.
[[nodiscard]] std::optional<Error> lost_office(const std::string& directory);

/// Notes damage that a short look through the pages finds before anything is written.
void look_for_damage(const std::string& directory, Damage& damage);

/// Opens the file for writing, created or brought up to date. A damaged one is only opened, which
/// changes nothing, and if it were not up to date that is not done. Closed by one who does not say
/// otherwise it leaves its log. Throws `Failed`.
[[nodiscard]] std::unique_ptr<Connection> open_current(const std::string& path,
                                                       const Damage& damage);

/// The settings of a connection that writes, as SQL.
[[nodiscard]] const char* writer_settings() noexcept;

/// How a reader without a writer's rights can open the file.
[[nodiscard]] Access reading_access(const std::string& path);

}  // namespace dlo::sqlite
