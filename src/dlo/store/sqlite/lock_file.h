#pragma once

#include <string>

#include "dlo/core/result.h"

namespace dlo::sqlite {

/// One writer per office (R19). The lock belongs to the open file, so the kernel gives it back
/// when its process ends, however it ends; the pid inside is only there to be told to people.
class LockFile {
 public:
  /// refused: another process holds it; the detail names its pid.
  [[nodiscard]] static Result<LockFile> take(const std::string& path);

  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace dlo::sqlite
