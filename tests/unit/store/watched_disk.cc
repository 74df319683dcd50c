#include "unit/store/watched_disk.h"

#include <sqlite3.h>
#include <utility>

namespace dlo::testing {
namespace {

std::function<int(WatchedDisk::Act)> looks;
sqlite3_vfs* plain = nullptr;
sqlite3_vfs watched;
const sqlite3_io_methods* plain_methods = nullptr;
sqlite3_io_methods watched_methods;

int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 at) {
  const int answer = looks(WatchedDisk::Act::write);
  return answer != SQLITE_OK ? answer : plain_methods->xWrite(file, bytes, count, at);
}

int sync(sqlite3_file* file, int flags) {
  const int answer = looks(WatchedDisk::Act::sync);
  return answer != SQLITE_OK ? answer : plain_methods->xSync(file, flags);
}

int open(sqlite3_vfs* /*self*/, const char* name, sqlite3_file* file, int flags, int* out) {
  const int result = plain->xOpen(plain, name, file, flags, out);
  if (result != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return result;
  if (plain_methods == nullptr) {
    plain_methods = file->pMethods;
    watched_methods = *plain_methods;
    watched_methods.xWrite = write;
    watched_methods.xSync = sync;
  }
  file->pMethods = &watched_methods;
  return result;
}

}  // namespace

WatchedDisk::WatchedDisk(std::function<int(Act)> look) {
  looks = std::move(look);
  plain = sqlite3_vfs_find(nullptr);
  watched = *plain;
  watched.zName = "watched";
  watched.pNext = nullptr;
  watched.xOpen = open;
  sqlite3_vfs_register(&watched, 1);
}

WatchedDisk::~WatchedDisk() {
  looks = [](Act) { return SQLITE_OK; };  // for what is closed later
  sqlite3_vfs_unregister(&watched);
  sqlite3_vfs_register(plain, 1);
}

}  // namespace dlo::testing
