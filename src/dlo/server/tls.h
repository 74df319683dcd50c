#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dlo/core/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace dlo {

/// Certificate and key of a server, ready to be used by many connections. TLS 1.2 and newer.
/// Threads: any number of sessions may be made of one at once.
class TlsIdentity {
 public:
  /// PEM files: the certificate with what leads to its root, and its key. Refused with the file
  /// that is at fault and why.
  [[nodiscard]] static Result<std::shared_ptr<const TlsIdentity>> load(
      const std::string& certificate, const std::string& key);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

 private:
  friend class TlsSession;
  explicit TlsIdentity(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

/// The server's side of one encrypted connection: bytes of the wire in, plain bytes out, and back.
/// Owns no socket. Threads: one at a time.
class TlsSession {
 public:
  explicit TlsSession(std::shared_ptr<const TlsIdentity> identity);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class Took : std::uint8_t {
    fine,
    ended,   // the other side said goodbye
    broken,  // not TLS, not a version or cipher we speak, tampered with
  };
  /// Takes in what came; what it says goes to `plain`. Something may be waiting in `take_wire`
  /// afterwards, also if it broke: the reason, for the other side.
  Took receive(std::string_view wire, std::string& plain);
  /// Both sides are agreed: `seal` may be called.
  [[nodiscard]] bool ready() const noexcept;
  /// The same bytes as they go over the wire.
  [[nodiscard]] std::string seal(std::string_view plain);
  /// Says goodbye; empty if there is nobody to say it to.
  [[nodiscard]] std::string farewell();
  /// What is to be sent for the sake of the session itself.
  [[nodiscard]] std::string take_wire();

 private:
  std::shared_ptr<const TlsIdentity> identity_;
  ssl_st* session_;
};

/// Whether a client that sends this first wants to speak TLS. `first` is not empty.
[[nodiscard]] bool looks_like_tls(std::string_view first) noexcept;

}  // namespace dlo
