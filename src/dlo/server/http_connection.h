#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "dlo/server/answer_text.h"
#include "dlo/server/answers_together.h"
#include "dlo/server/http_server.h"
#include "dlo/server/request_parser.h"
#include "dlo/server/tls.h"
#include "dlo/server/worker_pool.h"

namespace dlo {

class HttpConnection;

/// What all connections of a server share.
struct HttpCommon {
  HttpOptions options;
  HttpServer::Handle handle;
  ParserLimits limits;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> body_memory{0};
  std::atomic<bool> stopping{false};

  /// A session for a new connection; null: this server speaks plain HTTP.
  [[nodiscard]] std::unique_ptr<TlsSession> tls() {
    const std::lock_guard lock(identity_mutex);
    return identity == nullptr ? nullptr : std::make_unique<TlsSession>(identity);
  }
  std::mutex identity_mutex;
  std::shared_ptr<const TlsIdentity> identity;
  std::unique_ptr<WorkerPool> handshakes;  // null without TLS
};

/// One I/O thread and its connections. Everything here belongs to that thread.
struct HttpLoop {
  explicit HttpLoop(HttpCommon& shared) : common(shared) {}
  HttpCommon& common;
  boost::asio::io_context io{1};
  boost::asio::steady_timer sweeper{io};
  std::unordered_set<std::shared_ptr<HttpConnection>> open;
  std::array<char, 64 * 1024> scratch{};  // read into by whoever reads: idle connections own none
  std::chrono::steady_clock::time_point stop_by = std::chrono::steady_clock::time_point::max();
};

/// One client. Lives on its loop's thread; only `deliver`, `when_room` and the two questions may be
/// called from elsewhere.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Steady = std::chrono::steady_clock;

  HttpConnection(HttpLoop& loop, boost::asio::ip::tcp::socket socket);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start();
  /// No new requests; ends when what has begun is answered.
  void drain();
  /// Cuts off who is too slow.
  void check_time(Steady::time_point now);
  void close();

  // From any thread.
  enum class Part : std::uint8_t { more, last };
  void deliver(std::uint64_t sequence, std::string bytes, Part part);
  static void deliver_all(std::vector<AnswersTogether::Kept> answers);
  void when_room(std::uint64_t sequence, std::function<void(bool)> then);
  void after_round(std::function<void()> then);
  [[nodiscard]] bool gone() const noexcept { return gone_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] bool stopping() const noexcept { return loop_.common.stopping.load(); }

 private:
  /// A request under way: its answer goes out when those before it have.
  struct Slot {
    std::uint64_t sequence = 0;
    std::string bytes;
    bool complete = false;
    bool last = false;  // the connection ends with it
    std::size_t charge = 0;
    std::function<void(bool)> wants_room;
  };

  void on_readable();
  void begin_tls();
  /// Never said in plain: who listens in could have said it.
  [[nodiscard]] Millis hsts() const noexcept {
    return tls_ == nullptr ? Millis{0} : loop_.common.options.hsts;
  }
  void on_cipher(std::string_view wire);
  void shake_hands(std::string wire);
  void after_receive(TlsSession::Took took);
  void answer_plain_speaker();
  void append_out(std::string bytes);
  void say_goodbye();
  void pump();
  bool read_requests();
  void hand_over();
  void refuse(const HttpResponse& refusal);
  void charge_body();
  bool flush();
  void write_out();
  void call_waiters();
  void finish_or_wait();
  void linger();
  void await_input();
  void set_deadlines();
  void accept_bytes(std::uint64_t sequence, std::string bytes, Part part);
  [[nodiscard]] bool may_take() const noexcept;
  [[nodiscard]] Slot* slot(std::uint64_t sequence);
  [[nodiscard]] std::size_t unsent() const noexcept { return out_.size() - sent_; }

  HttpLoop& loop_;
  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsSession> tls_;  // null: plain
  std::string client_;
  std::optional<RequestParser> parser_;
  std::string pending_;  // arrived, not yet read by a parser
  std::deque<Slot> slots_;
  std::string out_;  // as it goes over the wire
  std::size_t sent_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::size_t charged_ = 0;  // for the body that is arriving
  Steady::time_point read_deadline_ = Steady::time_point::max();
  Steady::time_point write_deadline_ = Steady::time_point::max();
  enum class Phase : std::uint8_t { handshake, idle, head, body, working, lingering };
  Phase phase_ = Phase::working;
  std::uint64_t phase_of_ = 0;          // which request it belongs to
  std::atomic<std::size_t> queued_{0};  // bytes of answers that the client has not taken
  std::atomic<bool> gone_{false};
  bool waiting_to_read_ = false;
  bool heard_ = false;    // the client has said something
  bool shaking_ = false;  // another thread has the session
  bool waiting_to_write_ = false;
  bool input_over_ = false;  // nothing more is read as a request
  bool pumping_ = false;
  bool closed_ = false;
  bool continue_sent_ = false;
};

}  // namespace dlo
