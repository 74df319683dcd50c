#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "dlo/server/http.h"

namespace dlo {

/// What became of a piece of a streamed answer.
enum class Room : std::uint8_t {
  yes,   // send on
  full,  // kept, but wait for `when_room` before the next: the client reads slowly
  gone,  // nobody will ever read it
};

/// One request that waits for its answer. Whoever holds it owes the answer: now or later, from any
/// thread, once; what is sent after the end is ignored. An exchange that is dropped unanswered
/// answers 500 by itself, so that no client waits for ever.
/// It must not outlive the server it came from.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  /// The whole answer.
  virtual void send(HttpResponse response) = 0;

  /// An answer in pieces: its head (and first piece), any number of pieces, the end.
  virtual void begin(HttpResponse head) = 0;
  virtual Room write(std::string_view piece) = 0;
  /// Calls `then` once, on an I/O thread, when there is room again (true) or the client is gone
  /// (false). It must not block.
  virtual void when_room(std::function<void(bool)> then) = 0;
  virtual void end() = 0;

  /// Calls `then` once, when everything that had arrived from all clients by now was read: for
  /// those who do for many at once what they would do for each. It must not block. At once where
  /// there is nothing to read.
  virtual void after_round(std::function<void()> then) { then(); }

  /// The client has hung up, as far as anybody can tell.
  [[nodiscard]] virtual bool gone() const noexcept = 0;
};

using ExchangePtr = std::shared_ptr<HttpExchange>;

}  // namespace dlo
