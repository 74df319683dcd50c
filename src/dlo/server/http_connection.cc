#include "dlo/server/http_connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <iterator>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

#include "dlo/server/gzip.h"
#include "dlo/server/socket_exchange.h"

namespace dlo {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t high_water = 256 * 1024;  // unsent bytes of one client before others wait
constexpr Millis linger_for{2'000};

/// What a client that is gone without a word does not acknowledge is not sent for ever: the kernel
/// would try for a quarter of an hour, also after we have closed.
void give_up_after(int socket, Millis patience) {
  const auto milliseconds = static_cast<unsigned>(patience.count());
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

}  // namespace

HttpConnection::HttpConnection(HttpLoop& loop, tcp::socket socket)
    : loop_(loop), socket_(std::move(socket)) {}

HttpConnection::~HttpConnection() = default;

void HttpConnection::start() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  client_ = socket_.remote_endpoint(ignored).address().to_string();
  socket_.set_option(tcp::no_delay(true), ignored);
  give_up_after(socket_.native_handle(), loop_.common.options.write_timeout);
  parser_.emplace(loop_.common.limits);
  begin_tls();
  set_deadlines();
  await_input();
}

bool HttpConnection::has_room() const noexcept {
  return queued_.load(std::memory_order_relaxed) < high_water;
}

bool HttpConnection::may_take() const noexcept {
  return !input_over_ && slots_.size() < loop_.common.options.max_pipelined && has_room();
}

HttpConnection::Slot* HttpConnection::slot(std::uint64_t sequence) {
  if (slots_.empty() || sequence < slots_.front().sequence) return nullptr;
  const std::uint64_t place = sequence - slots_.front().sequence;
  return place < slots_.size() ? &slots_[place] : nullptr;
}

void HttpConnection::await_input() {
  const bool wanted = phase_ == Phase::lingering || may_take();
  if (closed_ || waiting_to_read_ || shaking_ || !wanted) return;
  waiting_to_read_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    self->waiting_to_read_ = false;
    if (self->closed_) return;
    if (error) return self->close();
    self->on_readable();
  });
}

void HttpConnection::on_readable() {
  error_code error;
  const std::size_t got = socket_.read_some(asio::buffer(loop_.scratch), error);
  if (error == asio::error::would_block || error == asio::error::try_again) return await_input();
  if (error) {
    gone_.store(true);
    if (error != asio::error::eof || phase_ == Phase::lingering || slots_.empty()) return close();
    input_over_ = true;  // it may still listen: what it asked for is answered
    return pump();
  }
  if (phase_ == Phase::lingering) return await_input();
  if (tls_ != nullptr) return on_cipher({loop_.scratch.data(), got});
  pending_.append(loop_.scratch.data(), got);
  pump();
}

/// Everything that can go on goes on: requests are read, answers written, until somebody has to be
/// waited for.
void HttpConnection::pump() {
  if (pumping_ || closed_) return;
  pumping_ = true;
  bool more = true;
  while (more && !closed_) {
    const bool read = read_requests();
    const bool freed = flush();
    more = !closed_ && (read || freed) && !pending_.empty() && may_take();
  }
  pumping_ = false;
  if (!closed_) finish_or_wait();
}

bool HttpConnection::read_requests() {
  std::string_view bytes = pending_;
  bool progress = false;
  while (!bytes.empty() && may_take()) {
    const std::size_t before = bytes.size();
    const auto state = parser_->feed(bytes);
    progress = progress || bytes.size() != before;
    charge_body();
    if (state == RequestParser::State::done) {
      hand_over();
    } else if (state == RequestParser::State::refused) {
      refuse(parser_->refusal());
    } else {
      break;
    }
    if (closed_) return true;
  }
  pending_.erase(0, pending_.size() - bytes.size());
  if (pending_.empty() && pending_.capacity() > 4096) pending_ = {};
  return progress;
}

/// Bodies of all clients together have a budget: a thousand uploads cannot take the machine's
/// memory, however patiently each of them is made.
void HttpConnection::charge_body() {
  const std::size_t size = parser_->body_size();
  if (size <= charged_) return;
  auto& memory = loop_.common.body_memory;
  const std::size_t total = memory.fetch_add(size - charged_) + size - charged_;
  charged_ = size;
  if (total > loop_.common.options.max_body_memory) {
    refuse(problem(503, "busy",
                   "Too many large requests are being received at once. Nothing of this one was "
                   "used; send it again in a moment."));
  }
}

