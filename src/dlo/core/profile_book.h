#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "dlo/core/overrides.h"
#include "dlo/core/profile.h"
#include "dlo/core/result.h"
#include "dlo/core/retry_names.h"

namespace dlo {

/// The built-in profiles and what a configuration adds, changes and overrides for single sources
/// and event types; and the words it gives to those who report.
class ProfileBook {
 public:
  /// Adds a profile, or takes the place of the one that has its name.
  void set(Profile profile);
  void set_source(const std::string& source, Override wanted);
  void set_event_type(const std::string& event_type, Override wanted);
  void set_names(RetryNames names);

  /// Refuses an unknown name with the valid names and the nearest spelling.
  [[nodiscard]] Result<Profile> find(std::string_view name) const;
  /// The same for messages of `source`: what is overridden there is worked in.
  [[nodiscard]] Result<Profile> find(std::string_view name, const std::string& source) const;

  /// The same for one message: what it says itself (`dlo-limit`, `dlo-policy`), what is overridden
  /// for its event type, what for its source (R12). A header that cannot be read says nothing.
  [[nodiscard]] Result<Profile> find(std::string_view name, const Message& message) const;
  /// The same, and from where each setting came.
  [[nodiscard]] Result<EffectiveProfile> effective(std::string_view name,
                                                   const Message& message) const;
  /// Equal for messages to which the same overrides apply; empty: none do.
  [[nodiscard]] std::string override_key(const Message& message) const;

  /// Never null.
  [[nodiscard]] std::shared_ptr<const RetryNames> names() const noexcept { return names_; }
  [[nodiscard]] const Overrides& overrides() const noexcept { return overrides_; }
  [[nodiscard]] const OverrideTable& sources() const noexcept { return overrides_.by_source; }

 private:
  std::map<std::string, Profile, std::less<>> own_;
  Overrides overrides_;
  std::shared_ptr<const RetryNames> names_ = std::make_shared<const RetryNames>();
};

}  // namespace dlo
