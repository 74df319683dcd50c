#include "dlo/store/sqlite/lock_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace dlo::sqlite {
namespace {

std::string owner_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  std::string pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  pid.resize(std::min(pid.find_first_not_of("0123456789"), pid.size()));
  return pid.empty() ? "unknown" : pid;
}

Error cannot(const std::string& path, int reason) {
  const Code code = reason == ENOSPC || reason == EDQUOT                     ? Code::disk_full
                    : reason == EACCES || reason == EROFS || reason == EPERM ? Code::refused
                                                                             : Code::unavailable;
  return Error{code, "sqlite.open",
               "cannot write " + path + ": " + std::strerror(reason) +
                   "; nothing was changed; give this user write access to the data directory, or "
                   "open it read-only"};
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return cannot(path, errno);
  LockFile lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return cannot(path, errno);
    return Error{Code::refused, "sqlite.open",
                 "another process already writes to this office: pid " + owner_of(descriptor) +
                     " holds " + path +
                     "; stop it first, use it as a server, or open the directory read-only"};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor, 0) != 0 ||
      ::pwrite(descriptor, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return cannot(path, errno);
  }
  return lock;
}

LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
LockFile::LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

}  // namespace dlo::sqlite
