#include "dlo/store/sqlite/permission.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace dlo::sqlite {
namespace {

/// As `ls -l` and `chmod` speak of it; empty if not even that may be seen.
std::string mode_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return "";
  std::string octal;
  for (unsigned shift = 12; shift > 0; shift -= 3) {
    octal += static_cast<char>('0' + ((found.st_mode >> (shift - 3)) & 7U));
  }
  return "mode " + octal + ", owned by uid " + std::to_string(found.st_uid) + "; ";
}

Error cannot(const std::string& path, bool writing, int reason) {
  const std::string verb = writing ? "write" : "read";
  return {Code::refused, "sqlite.open",
          "cannot " + verb + " " + path + ": " + std::strerror(reason) + " (" + mode_of(path) +
              "this process is uid " + std::to_string(::geteuid()) +
              "); nothing was changed; give this user " + verb + " access (chmod, chown)" +
              (writing ? ", or open the office read-only, as `dlo list` and `dlo show` do" : "")};
}

bool may(const std::string& path, int what) {
  return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
}

}  // namespace

std::optional<Error> lacking_permission(const std::string& path, bool writing) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  if (!directory.empty() && !may(directory, X_OK) && errno != ENOENT) {
    return cannot(directory, false, errno);
  }
  for (const char* file : {"", "-wal", "-shm"}) {
    const std::string name = path + file;
    if (!may(name, R_OK) && errno != ENOENT) return cannot(name, false, errno);
    if (writing && !may(name, W_OK) && errno != ENOENT) return cannot(name, true, errno);
  }
  if (writing && !directory.empty() && !may(directory, W_OK)) {
    return cannot(directory, true, errno);
  }
  return std::nullopt;
}

}  // namespace dlo::sqlite
