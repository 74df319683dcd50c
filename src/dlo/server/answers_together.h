#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dlo {

class HttpConnection;

/// While one lives, what its thread answers is kept, and goes out when it ends: the I/O thread is
/// woken once for all of it instead of once for each. For those who answer many at a time; what
/// blocks does not belong inside.
class AnswersTogether {
 public:
  AnswersTogether() noexcept;
  ~AnswersTogether();
  AnswersTogether(const AnswersTogether&) = delete;
  AnswersTogether& operator=(const AnswersTogether&) = delete;

  struct Kept {
    std::shared_ptr<HttpConnection> to;
    std::uint64_t sequence = 0;
    std::string bytes;
    bool last = false;
  };
  /// Of this thread; null if there is none.
  [[nodiscard]] static AnswersTogether* current() noexcept;
  void keep(Kept answer) { kept_.push_back(std::move(answer)); }

 private:
  AnswersTogether* const outer_;
  std::vector<Kept> kept_;
};

}  // namespace dlo
