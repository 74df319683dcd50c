#include "dlo/server/socket_exchange.h"

#include <utility>

#include "dlo/server/http_connection.h"

namespace dlo {

SocketExchange::SocketExchange(std::shared_ptr<HttpConnection> connection, std::uint64_t sequence,
                               const AnswerForm& form) noexcept
    : connection_(std::move(connection)), sequence_(sequence), form_(form) {}

SocketExchange::~SocketExchange() {
  if (state_.load() == State::owed) {
    send(problem(500, "no_answer",
                 "The server lost track of this request. Whether it was carried out is not known; "
                 "look before you repeat it, or repeat it with the same Idempotency-Key."));
  } else {
    end();
  }
}

void SocketExchange::send(HttpResponse response) {
  State expected = State::owed;
  if (!state_.compare_exchange_strong(expected, State::over)) return;
  AnswerForm form = form_;
  form.keep_alive = form.keep_alive && !connection_->stopping();
  connection_->deliver(sequence_, answer_text(std::move(response), form),
                       HttpConnection::Part::last);
}

void SocketExchange::begin(HttpResponse head) {
  State expected = State::owed;
  if (!state_.compare_exchange_strong(expected, State::streaming)) return;
  connection_->deliver(sequence_, stream_head_text(head, form_), HttpConnection::Part::more);
}

Room SocketExchange::write(std::string_view piece) {
  if (connection_->gone() || state_.load() != State::streaming) return Room::gone;
  std::string text = piece_text(piece, form_);
  if (!text.empty()) {
    connection_->deliver(sequence_, std::move(text), HttpConnection::Part::more);
  }
  return connection_->has_room() ? Room::yes : Room::full;
}

void SocketExchange::when_room(std::function<void(bool)> then) {
  connection_->when_room(sequence_, std::move(then));
}

void SocketExchange::end() {
  State expected = State::streaming;
  if (!state_.compare_exchange_strong(expected, State::over)) return;
  connection_->deliver(sequence_, stream_end_text(form_), HttpConnection::Part::last);
}

void SocketExchange::after_round(std::function<void()> then) {
  connection_->after_round(std::move(then));
}

bool SocketExchange::gone() const noexcept {
  return connection_->gone();
}

}  // namespace dlo
