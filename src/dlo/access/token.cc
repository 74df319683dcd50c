#include "dlo/access/token.h"

#include <algorithm>

#include "dlo/core/encoding.h"
#include "dlo/core/sha256.h"
#include "dlo/core/spelling.h"
#include "dlo/json/fields.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr std::string_view prefix = "dlo_";
constexpr std::size_t id_size = 8;
constexpr std::size_t secret_size = 43;  // 256 bits, six each
constexpr std::size_t longest_name = 100;

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text.push_back(digits[byte >> 4U]);
    text.push_back(digits[byte & 15U]);
  }
  return text;
}

/// base64 for URLs and shells: no padding, `-` and `_` for `+` and `/`.
std::string url_text(std::string_view bytes) {
  std::string text = to_base64(bytes);
  text.resize(text.find_last_not_of('=') + 1);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::vector<std::string> texts(JsonFields& fields, std::string_view name) {
  std::vector<std::string> all;
  for (const JsonValue& item : fields.items(name)) {
    if (item.kind != JsonKind::string) fields.complain(name, "must hold strings");
    all.push_back(item.text());
  }
  return all;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}
bool is_url_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_';
}

}  // namespace

std::optional<TokenText> parse_token(std::string_view text) {
  if (text.size() != prefix.size() + id_size + 1 + secret_size) return std::nullopt;
  if (!text.starts_with(prefix) || text[prefix.size() + id_size] != '_') return std::nullopt;
  const auto id = text.substr(prefix.size(), id_size);
  const auto secret = text.substr(prefix.size() + id_size + 1);
  if (!std::all_of(id.begin(), id.end(), is_hex)) return std::nullopt;
  if (!std::all_of(secret.begin(), secret.end(), is_url_character)) return std::nullopt;
  return TokenText{std::string(id), std::string(secret)};
}

std::string token_id(const TokenDraw& draw) {
  return hex({draw.id.data(), draw.id.size()});
}

std::string token_text(const TokenDraw& draw) {
  return std::string(prefix) + token_id(draw) + "_" +
         url_text({draw.secret.data(), draw.secret.size()});
}

std::string hash_of_secret(std::string_view secret) {
  return to_hex(sha256(secret));
}

bool is_secret_of(const Token& token, std::string_view secret) noexcept {
  const Digest digest = sha256(secret);
  constexpr std::string_view digits = "0123456789abcdef";
  if (token.hash.size() != 2 * digest.size()) return false;
  unsigned differences = 0;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto differs = [](char a, char b) { return static_cast<unsigned>(a ^ b); };
    differences |= differs(token.hash[2 * i], digits[digest[i] >> 4U]);
    differences |= differs(token.hash[2 * i + 1], digits[digest[i] & 15U]);
  }
  return differences == 0;
}

std::optional<std::string> why_unusable(const Token& token, TimePoint now) {
  if (token.revoked_at) return "was revoked at " + to_iso8601(*token.revoked_at);
  if (token.expires_at && *token.expires_at <= now) {
    return "expired at " + to_iso8601(*token.expires_at);
  }
  return std::nullopt;
}

Result<void> check_token_name(std::string_view name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!name.empty() && name.size() <= longest_name && plain && is_utf8(name)) return {};
  return Error{Code::invalid_argument, "access.token",
               in_quotes(name) +
                   " is not a name for a token: say who or what will use it, in 1 to 100 "
                   "characters without control characters"};
}

Result<Role> parse_role(std::string_view text) {
  const std::span<const std::string_view> valid = std::span(role_names).subspan(1);
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (valid[i] == text) return static_cast<Role>(i + 1);
  }
  return Error{Code::invalid_argument, "access.role", unknown_name("role", text, valid)};
}

std::string to_json(const Token& token) {
  JsonWriter out;
  out.begin_object();
  out.member("id", token.id);
  out.member("name", token.name);
  out.member("role", name_of(token.role));
  out.member("hash", token.hash);
  out.member("created_at", token.created_at);
  out.member("created_by", token.created_by);
  if (token.expires_at) out.member("expires_at", *token.expires_at);
  if (token.revoked_at) out.member("revoked_at", *token.revoked_at);
  write_limits(out, token);
  out.end_object();
  return out.take();
}

std::string shown(const Token& token) {
  JsonWriter out;
  out.begin_object().member("id", token.id).member("name", token.name);
  out.member("role", name_of(token.role)).member("created_at", token.created_at);
  out.member("created_by", token.created_by).member("expires_at", token.expires_at);
  out.member("revoked_at", token.revoked_at);
  write_limits(out, token);
  out.end_object();
  return out.take();
}

void write_names(JsonWriter& out, std::string_view name, const std::vector<std::string>& names) {
  if (names.empty()) return;
  out.key(name).begin_array();
  for (const std::string& each : names) out.text(each);
  out.end_array();
}

void write_limits(JsonWriter& out, const Token& token) {
  write_names(out, "sources", token.scope.sources);
  write_names(out, "actions", token.scope.actions);
  if (token.rate) out.member("rate", std::uint64_t{*token.rate});
  if (token.max_body) out.member("max_body", *token.max_body);
}

void read_limits(JsonFields& fields, Scope& scope, std::optional<std::uint32_t>& rate,
                 std::optional<std::uint64_t>& max_body) {
  scope.sources = texts(fields, "sources");
  scope.actions = texts(fields, "actions");
  if (fields.has("rate")) {
    rate = static_cast<std::uint32_t>(fields.number("rate", highest_rate));
    if (*rate == 0) fields.complain("rate", "must be 1 or more requests a second");
  }
  if (fields.has("max_body")) max_body = fields.number("max_body");
}

Result<Token> parse_token_record(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  JsonComplaints complaints("access.token");
  Token token;
  {
    JsonFields fields(*value, "", complaints);
    for (const auto* name : {"id", "name", "role", "hash", "created_at"}) fields.require(name);
    token.id = fields.text("id");
    token.name = fields.text("name");
    token.role = static_cast<Role>(fields.choice("role", role_names).value_or(0));
    token.hash = fields.text("hash");
    token.created_at = fields.time("created_at").value_or(TimePoint{});
    token.created_by = fields.text("created_by");
    token.expires_at = fields.time("expires_at");
    token.revoked_at = fields.time("revoked_at");
    read_limits(fields, token.scope, token.rate, token.max_body);
  }
  if (complaints.first()) return *complaints.first();
  return token;
}

}  // namespace dlo
