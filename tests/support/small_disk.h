#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/require.h"
#include "support/temporary_directory.h"

namespace dlo::testing {

/// What a body on a small disk answers: 0 if all was as it should be.
constexpr int no_mounts = 77;

/// Runs `body` in a process of its own that sees a disk of `megabytes` at the path it is given.
/// `no_mounts` where nobody may mount one: skip, and say so.
inline int on_small_disk(const char* megabytes,
                         const std::function<int(const std::string&)>& body) {
  const TemporaryDirectory where;
  const pid_t child = ::fork();
  if (child == 0) {
    const int wanted = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    const std::string options = std::string("size=") + megabytes + "m";
    if (::unshare(wanted) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("small", where.path().c_str(), "tmpfs", 0, options.c_str()) != 0) {
      ::_exit(no_mounts);
    }
    int answer = 255;
    try {
      answer = body(where.path());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "on the small disk: %s\n", error.what());
    }
    ::_exit(answer);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// In a test: `body` answers 0 on a disk of so many megabytes. Skipped where nobody may mount one;
/// under DLO_REQUIRE=mounts that is a failure.
#define EXPECT_ON_SMALL_DISK(megabytes, body)                                 \
  do {                                                                        \
    const int answer = ::dlo::testing::on_small_disk(megabytes, body);        \
    const char* const nobody = "this machine lets nobody mount a small disk"; \
    if (answer == ::dlo::testing::no_mounts) {                                \
      if (::dlo::testing::is_required("mounts")) FAIL() << nobody;            \
      GTEST_SKIP() << nobody;                                                 \
    }                                                                         \
    EXPECT_EQ(answer, 0);                                                     \
  } while (false)

#define EXPECT_OR_RETURN(condition)                                              \
  if (!(condition)) {                                                            \
    std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    return 1;                                                                    \
  }

}  // namespace dlo::testing
