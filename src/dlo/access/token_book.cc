#include "dlo/access/token_book.h"

#include <algorithm>
#include <array>
#include <sys/random.h>
#include <utility>

#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr Millis fresh_for{1'000};
constexpr Millis usable_for{30'000};  // while it is being read anew
constexpr std::size_t page = 500;

Error refusal(std::string detail) {
  return {Code::refused, "access.token", std::move(detail)};
}

AddAudit entry(const char* act, const Token& token, const std::string& actor, TimePoint now) {
  JsonWriter detail;
  detail.begin_object().member("name", token.name).member("role", name_of(token.role));
  if (token.expires_at) detail.member("expires_at", *token.expires_at);
  write_limits(detail, token);
  detail.end_object();
  return {now, actor, act, "token " + token.id, detail.take()};
}

/// `Bearer X`, the word in any case.
std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() < scheme.size()) return {};
  if (ascii_lower(authorization.substr(0, scheme.size())) != scheme) return {};
  authorization.remove_prefix(scheme.size());
  const auto first = authorization.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view{} : authorization.substr(first);
}

}  // namespace

TokenBook::TokenBook(Office& office, Draw draw) : office_(office), draw_(std::move(draw)) {}

TokenDraw TokenBook::draw_token() {
  TokenDraw drawn{};
  // Small requests to an initialised kernel are answered whole; before that, this waits.
  while (::getentropy(drawn.id.data(), drawn.id.size()) != 0) {
  }
  while (::getentropy(drawn.secret.data(), drawn.secret.size()) != 0) {
  }
  return drawn;
}

Result<IssuedToken> TokenBook::create(const NewToken& wanted, const std::string& actor,
                                      TimePoint now) {
  if (const auto named = check_token_name(wanted.name); !named) return named.error();
  if (const auto scoped = check(wanted.scope); !scoped) return scoped.error();
  const TokenDraw drawn = draw_();
  IssuedToken issued;
  issued.text = token_text(drawn);
  Token& token = issued.token;
  token.id = token_id(drawn);
  token.name = wanted.name;
  token.role = wanted.role;
  token.scope = wanted.scope;
  token.rate = wanted.rate;
  token.max_body = wanted.max_body;
  token.hash = hash_of_secret(parse_token(issued.text)->secret);
  token.created_at = now;
  token.created_by = actor;
  if (wanted.lives_for) token.expires_at = now + std::min(*wanted.lives_for, longest_duration);
  const std::array<Change, 2> changes = {
      PutDocument{std::string(token_kind), token.id, to_json(token), 0},
      entry("token.create", token, actor, now)};
  if (const auto applied = office_.apply(changes); !applied) return applied.error();
  forget();
  return issued;
}

Result<Token> TokenBook::revoke(const std::string& id, const std::string& actor, TimePoint now) {
  const auto found = office_.extras().ledger->document(std::string(token_kind), id);
  if (!found) return found.error();
  if (!*found) {
    return Error{Code::not_found, "access.token",
                 "there is no token " + in_quotes(id) + "; `dlo token list` shows them all"};
  }
  auto token = parse_token_record((*found)->body);
  if (!token || token->revoked_at) return token;
  token->revoked_at = now;
  const std::array<Change, 2> changes = {
      PutDocument{std::string(token_kind), id, to_json(*token), (*found)->version},
      entry("token.revoke", *token, actor, now)};
  if (const auto applied = office_.apply(changes); !applied) return applied.error();
  forget();
  return token;
}

Result<std::vector<Token>> TokenBook::list() {
  std::vector<Token> all;
  std::string after;
  while (true) {
    const auto read = office_.extras().ledger->documents(std::string(token_kind), after, page);
    if (!read) return read.error();
    for (const Document& each : *read) {
      auto token = parse_token_record(each.body);
      if (!token) return token.error();
      all.push_back(std::move(*token));
    }
    if (read->size() < page) break;
    after = read->back().key;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Token& a, const Token& b) { return a.created_at < b.created_at; });
  return all;
}

