#include "dlo/broker/rabbitmq/line.h"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "dlo/broker/rabbitmq/table.h"

namespace dlo::rabbitmq {
namespace {

constexpr std::chrono::milliseconds first_pause{50};
constexpr std::chrono::milliseconds longest_pause{5'000};
constexpr int look_every = 500;  // milliseconds; heartbeats are of seconds
constexpr int look_again = 5;    // if the listener wants it
constexpr std::size_t trusted_size = std::size_t{1} << 20U;  // of a body, before it is here

}  // namespace

Line::Line(RabbitServer server, std::string purpose, LineListener& listener,
           std::chrono::microseconds apart)
    : server_(std::move(server)),
      purpose_(std::move(purpose)),
      listener_(listener),
      apart_(apart),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Line::~Line() {
  stop();
  ::close(wake_);
}

void Line::start() {
  thread_.start([this](const std::stop_token& stop) { run(stop); });
}

void Line::stop() noexcept {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
  thread_.join();
}

void Line::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void Line::cut() noexcept {
  if (const int socket = socket_.load(); socket >= 0) ::shutdown(socket, SHUT_RDWR);
}

void Line::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (socket_.load() < 0) {
      {
        const Lock lock(mutex_);
        given_up_.reset();
      }
      rest(stop);
      if (!stop.stop_requested()) connect();
      continue;
    }
    wait_for_input();
    look();
  }
  const Lock lock(mutex_);
  socket_ = -1;
  if (session_ != nullptr) session_->close();
  session_.reset();
  given_up_.reset();
  tried_ = true;
  changed_.notify_all();
}

void Line::rest(const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + pause_;
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < until) {
    pollfd waits{wake_, POLLIN, 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    ::poll(&waits, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 1)));
    std::uint64_t count = 0;
    if ((waits.revents & POLLIN) != 0) (void)!::read(wake_, &count, sizeof count);
  }
}

void Line::connect() {
  auto opened = Session::open(server_, purpose_);
  const Lock lock(mutex_);
  tried_ = true;
  if (opened) {
    if (auto ready = listener_.opened(**opened); !ready) opened = ready.error();
  }
  if (!opened) {
    why_down_ = opened.error();
    pause_ = std::clamp(pause_ * 2, first_pause, longest_pause);
    listener_.lost(why_down_);
  } else {
    session_ = std::move(*opened);
    socket_ = session_->socket();
    opened_at_ = std::chrono::steady_clock::now();
    pause_ = {};
    pump();
  }
  changed_.notify_all();
}

void Line::look() {
  {
    const Lock lock(mutex_);
    const auto before = frames_;
    if (session_ != nullptr) pump();
    if (frames_ == before) return;
  }
  // Without the lock: others send, or read themselves if they wait for an answer.
  if (apart_.count() > 0) std::this_thread::sleep_for(apart_);
}

void Line::wait_for_input() {
  std::array<pollfd, 2> waits = {pollfd{socket_.load(), POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
  polls_ = true;  // before `soon_` is asked: who sets it from now on wakes this thread
  ::poll(waits.data(), waits.size(), soon_ ? look_again : look_every);
  polls_ = false;
  std::uint64_t count = 0;
  if ((waits[1].revents & POLLIN) != 0) (void)!::read(wake_, &count, sizeof count);
}

Session* Line::wait_for_session(Lock& lock) {
  changed_.wait(lock, [&] { return session_ != nullptr || tried_; });
  return session_.get();
}

void Line::drop(const Error& why) {
  if (session_ == nullptr) return;
  socket_ = -1;
  given_up_ = std::move(session_);
  partial_.reset();
  why_down_ = why;
  const bool lasted = std::chrono::steady_clock::now() - opened_at_ > std::chrono::seconds{1};
  pause_ = lasted ? std::chrono::milliseconds{0} : first_pause;
  tried_ = false;  // the next attempt is made at once: whoever comes may wait for it
  listener_.lost(why);
  changed_.notify_all();
  wake();
}

void Line::pump() {
  if (auto fine = read(); !fine) return drop(fine.error());
  soon_ = listener_.looked();
}

void Line::look_soon() noexcept {
  if (!soon_.exchange(true) && polls_) wake();
}

Result<void> Line::read() {
  while (true) {
    auto frame = session_->next_frame();
    if (!frame) return frame.error();
    if (!*frame) return {};
    ++frames_;
    if (auto fine = handle(**frame); !fine) return fine;
    if (!partial_) session_->release();
  }
}

Result<void> Line::handle(const amqp_frame_t& frame) {
  switch (frame.frame_type) {
    case AMQP_FRAME_METHOD:
      return handle_method(frame.payload.method);
    case AMQP_FRAME_HEADER:
      if (!partial_) return {};
      open_parcel(*static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded),
                  partial_->parcel);
      body_left_ = frame.payload.properties.body_size;
      body_.clear();
      body_.reserve(std::min<std::uint64_t>(body_left_, trusted_size));
      if (body_left_ == 0) finish();
      return {};
    case AMQP_FRAME_BODY: {
      if (!partial_) return {};
      const auto piece = view(frame.payload.body_fragment);
      body_.append(piece);
      body_left_ -= std::min<std::uint64_t>(body_left_, piece.size());
      if (body_left_ == 0) finish();
      return {};
    }
    default:
      return {};
  }
}

void Line::finish() {
  seal(partial_->parcel, std::exchange(body_, {}));
  listener_.came(std::move(*partial_));
  partial_.reset();
}

Result<void> Line::handle_method(const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_DELIVER_METHOD: {
      const auto* deliver = static_cast<const amqp_basic_deliver_t*>(method.decoded);
      partial_.emplace();
      partial_->tag = deliver->delivery_tag;
      partial_->redelivered = deliver->redelivered != 0;
      partial_->exchange = view(deliver->exchange);
      partial_->routing_key = view(deliver->routing_key);
      return {};
    }
    case AMQP_BASIC_RETURN_METHOD: {
      const auto* back = static_cast<const amqp_basic_return_t*>(method.decoded);
      partial_.emplace();
      partial_->returned = true;
      partial_->exchange = view(back->exchange);
      partial_->routing_key = view(back->routing_key);
      partial_->reply = view(back->reply_text);
      return {};
    }
    case AMQP_CHANNEL_CLOSE_METHOD:
    case AMQP_CONNECTION_CLOSE_METHOD:
      return session_->closed_by_server(method, purpose_);
    default:
      return listener_.method(method);
  }
}

}  // namespace dlo::rabbitmq
