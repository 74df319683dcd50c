#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "dlo/core/result.h"

namespace dlo {

/// One open file. Positions are explicit: any method from any thread.
class File {
 public:
  virtual ~File() = default;
  /// Writes all of `bytes` or answers an error; after an error any part may have been written.
  virtual Result<void> write_at(std::uint64_t offset, std::string_view bytes) = 0;
  /// Fills `into`; answers how many bytes there were (fewer only at the end of the file).
  virtual Result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t size) = 0;
  /// What was written before this call survives the machine when it returns ok.
  virtual Result<void> sync() = 0;
  virtual Result<std::uint64_t> size() = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  /// Makes the file at least this long and takes room for all of it, so that writing into it later
  /// cannot find the disk full.
  virtual Result<void> allocate(std::uint64_t size) = 0;
  /// From `offset` on, the first byte that is not known to be zero without being read; the size of
  /// the file or more if there is none.
  virtual Result<std::uint64_t> next_data(std::uint64_t offset) { return offset; }
};

enum class OpenMode : std::uint8_t {
  read_only,
  read_write,
  create,  // must not exist yet: nothing is ever overwritten by being created again
};

/// The files of one directory. The seam at which tests break disks.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& name, OpenMode mode) = 0;
  /// Names of plain files, sorted.
  virtual Result<std::vector<std::string>> list() = 0;
  /// Replaces `to` if it exists.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& name) = 0;
  /// Names created, renamed and removed before this call survive the machine.
  virtual Result<void> sync_names() = 0;
  /// For messages to people.
  [[nodiscard]] virtual std::string describe(const std::string& name) const = 0;
};

/// The pid of the process that works in a directory at the moment, as it wrote it down.
[[nodiscard]] std::optional<std::string> owner_of_directory(const std::string& path);

/// The calls that move the bytes of a file, as the operating system answers them: any of them may
/// do a part of what it is asked, or nothing because a signal came. Tests put others in their
/// place.
struct FileCalls {
  std::function<ssize_t(int file, const char* from, std::size_t size, std::uint64_t at)> write;
  std::function<ssize_t(int file, char* into, std::size_t size, std::uint64_t at)> read;
  std::function<int(int file)> sync;
  [[nodiscard]] static FileCalls of_the_system();
};

/// A directory of the operating system. Created if missing and locked, unless `read_only`: a
/// second process (or object) is refused with the owner's pid.
[[nodiscard]] Result<std::unique_ptr<FileSystem>> open_directory(
    const std::string& path, bool read_only = false, FileCalls calls = FileCalls::of_the_system());

}  // namespace dlo
