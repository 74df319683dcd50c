#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace dlo::rabbitmq {

/// The deliveries of one channel that its server has not heard of: which of them are done, and
/// which of these one frame tells all of. A frame can name one delivery, or one and all before it:
/// so whatever is done waits a moment for those before it, and the order in which things end costs
/// no frame each. Tags count up, as a channel hands them out.
/// Threads  One.
class AckWindow {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  void clear();
  void came(std::uint64_t tag);
  /// May be acknowledged. Anything that is not out here is left alone.
  void done(std::uint64_t tag, Moment now);
  /// The server was told otherwise.
  void gone(std::uint64_t tag);

  [[nodiscard]] bool is_done(std::uint64_t tag) const noexcept;
  /// Done, and not taken yet.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  /// Of these, those with nothing open before them.
  [[nodiscard]] std::size_t in_front() const noexcept { return in_front_; }
  /// Nothing else is out.
  [[nodiscard]] bool all_done() const noexcept { return open_ == 0; }
  /// Since when the first of those that wait has been done.
  [[nodiscard]] std::optional<Moment> oldest();

  /// The last of those in front: to be acknowledged with all before it.
  [[nodiscard]] std::optional<std::uint64_t> take_front();
  /// All others that are done, in order.
  [[nodiscard]] std::vector<std::uint64_t> take_rest();

 private:
  enum class State : std::uint8_t { open, done, gone };
  struct Out {
    std::uint64_t tag = 0;
    State state = State::open;
  };

  /// Its place; that of nothing if it is not out here.
  [[nodiscard]] std::size_t find(std::uint64_t tag) const noexcept;
  void advance();

  std::deque<Out> out_;      // in order of their tags
  std::size_t reached_ = 0;  // so many from the first on are not open
  std::size_t in_front_ = 0;
  std::size_t waiting_ = 0;
  std::size_t open_ = 0;
  std::deque<std::pair<std::uint64_t, Moment>> order_;  // in which they were done; some are taken
};

}  // namespace dlo::rabbitmq
