#include "dlo/core/sealed.h"

#include <charconv>

namespace dlo {
namespace {

constexpr std::string_view hex = "0123456789abcdef";

void put_number(std::uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(value | 0x80U)));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

void put_text(std::string_view text, std::string& out) {
  put_number(text.size(), out);
  out += text;
}

/// Reads what the two above wrote; fails for good at the first byte that is none of it.
class Unpacking {
 public:
  explicit Unpacking(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    fine_ = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) fine_ = false;
    if (!fine_) return {};
    std::string taken(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] bool fine() const noexcept { return fine_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::string_view rest_;
  bool fine_ = true;
};

std::string headers_place(std::string_view owner) {
  return "headers of " + std::string(owner);
}

}  // namespace

std::string to_string(KeyId id) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = hex[(id.value >> (4 * i)) & 0xFU];
  return text;
}

std::optional<KeyId> parse_key_id(std::string_view text) noexcept {
  KeyId id;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, id.value, 16);
  if (text.size() != 16 || error != std::errc{} || stopped != end) return std::nullopt;
  return id;
}

KeyId key_of(std::string_view bytes) noexcept {
  KeyId id;
  for (const char byte : bytes.substr(seal_mark.size(), 8)) {
    id.value = (id.value << 8U) | static_cast<unsigned char>(byte);
  }
  return id;
}

bool is_sealed(const Headers& headers) noexcept {
  return !headers.empty() && headers.front().name == sealed_header &&
         is_sealed(std::string_view(headers.front().value));
}

std::string pack_headers(const Headers& headers) {
  std::string out;
  put_number(headers.size(), out);
  for (const Header& header : headers) {
    out.push_back(static_cast<char>(header.type));
    put_text(header.name, out);
    put_text(header.value, out);
  }
  return out;
}

std::optional<Headers> unpack_headers(std::string_view bytes) {
  Unpacking in(bytes);
  const std::uint64_t count = in.number();
  if (!in.fine() || count > in.left()) return std::nullopt;
  Headers headers(count);
  for (Header& header : headers) {
    const std::uint64_t type = in.number();
    if (type > static_cast<std::uint64_t>(HeaderType::structured)) return std::nullopt;
    header.type = static_cast<HeaderType>(type);
    header.name = in.text();
    header.value = in.text();
    if (!in.fine()) return std::nullopt;
  }
  if (in.left() != 0) return std::nullopt;
  return headers;
}

Result<Headers> seal_headers(const Sealer& sealer, std::string_view owner, const Headers& headers) {
  if (headers.empty()) return headers;
  auto sealed = sealer.seal(headers_place(owner), pack_headers(headers));
  if (!sealed) return sealed.error();
  return Headers{{std::string(sealed_header), std::move(*sealed), HeaderType::bytes}};
}

Result<Headers> open_headers(const Sealer& sealer, std::string_view owner, const Headers& headers) {
  if (!is_sealed(headers)) return headers;
  const auto packed = sealer.open(headers_place(owner), headers.front().value);
  if (!packed) return packed.error();
  auto plain = unpack_headers(*packed);
  if (plain) return std::move(*plain);
  return Error{Code::corrupt, "sealed.headers",
               "the headers of " + std::string(owner) +
                   " were opened but are no headers: a newer program wrote them; nothing was "
                   "changed"};
}

std::string payload_place(std::string_view owner) {
  return "payload of " + std::string(owner);
}

Result<void> seal_body(const Sealer& sealer, std::string_view owner, Message& message) {
  auto headers = seal_headers(sealer, owner, message.headers);
  if (!headers) return headers.error();
  message.headers = std::move(*headers);
  if (!message.payload) return {};
  auto payload = sealer.seal(payload_place(owner), *message.payload);
  if (!payload) return payload.error();
  message.payload = std::move(*payload);
  return {};
}

Result<void> open_body(const Sealer& sealer, std::string_view owner, Message& message) {
  auto headers = open_headers(sealer, owner, message.headers);
  if (!headers) return headers.error();
  message.headers = std::move(*headers);
  if (!message.payload || !is_sealed(*message.payload)) return {};
  auto payload = sealer.open(payload_place(owner), *message.payload);
  if (!payload) return payload.error();
  message.payload = std::move(*payload);
  return {};
}

}  // namespace dlo
