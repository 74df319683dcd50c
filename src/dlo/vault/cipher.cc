#include "dlo/vault/cipher.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <openssl/evp.h>

#include "dlo/core/sealed.h"

namespace dlo {
namespace {

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

/// Looked up once: OpenSSL would search for it on every use.
const EVP_CIPHER* aes() {
  static EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  return cipher;
}

const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) noexcept {
  return reinterpret_cast<unsigned char*>(text.data());
}

/// OpenSSL counts in int; more than this goes in pieces.
constexpr std::size_t piece = std::size_t{1} << 30U;

template <typename Step>
bool in_pieces(std::string_view input, const Step& step) {
  for (std::size_t at = 0; at < input.size(); at += piece) {
    if (!step(input.substr(at, piece), at)) return false;
  }
  return true;
}

}  // namespace

std::string_view view_of(const Secret& secret) noexcept {
  return {reinterpret_cast<const char*>(secret.data()), secret.size()};
}

std::optional<Secret> secret_of(std::string_view bytes) noexcept {
  Secret secret{};
  if (bytes.size() != secret.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), secret.begin());
  return secret;
}

Hmac::Hmac(std::string_view key) noexcept {
  std::array<char, 64> block{};
  if (key.size() > block.size()) {
    const Digest shorter = sha256(key);
    std::copy(shorter.begin(), shorter.end(), block.begin());
  } else {
    std::copy(key.begin(), key.end(), block.begin());
  }
  const auto prime = [&block](Sha256& hash, unsigned char pad) {
    std::array<char, 64> padded = block;
    for (char& byte : padded) byte = static_cast<char>(static_cast<unsigned char>(byte) ^ pad);
    hash.update({padded.data(), padded.size()});
  };
  prime(inner_, 0x36);
  prime(outer_, 0x5C);
}

Digest Hmac::finish(Sha256& inner) const noexcept {
  const Digest digest = inner.finish();
  Sha256 outer = outer_;
  outer.update({reinterpret_cast<const char*>(digest.data()), digest.size()});
  return outer.finish();
}

Digest Hmac::plain(std::string_view bytes) const noexcept {
  Sha256 inner = inner_;
  inner.update(bytes);
  return finish(inner);
}

Digest Hmac::of(std::initializer_list<std::string_view> parts) const noexcept {
  Sha256 inner = inner_;
  for (const std::string_view part : parts) {
    std::array<char, 8> size{};
    for (std::size_t i = 0; i < size.size(); ++i) {
      size.at(i) = static_cast<char>((std::uint64_t{part.size()} >> (8 * i)) & 0xFFU);
    }
    inner.update({size.data(), size.size()});
    inner.update(part);
  }
  return finish(inner);
}

std::optional<std::string> encrypt(const Secret& key, std::string_view nonce,
                                   std::string_view bound, std::string_view plain) {
  const Context context(EVP_CIPHER_CTX_new());
  if (!context || aes() == nullptr || nonce.size() != seal_nonce_size || bound.size() > INT_MAX) {
    return std::nullopt;
  }
  std::string out(plain.size() + seal_tag_size, '\0');
  int size = 0;
  const bool begun =
      EVP_EncryptInit_ex2(context.get(), aes(), key.data(), bytes_of(nonce), nullptr) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(bound),
                        static_cast<int>(bound.size())) == 1;
  const bool done = begun && in_pieces(plain, [&](std::string_view part, std::size_t at) {
                      return EVP_EncryptUpdate(context.get(), bytes_of(out) + at, &size,
                                               bytes_of(part), static_cast<int>(part.size())) == 1;
                    });
  unsigned char* const tag = bytes_of(out) + plain.size();
  if (!done || EVP_EncryptFinal_ex(context.get(), tag, &size) != 1 ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, seal_tag_size, tag) != 1) {
    return std::nullopt;
  }
  return out;
}

std::optional<std::string> decrypt(const Secret& key, std::string_view nonce,
                                   std::string_view bound, std::string_view bytes) {
  const Context context(EVP_CIPHER_CTX_new());
  if (!context || aes() == nullptr || nonce.size() != seal_nonce_size || bound.size() > INT_MAX ||
      bytes.size() < seal_tag_size) {
    return std::nullopt;
  }
  const std::string_view text = bytes.substr(0, bytes.size() - seal_tag_size);
  std::string tag(bytes.substr(text.size()));
  std::string out(text.size() + 1, '\0');  // never empty: OpenSSL takes a null for "no output"
  int size = 0;
  const bool begun =
      EVP_DecryptInit_ex2(context.get(), aes(), key.data(), bytes_of(nonce), nullptr) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(bound),
                        static_cast<int>(bound.size())) == 1;
  const bool done = begun && in_pieces(text, [&](std::string_view part, std::size_t at) {
                      return EVP_DecryptUpdate(context.get(), bytes_of(out) + at, &size,
                                               bytes_of(part), static_cast<int>(part.size())) == 1;
                    });
  if (!done ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, seal_tag_size, tag.data()) != 1 ||
      EVP_DecryptFinal_ex(context.get(), bytes_of(out) + text.size(), &size) != 1) {
    return std::nullopt;
  }
  out.pop_back();
  return out;
}

}  // namespace dlo
