#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "dlo/journal/file_system.h"

namespace dlo {
namespace {

Error system_error(const char* where, const std::string& path, int number) {
  const bool no_room = number == ENOSPC || number == EDQUOT;
  const bool denied = number == EROFS || number == EACCES || number == EPERM;
  Code code = Code::unavailable;
  if (no_room) code = Code::disk_full;
  if (denied) code = Code::refused;
  if (number == ENOENT) code = Code::not_found;
  std::string detail = path + ": " + std::strerror(number) + ".";
  if (no_room) detail += " Free some space on that file system; nothing acknowledged was lost.";
  if (denied) detail += " Check the permissions of the data directory.";
  return Error{code, where, std::move(detail)};
}

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path, std::shared_ptr<const FileCalls> calls)
      : fd_(fd), path_(std::move(path)), calls_(std::move(calls)) {}
  ~PosixFile() override { ::close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto n = calls_->write(fd_, bytes.data(), bytes.size(), offset);
      if (n < 0) {
        if (errno == EINTR) continue;
        return system_error("journal.write", path_, errno);
      }
      if (n == 0) return system_error("journal.write", path_, EIO);  // it would be so for ever
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t size) override {
    std::size_t got = 0;
    while (got < size) {
      const auto n = calls_->read(fd_, into + got, size - got, offset + got);
      if (n < 0) {
        if (errno == EINTR) continue;
        return system_error("journal.read", path_, errno);
      }
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    return got;
  }

  Result<void> sync() override {
    while (calls_->sync(fd_) != 0) {
      if (errno != EINTR) return system_error("journal.sync", path_, errno);
    }
    return {};
  }

  Result<std::uint64_t> size() override {
    struct stat info{};
    if (::fstat(fd_, &info) != 0) return system_error("journal.size", path_, errno);
    return static_cast<std::uint64_t>(info.st_size);
  }

  Result<std::uint64_t> next_data(std::uint64_t offset) override {
    const auto at = ::lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
    if (at >= 0) return static_cast<std::uint64_t>(at);
    return errno == ENXIO ? size() : offset;  // not every file system knows
  }

  Result<void> allocate(std::uint64_t size) override {
    int reason = EINTR;
    while (reason == EINTR) reason = ::posix_fallocate(fd_, 0, static_cast<off_t>(size));
    if (reason == 0) return {};
    Error error = system_error("journal.allocate", path_, reason);
    if (error.code == Code::disk_full) error.detail += how_much(size);
    return error;
  }

  Result<void> truncate(std::uint64_t size) override {
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
      return system_error("journal.truncate", path_, errno);
    }
    return {};
  }

 private:
  /// Whoever makes room wants to know how much.
  std::string how_much(std::uint64_t needed) {
    const auto kib = [](std::uint64_t bytes) { return std::to_string(bytes / 1024) + " KiB"; };
    struct stat has{};
    struct statvfs disk{};
    if (::fstat(fd_, &has) != 0 || ::fstatvfs(fd_, &disk) != 0) return "";
    const std::uint64_t held = static_cast<std::uint64_t>(has.st_blocks) * 512;
    const std::uint64_t free = disk.f_bavail * disk.f_frsize + held;
    return " The file takes " + kib(needed) + " and there are " + kib(free) + ".";
  }

  int fd_;
  std::string path_;
  std::shared_ptr<const FileCalls> calls_;
};

class PosixFileSystem final : public FileSystem {
 public:
  PosixFileSystem(std::string path, int fd, int lock, FileCalls calls)
      : path_(std::move(path)),
        fd_(fd),
        lock_(lock),
        calls_(std::make_shared<const FileCalls>(std::move(calls))) {}
  ~PosixFileSystem() override {
    ::close(fd_);
    if (lock_ >= 0) ::close(lock_);  // and with it the lock
  }
  PosixFileSystem(const PosixFileSystem&) = delete;
  PosixFileSystem& operator=(const PosixFileSystem&) = delete;

  Result<std::unique_ptr<File>> open(const std::string& name, OpenMode mode) override {
    int flags = O_CLOEXEC | (mode == OpenMode::read_only ? O_RDONLY : O_RDWR);
    if (mode == OpenMode::create) flags |= O_CREAT | O_EXCL;
    const int fd = ::openat(fd_, name.c_str(), flags, 0640);
    if (fd < 0) return system_error("journal.open", describe(name), errno);
    return std::unique_ptr<File>(std::make_unique<PosixFile>(fd, describe(name), calls_));
  }

  Result<std::vector<std::string>> list() override {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
      if (entry.is_regular_file(error)) names.push_back(entry.path().filename().string());
    }
    if (error) return system_error("journal.list", path_, error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::renameat(fd_, from.c_str(), fd_, to.c_str()) != 0) {
      return system_error("journal.rename", describe(from), errno);
    }
    return {};
  }

  Result<void> remove(const std::string& name) override {
    if (::unlinkat(fd_, name.c_str(), 0) != 0) {
      return system_error("journal.remove", describe(name), errno);
    }
    return {};
  }

  Result<void> sync_names() override {
    if (::fsync(fd_) != 0) return system_error("journal.sync_names", path_, errno);
    return {};
  }

  std::string describe(const std::string& name) const override { return path_ + "/" + name; }

 private:
  std::string path_;
  int fd_;
  int lock_;
  std::shared_ptr<const FileCalls> calls_;
};

std::string pid_in(int lock) {
  char text[32] = {};
  const auto size = ::pread(lock, text, sizeof text - 1, 0);
  std::string owner(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  owner.resize(std::min(owner.find_first_not_of("0123456789"), owner.size()));
  return owner.empty() ? "unknown" : owner;
}

/// The lock of a directory: ends with its process, however that ends. The pid inside is only there
/// to be told to people.
Result<int> lock_directory(const std::string& path) {
  const std::string name = path + "/lock";
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return system_error("journal.open_directory", name, errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    const std::string owner = pid_in(fd);
    ::close(fd);
    if (reason != EWOULDBLOCK) return system_error("journal.open_directory", name, reason);
    return Error{Code::refused, "journal.open_directory",
                 "another process works in " + path + ": pid " + owner +
                     "; stop it first, or use it as a server; nothing was changed"};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) < 0) {
    const int reason = errno;
    ::close(fd);
    return system_error("journal.open_directory", name, reason);
  }
  return fd;
}

}  // namespace

std::optional<std::string> owner_of_directory(const std::string& path) {
  const int fd = ::open((path + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> owner;
  if (::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) owner = pid_in(fd);
  ::close(fd);
  return owner;
}

FileCalls FileCalls::of_the_system() {
  return {[](int file, const char* from, std::size_t size, std::uint64_t at) {
            return ::pwrite(file, from, size, static_cast<off_t>(at));
          },
          [](int file, char* into, std::size_t size, std::uint64_t at) {
            return ::pread(file, into, size, static_cast<off_t>(at));
          },
          [](int file) { return ::fdatasync(file); }};
}

Result<std::unique_ptr<FileSystem>> open_directory(const std::string& path, bool read_only,
                                                   FileCalls calls) {
  std::error_code error;
  if (!read_only) std::filesystem::create_directories(path, error);
  if (error) return system_error("journal.open_directory", path, error.value());
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("journal.open_directory", path, errno);
  int lock = -1;
  if (!read_only) {
    const auto locked = lock_directory(path);
    if (!locked) {
      ::close(fd);
      return locked.error();
    }
    lock = *locked;
  }
  return std::unique_ptr<FileSystem>(
      std::make_unique<PosixFileSystem>(path, fd, lock, std::move(calls)));
}

}  // namespace dlo
