// What is different on a connection that speaks TLS. Handshakes cost a thousand times what a small
// request does, so they are made on threads of their own; from then on bytes are opened and sealed
// where they are read and written.
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "dlo/server/http_connection.h"

namespace dlo {

namespace asio = boost::asio;

void HttpConnection::begin_tls() {
  tls_ = loop_.common.tls();
  if (tls_ == nullptr) return;
  phase_ = Phase::handshake;
  read_deadline_ = Steady::now() + loop_.common.options.handshake_timeout;
}

/// Somebody says GET to a port that wants TLS: there is one answer it understands.
void HttpConnection::answer_plain_speaker() {
  tls_.reset();
  phase_ = Phase::idle;
  refuse(problem(400, "tls_required",
                 "This address speaks TLS. Ask again with https:// instead of http://."));
  pump();
}

void HttpConnection::on_cipher(std::string_view wire) {
  if (phase_ == Phase::handshake) {
    if (!heard_ && !looks_like_tls(wire)) return answer_plain_speaker();
    heard_ = true;
    return shake_hands(std::string(wire));
  }
  const auto took = tls_->receive(wire, pending_);
  after_receive(took);
}

void HttpConnection::shake_hands(std::string wire) {
  struct Step {
    std::string wire;
    std::string plain;
    TlsSession::Took took = TlsSession::Took::fine;
  };
  auto step = std::make_shared<Step>();
  step->wire = std::move(wire);
  shaking_ = true;  // the session is in other hands until they are done
  const bool taken = loop_.common.handshakes->post([self = shared_from_this(), step] {
    step->took = self->tls_->receive(step->wire, step->plain);
    asio::post(self->loop_.io, [self, step] {
      self->shaking_ = false;
      if (self->closed_) return;
      self->pending_ += step->plain;
      if (step->took == TlsSession::Took::fine && self->tls_->ready()) {
        self->phase_ = Phase::working;  // set_deadlines begins anew
        self->set_deadlines();
      }
      self->after_receive(step->took);
    });
  });
  if (!taken) close();  // more shake hands than we can: whoever comes again is served
}

void HttpConnection::after_receive(TlsSession::Took took) {
  std::string wire = tls_->take_wire();
  queued_.fetch_add(wire.size());
  out_ += wire;
  if (unsent() > 0) write_out();
  if (closed_) return;
  if (took == TlsSession::Took::broken) return close();
  if (phase_ == Phase::handshake) return took == TlsSession::Took::ended ? close() : await_input();
  pump();
  if (closed_ || took != TlsSession::Took::ended) return;
  gone_.store(true);
  if (slots_.empty()) return close();
  input_over_ = true;  // it may still listen: what it asked for is answered
}

/// What goes out next, as it goes over the wire.
void HttpConnection::append_out(std::string bytes) {
  if (bytes.empty()) return;
  if (tls_ != nullptr) {
    std::string sealed = tls_->seal(bytes);
    queued_.fetch_add(sealed.size() - bytes.size());  // unsigned wraps to the difference
    bytes = std::move(sealed);
  }
  if (out_.empty()) {
    out_ = std::move(bytes);
  } else {
    out_ += bytes;
  }
}

void HttpConnection::say_goodbye() {
  if (tls_ == nullptr || shaking_) return;
  const std::string wire = tls_->farewell();
  boost::system::error_code ignored;
  if (!wire.empty()) socket_.write_some(asio::buffer(wire), ignored);
}

}  // namespace dlo