void HttpConnection::hand_over() {
  if (input_over_) return;
  AnswerForm form;
  form.keep_alive = parser_->wants_connection() && !loop_.common.stopping.load();
  form.is_1_0 = parser_->is_1_0();
  form.hsts = hsts();
  HttpRequest request = parser_->take();
  request.client = client_;
  form.head_only = request.method == "HEAD";
  form.gzip = accepts_gzip(request.header("Accept-Encoding"));
  Slot& next = slots_.emplace_back();
  next.sequence = next_sequence_++;
  next.last = !form.keep_alive;
  next.charge = std::exchange(charged_, 0);
  if (next.last) input_over_ = true;
  continue_sent_ = false;
  parser_.emplace(loop_.common.limits);
  loop_.common.handle(std::move(request),
                      std::make_shared<SocketExchange>(shared_from_this(), next.sequence, form));
}

void HttpConnection::refuse(const HttpResponse& refusal) {
  if (input_over_) return;
  AnswerForm form;
  form.keep_alive = false;
  form.hsts = hsts();
  Slot& next = slots_.emplace_back();
  next.sequence = next_sequence_++;
  next.bytes = answer_text(refusal, form);
  queued_.fetch_add(next.bytes.size());
  next.complete = true;
  next.last = true;
  next.charge = std::exchange(charged_, 0);
  input_over_ = true;
}

void HttpConnection::deliver(std::uint64_t sequence, std::string bytes, Part part) {
  queued_.fetch_add(bytes.size());
  if (auto* together = AnswersTogether::current()) {
    return together->keep({shared_from_this(), sequence, std::move(bytes), part == Part::last});
  }
  asio::dispatch(loop_.io,
                 [self = shared_from_this(), sequence, part, text = std::move(bytes)]() mutable {
                   self->accept_bytes(sequence, std::move(text), part);
                 });
}

void HttpConnection::deliver_all(std::vector<AnswersTogether::Kept> answers) {
  while (!answers.empty()) {
    HttpLoop& loop = answers.front().to->loop_;
    const auto others = std::stable_partition(
        answers.begin(), answers.end(),
        [&](const AnswersTogether::Kept& each) { return &each.to->loop_ == &loop; });
    std::vector<AnswersTogether::Kept> now(std::make_move_iterator(answers.begin()),
                                           std::make_move_iterator(others));
    answers.erase(answers.begin(), others);
    asio::dispatch(loop.io, [all = std::move(now)]() mutable {
      for (auto& each : all) {
        each.to->accept_bytes(each.sequence, std::move(each.bytes),
                              each.last ? Part::last : Part::more);
      }
    });
  }
}

/// What is ready to be read stands in the loop's line already, so this comes after it.
void HttpConnection::after_round(std::function<void()> then) {
  asio::post(loop_.io, std::move(then));
}

void HttpConnection::accept_bytes(std::uint64_t sequence, std::string bytes, Part part) {
  Slot* target = closed_ ? nullptr : slot(sequence);
  if (target == nullptr) return;
  if (target->bytes.empty()) {
    target->bytes = std::move(bytes);
  } else {
    target->bytes += bytes;
  }
  target->complete = part == Part::last;
  pump();
}

void HttpConnection::when_room(std::uint64_t sequence, std::function<void(bool)> then) {
  asio::dispatch(loop_.io,
                 [self = shared_from_this(), sequence, waiter = std::move(then)]() mutable {
                   Slot* target = self->closed_ ? nullptr : self->slot(sequence);
                   if (target == nullptr) return waiter(false);
                   if (self->has_room()) return waiter(true);
                   target->wants_room = std::move(waiter);
                 });
}

/// Gathers the answers whose turn it is and writes. True if a slot became free.
bool HttpConnection::flush() {
  bool freed = false;
  while (!slots_.empty()) {
    Slot& first = slots_.front();
    append_out(std::move(first.bytes));
    first.bytes.clear();
    if (!first.complete) break;
    loop_.common.body_memory.fetch_sub(first.charge);
    slots_.pop_front();
    freed = true;
  }
  if (unsent() > 0) write_out();
  return freed;
}

