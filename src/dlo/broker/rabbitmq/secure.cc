#include "dlo/broker/rabbitmq/secure.h"

#include <amqp_ssl_socket.h>
#include <memory>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace dlo::rabbitmq {
namespace {

constexpr const char* where = "rabbitmq.tls";

/// What a handshake on this thread found wrong with the certificate of the server. OpenSSL keeps
/// it with the connection, which rabbitmq-c has thrown away before anybody can ask.
thread_local int refused_for = X509_V_OK;

int note_refusal(int fine, X509_STORE_CTX* chain) {
  if (fine == 0) refused_for = X509_STORE_CTX_get_error(chain);
  return fine;
}

/// The newest one is the cause.
std::string openssl_reason() {
  std::string reason;
  while (const unsigned long code = ERR_get_error()) {
    if (const char* text = ERR_reason_error_string(code)) reason = text;
  }
  return reason;
}

Error cannot_use(const std::string& setting, const std::string& file, const std::string& what) {
  const std::string reason = openssl_reason();
  return {Code::invalid_argument, where,
          "rabbitmq." + setting + " \"" + file + "\" cannot be used (" +
              (reason.empty() ? "it holds nothing of the kind" : reason) + "); it has to be " +
              what + " that this server may read"};
}

Result<void> load(SSL_CTX* context, const RabbitTls& tls) {
  ERR_clear_error();
  if (tls.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, tls.ca_file.c_str(), nullptr) != 1) {
    return cannot_use("ca_file", tls.ca_file, "a PEM file with the certificates to trust");
  }
  if (tls.certificate_file.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, tls.certificate_file.c_str()) != 1) {
    return cannot_use("certificate_file", tls.certificate_file, "a PEM file with a certificate");
  }
  const std::string& key = tls.key_file.empty() ? tls.certificate_file : tls.key_file;
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return cannot_use("key_file", key,
                      "a PEM file with the key of that certificate, not encrypted,");
  }
  return {};
}

void believe(SSL_CTX* context, const std::string& host) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, note_refusal);
  X509_VERIFY_PARAM* wanted = SSL_CTX_get0_param(context);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
}

std::string advice(int refusal, const RabbitTls& tls) {
  switch (refusal) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "the certificate was made out for another name; write the name it has into "
             "rabbitmq.address, or have one made for this one";
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "renew the certificate of the server, and see whether the clocks are right";
    default:
      break;
  }
  return tls.ca_file.empty() ? "if it is of a root of your own, name that root in rabbitmq.ca_file"
                             : "rabbitmq.ca_file must hold the root of the server's certificate";
}

}  // namespace

Result<void> check_files(const RabbitTls& tls) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  if (context == nullptr) return Error{Code::unavailable, where, "TLS: " + openssl_reason()};
  return load(context.get(), tls);
}

Result<amqp_socket_t*> secure_socket(amqp_connection_state_t state, const Place& place,
                                     const RabbitTls& tls) {
  amqp_socket_t* socket = amqp_ssl_socket_new(state);
  if (socket == nullptr) {
    return Error{Code::unavailable, where, "TLS cannot be set up: " + openssl_reason()};
  }
  auto* context = static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket));
  amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
  if (auto loaded = load(context, tls); !loaded) return loaded.error();
  // OpenSSL looks at the name, within the handshake: rabbitmq-c knows no addresses, and looks
  // after.
  amqp_ssl_socket_set_verify_hostname(socket, 0);
  amqp_ssl_socket_set_verify_peer(socket, tls.verify ? 1 : 0);
  if (tls.verify) believe(context, place.host);
  refused_for = X509_V_OK;
  ERR_clear_error();
  return socket;
}

std::string why_not_secure(int status, const RabbitTls& tls) {
  if (status > AMQP_STATUS_SSL_ERROR || status <= _AMQP_STATUS_SSL_NEXT_VALUE) return {};
  const std::string reason = openssl_reason();
  if (refused_for != X509_V_OK) {
    return std::string("its certificate is not believed: ") +
           X509_verify_cert_error_string(refused_for) + "; " + advice(refused_for, tls);
  }
  return "it did not agree on TLS" + (reason.empty() ? "" : ": " + reason) +
         "; see whether that port speaks TLS (usually 5671; without TLS write amqp://) and whether "
         "it wants a certificate of its clients (rabbitmq.certificate_file)";
}

}  // namespace dlo::rabbitmq
