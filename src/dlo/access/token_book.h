#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/access/damper.h"
#include "dlo/access/token.h"
#include "dlo/access/token_bucket.h"
#include "dlo/store/office.h"

namespace dlo {

/// The office's documents that hold tokens; the key is the token's id.
inline constexpr std::string_view token_kind = "token";

struct NewToken {
  std::string name;
  Role role = Role::reader;
  std::optional<Millis> lives_for;
  Scope scope{};
  std::optional<std::uint32_t> rate{};
  std::optional<std::uint64_t> max_body{};
};

/// A token as its holder gets it, once.
struct IssuedToken {
  Token token;
  std::string text;
};

/// Who may ask, by the tokens an office keeps. Each change is audited in the same transaction.
/// Threads  Any method from any thread.
/// Cost     `who` looks into a table in memory. Once a second the table is read anew, by `later`
///          and beside those who ask; so a token that another process revoked stops working within
///          a second or two where somebody asks all the time, and elsewhere if somebody calls
///          `read`. A table that could not be read for half a minute admits nobody.
class TokenBook {
 public:
  /// `draw` gives random bytes.
  using Draw = std::function<TokenDraw()>;
  /// Runs a task on a thread that may wait; false: it cannot now. Without one, whoever asks waits.
  using Later = std::function<bool(std::function<void()>)>;
  explicit TokenBook(Office& office, Draw draw = draw_token);

  /// From now on the table is read by `later`; it must not run a task once this book is gone.
  void read_by(Later later);

  /// Reads the table now: something was written. If it cannot be read, the old one serves.
  void read(TimePoint now) { (void)read_table(now); }

  /// Random bytes of the operating system.
  [[nodiscard]] static TokenDraw draw_token();

  Result<IssuedToken> create(const NewToken& wanted, const std::string& actor, TimePoint now);
  /// Ends it from now on. not_found names the id; ending it twice changes nothing.
  Result<Token> revoke(const std::string& id, const std::string& actor, TimePoint now);
  /// Oldest first, revoked and expired ones too.
  Result<std::vector<Token>> list();

  /// Whether there are any, revoked ones included: then everybody needs one.
  Result<bool> required(TimePoint now);

  /// The token an `Authorization` header holds. `refused`: it may not be used, with the reason, and
  /// (if it names a token) whose it was; `timed_out`: too many wrong ones from this client.
  Result<Token> who(std::string_view authorization, const std::string& client, TimePoint now);

  /// Whether `who` would admit it. Nothing is counted.
  bool is_good(std::string_view authorization, TimePoint now);

  /// For how long wrong tokens of this client are not even looked at.
  std::optional<Millis> shut_out(const std::string& client, TimePoint now);

  /// Counts a request of this token: how long it has to wait, if it asks more often than its rate
  /// (`usual` if it has none of its own; zero: as often as it likes) allows.
  std::optional<Millis> wait_of(const Token& token, std::uint32_t usual, TimePoint now);

 private:
  Result<void> refresh(TimePoint now);
  Result<void> read_table(TimePoint now);
  void forget();

  Office& office_;
  Draw draw_;
  std::mutex mutex_;
  std::map<std::string, Token, std::less<>> tokens_;
  std::optional<TimePoint> read_at_;
  std::uint64_t forgotten_ = 0;  // how often the table was known to be old
  bool reading_ = false;
  Later later_;
  std::map<std::string, TokenBucket, std::less<>> buckets_;
  Damper damper_;
};

}  // namespace dlo
