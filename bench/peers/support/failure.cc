#include "peers/support/failure.h"

#include <cstdio>
#include <cstdlib>

namespace dlo::peers {

void fail(const std::string& why, Exit code) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

}  // namespace dlo::peers
