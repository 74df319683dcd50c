#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "dlo/core/redact_look.h"
#include "dlo/core/redact_tables.h"

namespace dlo::redact_look {

inline constexpr auto npos = std::string_view::npos;

/// One pass over the text. Everything is looked at a bounded number of times: positions found by
/// searching ahead are remembered, so no input makes it slow.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  std::string run();

 private:
  [[nodiscard]] char peek(std::size_t i) const noexcept {
    return i < text_.size() ? text_[i] : '\0';
  }
  [[nodiscard]] std::string_view slice(std::size_t from, std::size_t to) const noexcept {
    return text_.substr(from, to - from);
  }
  template <typename Test>
  [[nodiscard]] std::size_t skip(std::size_t from, Test test) const noexcept {
    while (from < text_.size() && test(text_[from])) ++from;
    return from;
  }

  /// Replaces [from, to) and goes on behind it.
  void hide(std::size_t from, std::size_t to);

  // --- words: names with a value, marked keys, JWTs, schemes

  void word();

  bool jwt(std::size_t begin, std::size_t end);

  bool marked_key(std::size_t begin, std::size_t end);

  /// `Bearer abc123`, wherever it stands.
  bool scheme_token(std::size_t end, std::string_view name);

  /// `Authorization: <scheme> <credentials>`
  void header_value(std::size_t begin, std::size_t end);
  /// `authorization header was Bearer x`: only what is long enough for a token.
  void spoken_header(std::size_t end);
  /// Behind the scheme, or where one would stand: all but words of a sentence.
  void header_token(std::size_t from, bool behind_scheme);

  /// `Cookie: name=value; name=value`: the values go.
  void cookie(std::size_t end);

  // --- name and value

  /// A name and where its value begins, past quotes, blanks and `=`, `:`, `=>` or `%3D`; npos if
  /// no value follows.
  [[nodiscard]] std::size_t value_start(std::size_t begin, std::size_t end) const noexcept;
  [[nodiscard]] bool slice_is(std::size_t from, std::string_view expected) const noexcept {
    return text_.substr(std::min(from, text_.size()), expected.size()) == expected;
  }
  /// The dashes of `--password` belong to the word.
  [[nodiscard]] bool is_flag(std::size_t begin) const noexcept;

  [[nodiscard]] Trust trust_at(std::size_t begin, std::size_t end) const noexcept;

  void named_value(std::size_t begin, std::size_t end, Trust trust);

  /// `<password>` or `<x:password type="y">`: where the name of such an element begins.
  [[nodiscard]] bool is_tag(std::size_t begin) const noexcept;
  /// The value of an element; at once, or when its attributes have been looked at. False: it is
  /// none.
  bool element(std::size_t begin, std::size_t end, Trust trust);
  void element_value(std::size_t from, Trust trust);

  /// No sign between name and value: `token "x" expired`, `password is x`, `password provided: x`.
  void spoken_value(std::size_t begin, std::size_t end, Trust trust);
  /// `API key: x`
  void key_value(std::size_t begin, std::size_t end);
  /// Behind `provided:` and the like; false: there is no such word.
  bool said_value(std::size_t end);
  /// `password -> x`, `password [x]`, `password for user ann: x`
  void pointed_value(std::size_t end);
  /// Alone between two quotes, if it looks like a secret.
  void quoted_token(std::size_t quote_at, Trust trust);
  /// `"name":"DB_PASSWORD","value":"x"`, `key="DbPassword" value="x"`: the value of a pair.
  bool paired_value(std::size_t end, Trust trust);
  /// `password for 'https://host': x`: where `: x` begins; npos: nobody is quoted.
  [[nodiscard]] std::size_t behind_quoted_owner(std::size_t end) const noexcept;
  /// The next word, quoted or not, if no sentence would go on like that.
  void lone_token(std::size_t from);
  /// `password =` and the value in the next line, alone.
  void next_line_value(std::size_t from);
  [[nodiscard]] std::string_view word_before(std::size_t begin) const noexcept;

  /// Up to the quote that ends it: the same quote behind as many backslashes, or the line's end.
  void quoted_value(std::size_t from, std::size_t quote_at, Trust trust);

  void bare_value(std::size_t begin, std::size_t end, std::size_t from, Trust trust);

  /// `x-auth-token: Bearer abc`: where `abc` begins.
  [[nodiscard]] std::size_t behind_scheme(std::size_t from) const noexcept;

  void judge(std::size_t from, std::size_t to, Trust trust);

  /// PWD=/home/app is where a process stood, not a password.
  [[nodiscard]] static bool is_directory(std::string_view name, std::string_view value) noexcept;