void TokenBook::forget() {
  const std::lock_guard lock(mutex_);
  read_at_.reset();
  ++forgotten_;
}

void TokenBook::read_by(Later later) {
  const std::lock_guard lock(mutex_);
  later_ = std::move(later);
}

/// Beside those who ask: the office is read without the lock.
Result<void> TokenBook::read_table(TimePoint now) {
  std::uint64_t before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = forgotten_;
  }
  auto all = list();
  const std::lock_guard lock(mutex_);
  reading_ = false;
  if (!all) return all.error();
  tokens_.clear();
  for (Token& each : *all) tokens_.emplace(each.id, std::move(each));
  std::erase_if(buckets_, [&](const auto& each) { return !tokens_.contains(each.first); });
  if (before == forgotten_) read_at_ = now;  // else it changed while it was read
  return {};
}

/// Makes sure that there is a table that is not too old. A clock that was set back must not keep an
/// old table for long.
Result<void> TokenBook::refresh(TimePoint now) {
  {
    const std::lock_guard lock(mutex_);
    const bool known = read_at_ && *read_at_ <= now;
    if (known && now - *read_at_ < fresh_for) return {};
    if (known && now - *read_at_ < usable_for && later_) {
      if (reading_) return {};
      reading_ = later_([this, now] { (void)read_table(now); });
      return {};
    }
  }
  return read_table(now);  // nobody can be admitted without
}

Result<bool> TokenBook::required(TimePoint now) {
  if (const auto read = refresh(now); !read) return read.error();
  const std::lock_guard lock(mutex_);
  return !tokens_.empty();
}

std::optional<Millis> TokenBook::wait_of(const Token& token, std::uint32_t usual, TimePoint now) {
  const std::uint32_t rate = token.rate.value_or(usual);
  if (rate == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return buckets_[token.id].take(rate, now);
}

std::optional<Millis> TokenBook::shut_out(const std::string& client, TimePoint now) {
  const std::lock_guard lock(mutex_);
  return damper_.wait_of(client, now);
}

bool TokenBook::is_good(std::string_view authorization, TimePoint now) {
  if (!refresh(now)) return false;
  const std::lock_guard lock(mutex_);
  const auto text = parse_token(bearer_of(authorization));
  const auto found = text ? tokens_.find(text->id) : tokens_.end();
  return found != tokens_.end() && is_secret_of(found->second, text->secret) &&
         !why_unusable(found->second, now);
}

Result<Token> TokenBook::who(std::string_view authorization, const std::string& client,
                             TimePoint now) {
  if (const auto read = refresh(now); !read) return read.error();
  const std::lock_guard lock(mutex_);
  const auto text = parse_token(bearer_of(authorization));
  const auto found = text ? tokens_.find(text->id) : tokens_.end();
  const bool right = found != tokens_.end() && is_secret_of(found->second, text->secret);
  const auto reason = right ? why_unusable(found->second, now) : std::nullopt;
  // A right token always works: nobody can shut others out by failing in their place.
  if (right && !reason) return found->second;
  if (authorization.empty()) {
    return refusal(
        "This needs a token. Send `Authorization: Bearer dlo_…`; `dlo token create` "
        "makes one.");
  }
  if (const auto wait = damper_.wait_of(client, now)) {
    return Error{
        Code::timed_out, "access.token",
        "Too many wrong tokens came from here. Try again in " + print_duration(*wait) + "."};
  }
  damper_.failed(client, now);
  if (reason) {
    return refusal("The token " + in_quotes(found->second.name) + " (" + found->second.id + ") " +
                   *reason + ". Ask an admin for another one.");
  }
  return refusal(
      "This is not a token of this office: it may be misspelt, cut, or for another "
      "server. `dlo token list` shows which there are.");
}

}  // namespace dlo
