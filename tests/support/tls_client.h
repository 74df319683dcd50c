#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace dlo::testing {

/// A client that speaks TLS to 127.0.0.1 and believes any certificate.
class TlsClient {
 public:
  explicit TlsClient(std::uint16_t port, int newest = TLS1_3_VERSION)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_security_level(context_, 0);  // so that old versions can be offered at all
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, newest);
    SSL_CTX_set_cipher_list(context_, "ALL");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
    session_ = SSL_new(context_);
    SSL_set_fd(session_, fd_);
    agreed_ = SSL_connect(session_) == 1;
  }
  ~TlsClient() {
    SSL_free(session_);
    SSL_CTX_free(context_);
    ::close(fd_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  [[nodiscard]] bool agreed() const noexcept { return agreed_; }
  [[nodiscard]] std::string version() const { return SSL_get_version(session_); }
  [[nodiscard]] std::string server_name() const {
    X509* shown = SSL_get1_peer_certificate(session_);
    if (shown == nullptr) return "";
    char name[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof name);
    X509_free(shown);
    return name;
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const int n = SSL_write(session_, bytes.data(), static_cast<int>(bytes.size()));
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  std::string read_until(const std::string& mark) {
    std::string all;
    char buffer[16384];
    while (all.find(mark) == std::string::npos) {
      const int n = SSL_read(session_, buffer, sizeof buffer);
      if (n <= 0) break;
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int fd_;
  SSL_CTX* context_;
  SSL* session_ = nullptr;
  bool agreed_ = false;
};

}  // namespace dlo::testing
