#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/core/explain.h"
#include "dlo/core/profile_book.h"

namespace dlo {

/// What somebody wants explained. Empty: as the dead letter says that it is about, else a default.
struct Inquiry {
  std::string profile;
  std::string source;
  std::string event_type;
  std::optional<std::string> error;
  std::string type;
  std::string code;
  std::optional<int> status;
  std::optional<std::uint32_t> attempt;
  std::vector<std::pair<std::string, std::uint32_t>> counters;
  /// Asks for something else than what happened.
  [[nodiscard]] bool supposes() const noexcept;
};

/// A dead letter and its attempts, newest first, as the office keeps them.
struct CaseFile {
  const DeadLetter* record = nullptr;  // null: there is none, only the inquiry
  std::span<const Attempt> attempts{};
};

/// The one answer that the API and the command line give. Of a failure: what the rules as they are
/// would decide, with everything that is overridden for its source, event type and itself (R12). Of
/// a dead letter: what was decided and by what, in agreement with its record, also where no rule
/// was asked (given up, dead-lettered by a worker, poison, invalid, expired) and where the rules
/// have changed since; with suppositions, what would be decided. Pure.
[[nodiscard]] Result<Explanation> explain(const ProfileBook& rules, const RegexCompiler& regex,
                                          const Inquiry& inquiry, const CaseFile& file,
                                          TimePoint now);

}  // namespace dlo
