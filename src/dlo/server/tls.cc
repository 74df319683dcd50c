#include "dlo/server/tls.h"

#include <algorithm>
#include <array>
#include <limits>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <utility>

namespace dlo {
namespace {

constexpr char handshake_record = 0x16;

std::string last_reason() {
  std::string reason = "unreadable";
  while (const unsigned long code = ERR_get_error()) {  // the first one is the cause
    if (reason != "unreadable") continue;
    const char* text = ERR_reason_error_string(code);
    if (text != nullptr) reason = text;
  }
  return reason;
}

Error refuse(const std::string& what, const std::string& file) {
  return {Code::invalid_argument, "server.tls",
          "Cannot use '" + file + "' as " + what + ": " + last_reason() +
              ". It has to be a PEM file that this user may read."};
}

/// Of the protocols a client offers inside TLS we speak one.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int length, void*) {
  static constexpr std::array<unsigned char, 9> ours = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, size, ours.data(), ours.size(), offered, length);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

int bounded(std::size_t size) {
  return static_cast<int>(
      std::min<std::size_t>(size, static_cast<std::size_t>(std::numeric_limits<int>::max())));
}

}  // namespace

Result<std::shared_ptr<const TlsIdentity>> TlsIdentity::load(const std::string& certificate,
                                                             const std::string& key) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) return Error{Code::unavailable, "server.tls", "TLS: " + last_reason()};
  const std::shared_ptr<const TlsIdentity> identity(new TlsIdentity(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // idle connections own none
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return refuse("certificate", certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return refuse("key", key);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return Error{Code::invalid_argument, "server.tls",
                 "The key '" + key + "' does not belong to the certificate '" + certificate + "'."};
  }
  return identity;
}

TlsIdentity::~TlsIdentity() {
  SSL_CTX_free(context_);
}

TlsSession::TlsSession(std::shared_ptr<const TlsIdentity> identity)
    : identity_(std::move(identity)), session_(SSL_new(identity_->context_)) {
  SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_accept_state(session_);
}

TlsSession::~TlsSession() {
  SSL_free(session_);
}

bool TlsSession::ready() const noexcept {
  return SSL_is_init_finished(session_) != 0;
}

TlsSession::Took TlsSession::receive(std::string_view wire, std::string& plain) {
  ERR_clear_error();
  BIO_write(SSL_get_rbio(session_), wire.data(), bounded(wire.size()));
  std::array<char, 16 * 1024> buffer;  // the largest record
  while (true) {
    const int got = SSL_read(session_, buffer.data(), bounded(buffer.size()));
    if (got > 0) {
      plain.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    const int why = SSL_get_error(session_, got);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return Took::fine;
    ERR_clear_error();
    return why == SSL_ERROR_ZERO_RETURN ? Took::ended : Took::broken;
  }
}

std::string TlsSession::seal(std::string_view plain) {
  ERR_clear_error();
  while (!plain.empty()) {  // a memory BIO takes all of it
    const int took = SSL_write(session_, plain.data(), bounded(plain.size()));
    if (took <= 0) break;
    plain.remove_prefix(static_cast<std::size_t>(took));
  }
  return take_wire();
}

std::string TlsSession::farewell() {
  if (!ready()) return {};
  ERR_clear_error();
  SSL_shutdown(session_);
  return take_wire();
}

std::string TlsSession::take_wire() {
  BIO* out = SSL_get_wbio(session_);
  std::string wire(BIO_ctrl_pending(out), '\0');
  if (wire.empty()) return wire;
  const int got = BIO_read(out, wire.data(), bounded(wire.size()));
  wire.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return wire;
}

bool looks_like_tls(std::string_view first) noexcept {
  return first.front() == handshake_record;
}

}  // namespace dlo
