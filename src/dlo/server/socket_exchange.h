#pragma once

#include <atomic>
#include <memory>

#include "dlo/server/answer_text.h"
#include "dlo/server/http_exchange.h"

namespace dlo {

class HttpConnection;

/// The exchange of one request of a connection.
class SocketExchange final : public HttpExchange {
 public:
  SocketExchange(std::shared_ptr<HttpConnection> connection, std::uint64_t sequence,
                 const AnswerForm& form) noexcept;
  ~SocketExchange() override;
  SocketExchange(const SocketExchange&) = delete;
  SocketExchange& operator=(const SocketExchange&) = delete;

  void send(HttpResponse response) override;
  void begin(HttpResponse head) override;
  Room write(std::string_view piece) override;
  void when_room(std::function<void(bool)> then) override;
  void end() override;
  void after_round(std::function<void()> then) override;
  [[nodiscard]] bool gone() const noexcept override;

 private:
  enum class State : std::uint8_t { owed, streaming, over };
  const std::shared_ptr<HttpConnection> connection_;
  const std::uint64_t sequence_;
  const AnswerForm form_;
  std::atomic<State> state_{State::owed};
};

}  // namespace dlo
