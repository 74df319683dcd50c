#pragma once

#include <amqp.h>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "dlo/broker/rabbitmq/deep_thread.h"
#include "dlo/broker/rabbitmq/parcel.h"
#include "dlo/broker/rabbitmq/session.h"

namespace dlo::rabbitmq {

/// A message that came over a line: delivered, or returned because nobody wanted it.
struct Incoming {
  bool returned = false;
  std::uint64_t tag = 0;
  bool redelivered = false;
  std::string exchange;
  std::string routing_key;
  std::string reply;  // why it was returned
  Parcel parcel;
};

/// What happens on a line. Called by its own thread, or by one that waits for an answer of the
/// server; in any case with the line's lock held.
class LineListener {
 public:
  virtual ~LineListener() = default;
  /// A new session: sets up its channel. An error ends it.
  virtual Result<void> opened(Session& session) = 0;
  virtual void came(Incoming&& incoming) = 0;
  /// Any other method, but for the end of channel or connection.
  virtual Result<void> method(const amqp_method_t& method) = 0;
  virtual void lost(const Error& why) = 0;
  /// What was here has been read. True: to be called again within milliseconds, whatever comes.
  virtual bool looked() { return false; }
};

/// A session that comes back when it is lost, and a thread that reads from it, so that heartbeats
/// go on whatever else this process does.
class Line {
 public:
  /// `apart`: after something came nothing is read for so long, and then all that came meanwhile.
  /// To be woken for every message costs more than the message.
  Line(RabbitServer server, std::string purpose, LineListener& listener,
       std::chrono::microseconds apart = {});
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void start();
  /// Ends the thread and the session, politely. Nothing is told to the listener.
  void stop() noexcept;

  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] Lock lock() { return Lock(mutex_); }
  // With the lock held:
  [[nodiscard]] Session* session() noexcept { return session_.get(); }
  /// Waits until the line is up or the attempt under way has failed. Null: `why_down`.
  [[nodiscard]] Session* wait_for_session(Lock& lock);
  [[nodiscard]] const Error& why_down() const noexcept { return why_down_; }
  /// Reads what is here. Needed after every request whose answer was waited for.
  void pump();
  /// The listener has something to do that does not have to be done at once.
  void look_soon() noexcept;
  /// Gives the session up; the thread makes a new one.
  void drop(const Error& why);
  [[nodiscard]] std::condition_variable& changed() noexcept { return changed_; }

  /// Breaks the connection as a failing network would.
  void cut() noexcept;

 private:
  void run(const std::stop_token& stop);
  void connect();
  void rest(const std::stop_token& stop);
  void look();
  void wait_for_input();
  Result<void> read();
  Result<void> handle(const amqp_frame_t& frame);
  Result<void> handle_method(const amqp_method_t& method);
  void finish();
  void wake() noexcept;

  const RabbitServer server_;
  const std::string purpose_;
  LineListener& listener_;
  const std::chrono::microseconds apart_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> given_up_;  // closed by the line's thread, which may be polling it
  std::chrono::steady_clock::time_point opened_at_{};
  Error why_down_{Code::unavailable, "rabbitmq.connection", "not connected yet"};
  bool tried_ = false;
  std::chrono::milliseconds pause_{0};  // before the next attempt
  std::atomic<int> socket_{-1};
  std::atomic<bool> soon_{false};
  std::atomic<bool> polls_{false};  // its thread waits for input: whoever is in a hurry wakes it

  std::uint64_t frames_ = 0;  // that came
  // A message under way.
  std::optional<Incoming> partial_;
  std::string body_;
  std::uint64_t body_left_ = 0;

  int wake_ = -1;
  DeepThread thread_;
};

}  // namespace dlo::rabbitmq
