#pragma once

#include <map>
#include <string>
#include <string_view>

#include "dlo/core/overrides.h"
#include "dlo/core/profile.h"
#include "dlo/core/result.h"

namespace dlo {

/// The built-in profiles and what a configuration adds, changes and overrides for single sources.
class ProfileBook {
 public:
  /// Adds a profile, or takes the place of the one that has its name.
  void set(Profile profile);
  void set_source(const std::string& source, Override wanted);

  /// Refuses an unknown name with the valid names and the nearest spelling.
  [[nodiscard]] Result<Profile> find(std::string_view name) const;
  /// The same for messages of `source`: what is overridden there is worked in.
  [[nodiscard]] Result<Profile> find(std::string_view name, const std::string& source) const;

  [[nodiscard]] const OverrideTable& sources() const noexcept { return overrides_.by_source; }

 private:
  std::map<std::string, Profile, std::less<>> own_;
  Overrides overrides_;
};

}  // namespace dlo
