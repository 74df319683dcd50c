#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "dlo/core/classify.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/decide.h"
#include "dlo/core/profile_book.h"

namespace dlo {

/// The rules by which each record goes on, made ready once: its profile as configured, what is
/// overridden for its source and event type, and what its task asked for.
/// Threads  Any method from any thread.
class RuleShelf {
 public:
  explicit RuleShelf(ProfileBook profiles, RegexCompiler regex = {}, CustomBackoffs custom = {})
      : profiles_(std::move(profiles)), regex_(std::move(regex)), custom_(std::move(custom)) {}

  /// Refuses an unknown profile, and what does not compile.
  [[nodiscard]] Result<std::shared_ptr<const RuleBook>> find(const std::string& profile,
                                                             const Message& message);

  /// From now on these decide; what is being decided is finished under the old ones.
  void use(ProfileBook profiles);

 private:
  ProfileBook profiles_;
  const RegexCompiler regex_;
  const CustomBackoffs custom_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const RuleBook>> books_;
};

}  // namespace dlo
