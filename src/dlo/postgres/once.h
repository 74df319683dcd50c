#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/postgres/link.h"

namespace dlo::postgres {

/// Statements of others, each carried out once for its key, in their own database: one transaction
/// holds the statement and a row of the table `dlo_effects`, so that neither a crash nor another
/// node nor a repeat carries it out again. The table is made if it is not there.
/// Threads  Any.
class OnceOnly {
 public:
  /// `timeout`: of a statement.
  OnceOnly(const std::string& address, Millis timeout);

  /// `values` are bound to $1, $2, …, never put into the text; the server reads them as the types
  /// the statement needs. Fine, too, if it was done under this key before. invalid_argument: the
  /// server refused it, or it changed and answered no row; nothing is done then.
  [[nodiscard]] Result<void> run(const std::string& key, const std::string& sql,
                                 const std::vector<std::optional<std::string>>& values);

 private:
  void carry_out(const std::string& key, const std::string& sql,
                 const std::vector<std::optional<std::string>>& values);

  std::mutex mutex_;
  Link link_;  // under `mutex_`
};

}  // namespace dlo::postgres
