#include "dlo/cli/last_look.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>

#include "dlo/store/sqlite/soundness.h"

namespace dlo::cli {
namespace {

constexpr Millis short_look{500};

}  // namespace

LastLook::LastLook(std::string directory) : directory_(std::move(directory)) {
  struct stat file{};
  if (::stat((directory_ + "/office.db").c_str(), &file) != 0) return;
  device_ = file.st_dev;
  number_ = file.st_ino;
}

void LastLook::ask(Office& office) {
  const auto nothing_written = office.apply({});
  found_damaged_ = !nothing_written && nothing_written.error().code == Code::corrupt;
}

std::optional<std::string> LastLook::trouble() const {
  struct stat file{};
  if (::stat((directory_ + "/office.db").c_str(), &file) != 0) {
    return "office.db is gone (" + std::string(std::strerror(errno)) + ")";
  }
  if (file.st_dev != device_ || file.st_ino != number_) {
    return "another file has taken the place of office.db";
  }
  if (file.st_size == 0) return "office.db was cut to nothing";
  if (found_damaged_) {
    return "office.db was found damaged, and nothing was written to it from then on";
  }
  const auto looked = look_through(directory_, short_look);
  if (!looked) return "office.db cannot be read: " + looked.error().detail;
  if (!looked->damage.empty()) return "office.db is damaged: " + looked->damage;
  return std::nullopt;
}

}  // namespace dlo::cli