  /// The `;` that ends a value before any white space or quote does; npos if there is none.
  [[nodiscard]] std::size_t next_semicolon(std::size_t from) noexcept;

  [[nodiscard]] std::size_t without_full_stop(std::size_t from, std::size_t to) const noexcept;

  /// `the passphrase is x`, `with password x`: only if it can be nothing else.
  void told_value(std::size_t begin, std::size_t end);
  /// `the token was x`: nothing but letters and digits, and many.
  void told_token(std::size_t end);
  /// `the password was swordfish.`: the sentence ends with a word that says nothing of it.
  [[nodiscard]] bool is_last_word(std::size_t from, std::size_t to) const noexcept;
  /// Behind ` is ` and the like; npos: there is none.
  [[nodiscard]] std::size_t behind_verb(std::size_t end) const noexcept;
  // --- commands

  /// Remembers a program that is told passwords by short flags.
  void note_program(std::size_t begin, std::string_view name) noexcept;
  [[nodiscard]] bool is_in_command(std::size_t at) const noexcept;
  /// `curl -u user:password`: the flag, which of what follows it is the password.
  void user_flag(std::size_t end);
  /// `sshpass -p x`, `mysql -px`; false: the word is no such flag.
  bool password_flag(std::size_t begin, std::size_t end);

  /// `IDENTIFIED BY 'x'`, `PASSWORD 'x'`
  void sql_literal(std::size_t end);
  [[nodiscard]] std::string_view identified(std::size_t by) const noexcept;
  [[nodiscard]] char enclosing_quote(std::size_t begin) const noexcept;

  // --- codes, cards, and what one maker writes

  /// `pin=4711`, `security code: 123`, `card 4111 1111 1111 1111`; false: it is no such name.
  bool code_value(std::size_t begin, std::size_t end, const FoldedName& folded);
  bool hide_digits(std::size_t from, const redact_tables::CodeName& code, bool spoken);
  /// Of digits in fours: where they end, and how many there are.
  [[nodiscard]] std::size_t digits_end(std::size_t from, std::size_t& count) const noexcept;
  bool dotted_key(std::size_t begin, std::size_t end);
  bool refresh_key(std::size_t begin, std::size_t end);
  /// `bot123456789:AAE...`, of Telegram.
  bool bot_key(std::size_t begin, std::size_t end);
  bool mail_login(std::size_t begin, std::size_t end);
  bool cache_login(std::size_t begin, std::size_t end);
  /// `?code=...`, with which a program that signs people in gets its tokens.
  bool sign_in_code(std::size_t begin, std::size_t end);
  bool oracle_login(std::size_t begin, std::size_t end);
  /// `$2b$12$...`, `{SSHA}...`: what passwords are compared with, as rows of a table show it.
  bool crypt_hash();
  bool directory_hash();
  /// The secret half of a key of AWS behind its other half: `AKIA...:wJalr...`.
  void other_half(std::size_t end);
  bool block_value(std::size_t from);
  bool braced_value(std::size_t end, std::size_t from);

  // --- URLs and PEM

  /// `scheme://user:password@host`: all that stands before the @.
  bool url_user();

  /// The last @ before white space or a quote.
  [[nodiscard]] std::size_t last_at_sign(std::size_t from) noexcept;

  /// `user:password@tcp(host)`, `user:password@db.example.com/x`: what stands between the first
  /// colon and the @.
  void bare_address();
  [[nodiscard]] bool is_host(std::size_t from) const noexcept;
  /// The secret part of an address that begins at `from`, behind its scheme.
  bool webhook(std::size_t from);

  bool pem_key();
  /// Behind the mark that begins a private key; npos: none begins at `mark`.
  [[nodiscard]] std::size_t pem_body(std::size_t mark) const noexcept;
  /// Where the mark stands that ends it, or what looks like its lines if it was cut off.
  [[nodiscard]] std::size_t pem_end(std::size_t body) noexcept;
  /// A private key is longer than the value whose first words it is taken for: where it ends.
  [[nodiscard]] std::size_t end_of_key_in(std::size_t from, std::size_t to) noexcept;

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t copied_ = 0;
  std::size_t searched_to_ = 0;
  std::size_t run_end_ = 0;
  std::size_t last_at_ = npos;
  std::size_t program_at_ = npos;  // the last word that was a program which takes passwords
  std::string_view program_;
  std::size_t tag_end_ = npos;  // where the value of an element with attributes begins
  Trust tag_trust_ = Trust::doubtful;
  bool pem_ends_ = true;
};

}  // namespace dlo::redact_look
