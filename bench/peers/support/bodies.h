#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlo::peers {

/// The messages of a run: body n is its own number and then text that no compressor can shorten by
/// much. The same for every peer and every run. Letters, digits, '-' and '_' only, so that any
/// protocol carries it unquoted.
class Bodies {
 public:
  static constexpr std::size_t shortest = 32;
  explicit Bodies(std::size_t size);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Makes `into` the body of message `number`.
  void write(long number, std::string& into) const;

  /// Which message this is. Fails the program if a byte differs from what was sent.
  [[nodiscard]] long number_of(std::string_view body) const;

 private:
  [[nodiscard]] std::string_view text_of(long number) const;

  std::size_t size_;
  std::string text_;
};

/// Counts what came back: every message at most once, unchanged. Any thread.
class Receipts {
 public:
  Receipts(const Bodies& bodies, long sent);

  /// Returns the number of the message. Fails the program if it was never sent or came before.
  long take(std::string_view body);

  [[nodiscard]] long count() const noexcept { return count_; }

 private:
  const Bodies& bodies_;
  std::vector<std::atomic<bool>> seen_;
  std::atomic<long> count_{0};
};

}  // namespace dlo::peers