void HttpConnection::write_out() {
  if (waiting_to_write_) return;
  while (unsent() > 0) {
    error_code error;
    const std::size_t wrote =
        socket_.write_some(asio::buffer(out_.data() + sent_, unsent()), error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      waiting_to_write_ = true;
      write_deadline_ = Steady::now() + loop_.common.options.write_timeout;
      socket_.async_wait(tcp::socket::wait_write,
                         [self = shared_from_this()](const error_code& failed) {
                           self->waiting_to_write_ = false;
                           self->write_deadline_ = Steady::time_point::max();
                           if (self->closed_) return;
                           if (failed) return self->close();
                           self->write_out();
                           self->pump();
                         });
      return call_waiters();
    }
    if (error) return close();
    sent_ += wrote;
    queued_.fetch_sub(wrote);
  }
  out_.clear();
  if (out_.capacity() > high_water) out_ = {};
  sent_ = 0;
  call_waiters();
}

void HttpConnection::call_waiters() {
  if (!has_room()) return;
  for (Slot& each : slots_) {
    if (!each.wants_room) continue;
    // Later, because it may send at once, and here we are in the middle of sending.
    asio::post(loop_.io, [waiter = std::exchange(each.wants_room, nullptr)] { waiter(true); });
  }
}

void HttpConnection::finish_or_wait() {
  const bool all_out = slots_.empty() && unsent() == 0;
  if (all_out && input_over_ && phase_ != Phase::lingering) return linger();
  if (all_out && loop_.common.stopping.load() && !parser_->begun() && pending_.empty()) {
    return close();
  }
  if (!input_over_ && all_out && parser_->head_done() && parser_->expects_continue() &&
      !continue_sent_) {
    continue_sent_ = true;
    std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    queued_.fetch_add(go_on.size());
    append_out(std::move(go_on));
    write_out();
    if (closed_) return;
  }
  set_deadlines();
  await_input();
}

/// Closing at once would make the kernel reset the connection if the client is still sending, and
/// the client might never see its answer. So: say that we are done, and listen for a little while.
void HttpConnection::linger() {
  if (gone_.load()) return close();
  say_goodbye();
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  phase_ = Phase::lingering;
  pending_ = {};
  read_deadline_ = Steady::now() + linger_for;
  await_input();
}

void HttpConnection::set_deadlines() {
  const HttpOptions& options = loop_.common.options;
  if (phase_ == Phase::lingering || phase_ == Phase::handshake) return;
  Phase now_in = Phase::idle;
  if (parser_->begun()) {
    now_in = parser_->head_done() ? Phase::body : Phase::head;
  } else if (!slots_.empty() || unsent() > 0) {
    now_in = Phase::working;
  }
  // A request that is followed by the next one at once starts a phase of the same name anew.
  if (now_in == phase_ && now_in != Phase::idle && phase_of_ == next_sequence_) return;
  phase_ = now_in;
  phase_of_ = next_sequence_;
  switch (now_in) {
    case Phase::idle:
      read_deadline_ = Steady::now() + options.idle_timeout;
      break;
    case Phase::head:
      read_deadline_ = Steady::now() + options.header_timeout;
      break;
    case Phase::body:
      read_deadline_ = Steady::now() + options.body_timeout;
      break;
    case Phase::working:
    case Phase::handshake:
    case Phase::lingering:
      read_deadline_ = Steady::time_point::max();
      break;
  }
}

void HttpConnection::check_time(Steady::time_point now) {
  if (closed_) return;
  if (now >= write_deadline_ || now >= loop_.stop_by) return close();
  if (now < read_deadline_) return;
  if (phase_ == Phase::head || phase_ == Phase::body) {
    if (!may_take()) return;  // we have stopped reading, so it is not its fault
    read_deadline_ = Steady::time_point::max();
    refuse(problem(408, "request_timeout",
                   phase_ == Phase::head ? "The head of the request did not arrive in time."
                                         : "The body of the request did not arrive in time."));
    return pump();
  }
  close();
}

void HttpConnection::drain() {
  if (!closed_ && slots_.empty() && unsent() == 0 && !parser_->begun() && pending_.empty()) close();
}

void HttpConnection::close() {
  if (closed_) return;
  closed_ = true;
  gone_.store(true);
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  std::size_t charge = charged_;
  for (const Slot& each : slots_) charge += each.charge;
  loop_.common.body_memory.fetch_sub(charge);
  charged_ = 0;
  auto orphans = std::move(slots_);
  slots_.clear();
  const auto self = shared_from_this();  // the set may hold the last one
  if (loop_.open.erase(self) > 0) loop_.common.connections.fetch_sub(1);
  for (Slot& each : orphans) {
    if (each.wants_room) each.wants_room(false);
  }
}

}  // namespace dlo
