#include "dlo/vault/keys.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "dlo/core/encoding.h"

namespace dlo {
namespace {

constexpr const char* where = "vault.keys";
constexpr std::string_view wrapped_mark = "dlo-data-key-1";

std::string_view nonce_of(const KeyDraw& draw) noexcept {
  return {reinterpret_cast<const char*>(draw.nonce.data()), draw.nonce.size()};
}

KeyId id_of(const KeyDraw& draw) noexcept {
  KeyId id;
  for (const std::uint8_t byte : draw.id) id.value = (id.value << 8U) | byte;
  return id;
}

/// What a wrapped key is bound to: it cannot pass for another, nor for one of another master key.
std::string bound_to(const WrappedKey& key) {
  return "data key " + to_string(key.id) + " number " + std::to_string(key.serial) + " under " +
         to_string(key.master);
}

/// Takes off the first word; empty at the end.
std::string_view take_word(std::string_view& rest) noexcept {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  std::size_t size = 0;
  while (size < rest.size() && !is_space(rest[size])) ++size;
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size);
  return word;
}

Error bad_line(std::size_t line, const std::string& why) {
  return {Code::invalid_argument, where,
          "Line " + std::to_string(line) + " of the key file " + why +
              ". Each line is the id of a key (16 hex digits) and the key (32 bytes in base64), as "
              "`dlo key create` writes them."};
}

Error no_cipher() {
  return {Code::unavailable, where,
          "AES-256-GCM of OpenSSL cannot be used on this machine, or memory ran out; nothing was "
          "written"};
}

Result<WrappedKey> wrapped(WrappedKey key, const MasterKey& master, const Secret& secret,
                           const KeyDraw& draw) {
  key.master = master.id;
  const std::string_view nonce = nonce_of(draw);
  const auto bytes = encrypt(master.secret, nonce, bound_to(key), view_of(secret));
  if (!bytes) return no_cipher();
  key.bytes = std::string(nonce) + *bytes;
  return key;
}

}  // namespace

KeyDraw draw_key() {
  std::random_device device;  // the kernel's: getrandom or rdrand
  KeyDraw draw;
  const auto fill = [&device](auto& bytes) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(device() & 0xFFU);
  };
  fill(draw.id);
  fill(draw.secret);
  fill(draw.nonce);
  return draw;
}

const MasterKey* KeyRing::find(KeyId id) const noexcept {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [id](const MasterKey& key) { return key.id == id; });
  return found == keys.end() ? nullptr : &*found;
}

Result<KeyRing> parse_key_file(std::string_view text) {
  KeyRing ring;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view first = take_word(rest);
    if (first.empty() || first.starts_with('#')) continue;
    const auto id = parse_key_id(first);
    if (!id) return bad_line(line, "does not begin with the id of a key");
    if (ring.find(*id) != nullptr) return bad_line(line, "has the id of an earlier one");
    const auto bytes = from_base64(take_word(rest));
    const auto secret = bytes ? secret_of(*bytes) : std::nullopt;
    if (!secret || !take_word(rest).empty()) return bad_line(line, "holds no key of 32 bytes");
    ring.keys.push_back({*id, *secret});
  }
  if (!ring.keys.empty()) return ring;
  return Error{Code::invalid_argument, where,
               "The key file holds no key. Make one with `dlo key create FILE`."};
}

MasterKey master_key(const KeyDraw& draw) {
  return {id_of(draw), draw.secret};
}

std::string key_line(const MasterKey& key) {
  return to_string(key.id) + " " + to_base64(view_of(key.secret)) + "\n";
}

std::string to_text(const WrappedKey& key) {
  return std::string(wrapped_mark) + " " + to_string(key.id) + " " + to_string(key.master) + " " +
         std::to_string(key.serial) + " " + to_iso8601(key.created_at) + " " + to_base64(key.bytes);
}

std::optional<WrappedKey> parse_wrapped_key(std::string_view text) {
  if (take_word(text) != wrapped_mark) return std::nullopt;
  const auto id = parse_key_id(take_word(text));
  const auto master = parse_key_id(take_word(text));
  const std::string_view digits = take_word(text);
  const auto created = parse_iso8601(take_word(text));
  auto bytes = from_base64(take_word(text));
  std::uint64_t serial = 0;
  const auto [stopped, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), serial);
  const bool is_number = error == std::errc{} && stopped == digits.data() + digits.size();
  if (!id || !master || !is_number || !created || !bytes || !take_word(text).empty()) {
    return std::nullopt;
  }
  if (bytes->size() != seal_nonce_size + secret_size + seal_tag_size) return std::nullopt;
  return WrappedKey{*id, *master, serial, *created, std::move(*bytes)};
}

Result<WrappedKey> new_data_key(const MasterKey& master, std::uint64_t serial, TimePoint now,
                                const KeyDraw& draw) {
  WrappedKey key;
  key.id = id_of(draw);
  key.serial = serial;
  key.created_at = now;
  return wrapped(std::move(key), master, draw.secret, draw);
}

Result<Secret> unwrap(const KeyRing& ring, const WrappedKey& key) {
  const MasterKey* master = ring.find(key.master);
  if (master == nullptr) {
    std::string have;
    for (const MasterKey& each : ring.keys) have += (have.empty() ? "" : ", ") + to_string(each.id);
    return Error{Code::refused, where,
                 "The data was encrypted under key " + to_string(key.master) +
                     ", and the key file has " + (have.empty() ? "none" : "only " + have) +
                     ". Nothing was opened. Put the line that begins with " +
                     to_string(key.master) +
                     " back into the key file; without it the data cannot be read by anybody."};
  }
  const std::string_view bytes = key.bytes;
  const auto plain = bytes.size() < seal_nonce_size
                         ? std::nullopt
                         : decrypt(master->secret, bytes.substr(0, seal_nonce_size), bound_to(key),
                                   bytes.substr(seal_nonce_size));
  const auto secret = plain ? secret_of(*plain) : std::nullopt;
  if (secret) return *secret;
  return Error{Code::corrupt, where,
               "The data key " + to_string(key.id) + " does not open with key " +
                   to_string(key.master) +
                   ": the line of that key in the key file was changed, or the office was. "
                   "Nothing was opened; restore the key file or the office from a backup."};
}

Result<WrappedKey> rewrap(const KeyRing& ring, const WrappedKey& key, const KeyDraw& draw) {
  const auto secret = unwrap(ring, key);
  if (!secret) return secret.error();
  return wrapped(key, ring.keys.back(), *secret, draw);
}

}  // namespace dlo
