#include "dlo/engine/handlers/signature.h"

#include <array>
#include <chrono>
#include <memory>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdexcept>
#include <utility>

#include "dlo/core/encoding.h"

namespace dlo {

namespace {

constexpr std::string_view prefix = "whsec_";
constexpr std::size_t shortest_key = 16;

struct FreeContext {
  void operator()(EVP_MAC_CTX* context) const noexcept { EVP_MAC_CTX_free(context); }
};

/// Fetched once: the lookup costs more than a small signature.
EVP_MAC* hmac() {
  static EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  return mac;
}

const unsigned char* bytes(std::string_view text) {
  return static_cast<const unsigned char*>(static_cast<const void*>(text.data()));
}

/// In pieces, because joining id, time and a body of megabytes would copy the body.
std::string hmac_sha256(std::string_view key, const std::array<std::string_view, 5>& parts) {
  const std::unique_ptr<EVP_MAC_CTX, FreeContext> context(EVP_MAC_CTX_new(hmac()));
  std::array<char, 7> digest{"SHA256"};
  const std::array<OSSL_PARAM, 2> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  std::array<unsigned char, 32> out{};
  std::size_t size = 0;
  bool ok = context && EVP_MAC_init(context.get(), bytes(key), key.size(), parameters.data()) == 1;
  for (const auto& part : parts) {
    ok = ok && EVP_MAC_update(context.get(), bytes(part), part.size()) == 1;
  }
  ok = ok && EVP_MAC_final(context.get(), out.data(), &size, out.size()) == 1 && size == out.size();
  // Sending unsigned what was promised to be signed would be worse than failing the attempt.
  if (!ok) throw std::runtime_error("HMAC-SHA256 is not available in this OpenSSL");
  return {static_cast<const char*>(static_cast<const void*>(out.data())), out.size()};
}

}  // namespace

Result<Signer> Signer::make(const std::vector<std::string>& secrets) {
  Signer signer;
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    const std::string_view secret = secrets[i];
    const auto refuse = [i](const std::string& why) {
      return Error{Code::invalid_argument, "http.make",
                   "signing secret number " + std::to_string(i + 1) + " " + why};
    };
    std::string key(secret);
    if (secret.starts_with(prefix)) {
      auto decoded = from_base64(secret.substr(prefix.size()));
      if (!decoded) return refuse("begins with whsec_ but the rest is not base64");
      key = std::move(*decoded);
    }
    if (key.size() < shortest_key) {
      return refuse("is shorter than 16 bytes; make one with `openssl rand -base64 32`");
    }
    signer.keys_.push_back(std::move(key));
  }
  return signer;
}

std::string Signer::sign(std::string_view id, TimePoint at, std::string_view body) const {
  const std::string seconds = unix_seconds(at);
  std::string out;
  for (const auto& key : keys_) {
    if (!out.empty()) out += ' ';
    out += "v1," + to_base64(hmac_sha256(key, {id, ".", seconds, ".", body}));
  }
  return out;
}

std::string unix_seconds(TimePoint at) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
}

}  // namespace dlo
