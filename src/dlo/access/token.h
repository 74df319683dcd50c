#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/access/role.h"
#include "dlo/access/scope.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

class JsonFields;
class JsonWriter;

/// What is kept of a token: never the secret, only its hash. A secret is 256 random bits, so a
/// plain SHA-256 cannot be searched.
struct Token {
  std::string id;    // eight hex digits, not secret
  std::string name;  // who has it, for people and the audit trail
  Role role = Role::reader;
  std::string hash;  // hex
  TimePoint created_at{};
  std::string created_by;
  std::optional<TimePoint> expires_at;
  std::optional<TimePoint> revoked_at;
  Scope scope;
  std::optional<std::uint32_t> rate;      // requests a second; empty: as the server says
  std::optional<std::uint64_t> max_body;  // bytes of a request; empty: as the server says
  bool operator==(const Token&) const = default;
};

/// `dlo_3fa94c01_9Qx…`: the id to look it up by, then the secret.
struct TokenText {
  std::string id;
  std::string secret;
};
[[nodiscard]] std::optional<TokenText> parse_token(std::string_view text);

/// The two parts drawn for a new token.
struct TokenDraw {
  std::array<char, 4> id;
  std::array<char, 32> secret;
};
/// What its holder gets, once.
[[nodiscard]] std::string token_text(const TokenDraw& draw);
[[nodiscard]] std::string token_id(const TokenDraw& draw);
[[nodiscard]] std::string hash_of_secret(std::string_view secret);

/// Whether `secret` is the one. Takes as long for a wrong one as for a right one.
[[nodiscard]] bool is_secret_of(const Token& token, std::string_view secret) noexcept;

/// Why it may not be used at `now`; nothing if it may.
[[nodiscard]] std::optional<std::string> why_unusable(const Token& token, TimePoint now);

/// A name people can tell apart: 1 to 100 characters, none of them a control character.
[[nodiscard]] Result<void> check_token_name(std::string_view name);
/// reader, operator or admin; refused with the valid names and the nearest spelling.
[[nodiscard]] Result<Role> parse_role(std::string_view text);

/// sources, actions, rate and max_body, as requests and records have them.
void read_limits(JsonFields& fields, Scope& scope, std::optional<std::uint32_t>& rate,
                 std::optional<std::uint64_t>& max_body);
/// An array, if there are any.
void write_names(JsonWriter& out, std::string_view name, const std::vector<std::string>& names);
void write_limits(JsonWriter& out, const Token& token);
inline constexpr std::uint64_t highest_rate = 1'000'000;

[[nodiscard]] std::string to_json(const Token& token);  // as it is kept, with the hash
[[nodiscard]] std::string shown(const Token& token);    // as JSON for people, without it
[[nodiscard]] Result<Token> parse_token_record(std::string_view text);

}  // namespace dlo
