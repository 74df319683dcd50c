#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// What redact looks for, as data.
namespace dlo::redact_tables {

/// Names whose value is a secret, whatever it looks like. Compared without case, `_` and `-`, with
/// the end of a name: `db_password`, `clientSecret`, `AWS_SECRET_ACCESS_KEY`.
inline constexpr auto telling = std::to_array<std::string_view>(
    {"password",  "passwd",     "passphrase",  "passwort",        "pwd",           "secret",
     "secretkey", "apikey",     "accesskey",   "accountkey",      "sharedkey",     "privatekey",
     "masterkey", "signingkey", "authkey",     "encryptionkey",   "userpass",      "passwordhash",
     "pwdhash",   "apisecret",  "accesskeyid", "subscriptionkey", "secretkeybase", "functionskey"});

/// Names that are often harmless ("unexpected token: identifier"): their value goes only if it
/// looks like a secret.
inline constexpr auto suspicious = std::to_array<std::string_view>(
    {"token", "sig", "signature", "credential", "credentials", "auth", "sessionid", "pass",
     "sessid", "phpsessid", "sharedaccesssignature", "jwt", "githubpat", "gitlabpat", "azurepat",
     "devopspat"});

/// Last words of a name that is a secret's if something stands before them: `access_token`,
/// `X-Vault-Token`, `dbCredentials`, `vault.token`.
inline constexpr auto kept_by_owner =
    std::to_array<std::string_view>({"token", "credential", "credentials"});
/// The same written as one word.
inline constexpr auto joined = std::to_array<std::string_view>(
    {"accesstoken", "refreshtoken", "sessiontoken", "authtoken", "apitoken", "bearertoken",
     "csrftoken", "xsrftoken", "vaulttoken", "securitytoken"});
/// Whose `pass` is a password, and not one of several: `db_pass`, `smtpPass`.
inline constexpr auto pass_owners = std::to_array<std::string_view>(
    {"db",       "database",   "sql",     "mysql",   "mssql",   "pg",    "postgres", "postgresql",
     "oracle",   "mongo",      "mongodb", "redis",   "cache",   "jdbc",  "amqp",     "rabbitmq",
     "mqtt",     "kafka",      "smtp",    "mail",    "email",   "imap",  "ftp",      "sftp",
     "ssh",      "ldap",       "bind",    "http",    "proxy",   "basic", "auth",     "login",
     "user",     "admin",      "root",    "account", "service", "svc",   "app",      "key",
     "keystore", "truststore", "store",   "wifi"});
/// The same written as one word.
inline constexpr auto joined_pass = std::to_array<std::string_view>(
    {"dbpass", "mysqlpass", "pgpass", "redispass", "smtppass", "mailpass", "ftppass", "sshpass",
     "ldappass", "adminpass", "rootpass"});
/// Names of what keeps somebody signed in. Short ones are counts.
inline constexpr auto sessions =
    std::to_array<std::string_view>({"sessionid", "phpsessid", "sessid"});
inline constexpr std::size_t shortest_session = 8;
/// Words of a sentence about a secret that look like one: "the password is base64 encoded".
inline constexpr auto encodings = std::to_array<std::string_view>(
    {"base64", "base32", "base58", "md5", "sha1", "sha256", "sha512", "utf8", "utf-8", "x509"});

/// What makes `unexpected_token` the name of an error, and `CancellationToken` one of a thing.
inline constexpr auto harmless_before = std::to_array<std::string_view>(
    {"unexpected", "expected",  "invalid",      "missing", "expired", "unknown", "bad", "wrong",
     "illegal",    "malformed", "unsupported",  "revoked", "no",      "empty",   "not", "syntax",
     "lexer",      "parser",    "cancellation", "cancel",  "stop",    "eof",     "the"});

/// Names that a thing has, and its value has not: `secret "db-credentials-2" not found`.
inline constexpr auto named_things = std::to_array<std::string_view>({"secret"});

/// Words before `key` that make it a secret's name: `API key: x`.
inline constexpr auto key_owners = std::to_array<std::string_view>(
    {"api", "access", "secret", "account", "shared", "auth", "subscription", "license",
     "encryption", "signing", "private", "master"});
/// What may stand between a name and its value: `Incorrect API key provided: x`.
inline constexpr auto said = std::to_array<std::string_view>(
    {"provided", "supplied", "given", "received", "entered", "used", "sent"});
/// Whose tokens are pieces of a program: `unexpected token "x"`.
inline constexpr auto parsing = std::to_array<std::string_view>(
    {"unexpected", "expected", "illegal", "syntax", "unrecognized", "unrecognised", "before",
     "after", "near", "next", "parser", "lexer", "unknown"});

/// Flags of curl that are followed by user and password.
inline constexpr auto user_flags =
    std::to_array<std::string_view>({"-u", "--user", "--proxy-user"});

/// Programs whose short flag takes a password: behind it, attached to it, or either.
enum class Takes : std::uint8_t { behind, attached, either };
struct PasswordFlag {
  std::string_view program;
  std::string_view flag;
  Takes how;
};
inline constexpr auto password_flags = std::to_array<PasswordFlag>({
    {"sshpass", "-p", Takes::either},
    {"mysql", "-p", Takes::attached},  // a word behind it is the database
    {"mysqldump", "-p", Takes::attached},
    {"mysqladmin", "-p", Takes::attached},
    {"mysqlimport", "-p", Takes::attached},
    {"mariadb", "-p", Takes::attached},
    {"mariadb-dump", "-p", Takes::attached},
    {"mongo", "-p", Takes::behind},
    {"mongosh", "-p", Takes::behind},
    {"mongodump", "-p", Takes::behind},
    {"redis-cli", "-a", Takes::behind},
    {"ldapsearch", "-w", Takes::behind},
    {"login", "-p", Takes::behind},  // docker, podman, oc, az acr: `docker run -p` is a port
});

inline constexpr std::size_t shortest_program = 4;
/// Whether one of them, or curl, begins with this letter.
[[nodiscard]] constexpr bool begins_program(char c) noexcept {
  switch (c) {
    case 'c':
    case 'l':
    case 'm':
    case 'r':
    case 's':
      return true;
    default:
      return false;
  }
}

/// What follows the @ in the address of a database as drivers for Go write it:
/// `user:password@tcp(host:3306)/name`.
inline constexpr auto go_networks =
    std::to_array<std::string_view>({"tcp", "tcp4", "tcp6", "unix", "cloudsql", "ssh"});

/// Schemes of addresses that look like one: `sip:bob@example.com:5060`.
inline constexpr auto address_schemes = std::to_array<std::string_view>(
    {"mailto", "sip", "sips", "xmpp", "acct", "im", "pres", "ssh", "git", "npm", "pkg", "tel"});

/// Addresses of which the rest is the secret: whoever knows it may write there.
inline constexpr auto webhooks = std::to_array<std::string_view>(
    {"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/",
     "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"});

/// What may stand between "authorization header" and its value.
inline constexpr auto header_verbs =
    std::to_array<std::string_view>({" was ", " is ", " with ", " contained ", " set to "});

/// Headers whose value is a scheme and credentials.
inline constexpr auto authorization =
    std::to_array<std::string_view>({"authorization", "proxyauthorization"});
inline constexpr auto cookies = std::to_array<std::string_view>({"cookie", "setcookie"});

/// Attributes of a cookie that are not its value.
inline constexpr auto cookie_attributes = std::to_array<std::string_view>(
    {"path", "domain", "expires", "max-age", "samesite", "version"});

/// Schemes followed by one token, and schemes followed by a list up to the end of the line.
inline constexpr auto token_schemes = std::to_array<std::string_view>(
    {"bearer", "basic", "negotiate", "ntlm", "token", "apikey", "kerberos"});
/// Schemes that are words of other meaning anywhere but in the header.
inline constexpr auto header_schemes = std::to_array<std::string_view>(
    {"key", "api-key", "api_key", "x-api-key", "ssws", "geniekey", "splunk", "bot"});
/// Words behind a scheme in a sentence about it: "Authorization: Basic authentication failed".
inline constexpr auto header_prose = std::to_array<std::string_view>(
    {"token", "tokens", "auth", "authorization", "scheme", "header", "credentials", "realm", "or",
     "and", "with", "only", "in", "of", "to", "from"});
inline constexpr auto list_schemes =
    std::to_array<std::string_view>({"digest", "aws4-hmac-sha256", "hawk", "mac", "oauth",
                                     "sharedkey", "sharedkeylite", "sharedaccesssignature"});

/// Names whose value is a secret if it is a number of so many digits. Compared with the last word
/// of a name, those of several words with its end.
struct CodeName {
  std::string_view name;
  std::size_t least;
  std::size_t most;
};
inline constexpr std::size_t shortest_whole_code = 6;
inline constexpr std::size_t shortest_card = 13;
inline constexpr std::size_t longest_card = 19;
inline constexpr auto codes = std::to_array<CodeName>({
    {"securitycode", 3, 10},
    {"verificationcode", 4, 10},
    {"onetimecode", 4, 10},
    {"passcode", 4, 12},
    {"pincode", 4, 12},
    {"pin", 4, 12},
    {"cvv", 3, 4},
    {"cvv2", 3, 4},
    {"cvc", 3, 4},
    {"cvc2", 3, 4},
    {"otp", 4, 10},
    {"totp", 4, 10},
    {"cardnumber", shortest_card, longest_card},
    {"ccnumber", shortest_card, longest_card},
    {"creditcard", shortest_card, longest_card},
    {"card", shortest_card, longest_card},
    {"pan", shortest_card, longest_card},
});
/// Their ends: nearly no other word has one of these.
inline constexpr auto code_endings = std::to_array<std::string_view>(
    {"code", "pin", "cvv", "cvv2", "cvc", "cvc2", "otp", "ccnumber", "cardnumber", "card", "pan"});
/// Whose `code` is a secret: `security code: 123`.
inline constexpr auto code_owners =
    std::to_array<std::string_view>({"security", "verification", "pin", "otp", "one-time",
                                     "onetime", "cvv", "cvc", "mfa", "2fa", "sms", "login"});
inline constexpr CodeName a_code{"", 3, 10};
inline constexpr CodeName a_card{"", shortest_card, longest_card};

/// Words before `password x` in a sentence that tells one: "logged in with password x".
inline constexpr auto telling_before = std::to_array<std::string_view>(
    {"with", "using", "tried", "wrong", "invalid", "incorrect", "bad", "by", "used"});
/// What stands between a secret's name and the secret in a sentence.
inline constexpr auto verbs = std::to_array<std::string_view>(
    {" is ", " was ", " is: ", " was: ", " used was ", " used is ", " set to "});

/// Secrets that a person takes in words: "the password was swordfish".
inline constexpr auto spoken_secrets = std::to_array<std::string_view>(
    {"password", "passwd", "passphrase", "passwort", "pwd", "passcode"});
/// What a sentence says of a password with its last word, and how such words end.
inline constexpr auto said_of_secrets = std::to_array<std::string_view>(
    {"null",      "empty",     "blank",     "short",     "long",    "weak",      "okay",
     "same",      "stale",     "unset",     "wrong",     "absent",  "present",   "there",
     "here",      "none",      "plain",     "plaintext", "unsafe",  "insecure",  "secure",
     "safe",      "common",    "easy",      "simple",    "text",    "optional",  "true",
     "false",     "yours",     "temporary", "different", "unknown", "identical", "correct",
     "incorrect", "necessary", "fine",      "good",      "invalid", "valid",     "wrongly",
     "binary",    "strong"});
inline constexpr auto said_endings =
    std::to_array<std::string_view>({"ed", "en", "ing", "able", "ible", "tory", "set"});

/// Between a secret's name and the secret where both are members of a pair.
inline constexpr auto pair_members = std::to_array<std::string_view>({"value", "val"});

/// How hashes of passwords begin: `$2b$12$`, `$argon2id$v=19$`.
inline constexpr auto crypt_marks = std::to_array<std::string_view>({"1",
                                                                     "2",
                                                                     "2a",
                                                                     "2b",
                                                                     "2x",
                                                                     "2y",
                                                                     "5",
                                                                     "6",
                                                                     "7",
                                                                     "y",
                                                                     "gy",
                                                                     "apr1",
                                                                     "argon2i",
                                                                     "argon2d",
                                                                     "argon2id",
                                                                     "scrypt",
                                                                     "pbkdf2",
                                                                     "pbkdf2-sha1",
                                                                     "pbkdf2-sha256",
                                                                     "pbkdf2-sha512",
                                                                     "sha1",
                                                                     "md5"});
inline constexpr std::size_t shortest_crypt = 20;
/// And those of directories: `{SSHA}...`.
inline constexpr auto directory_marks =
    std::to_array<std::string_view>({"ssha", "sha", "smd5", "md5", "ssha256", "ssha384", "ssha512",
                                     "sha256", "sha384", "sha512", "pbkdf2", "crypt"});

/// How a mail server is told who logs in.
inline constexpr auto mail_logins =
    std::to_array<std::string_view>({"plain", "login", "xoauth2", "oauthbearer"});
inline constexpr auto oracle_drivers = std::to_array<std::string_view>({"thin", "oci", "oci8"});
inline constexpr auto oracle_programs =
    std::to_array<std::string_view>({"sqlplus", "sqlldr", "expdp", "impdp", "rman", "sqlcl"});

/// Words that follow "password:" in a sentence about passwords rather than in one that leaks one.
inline constexpr auto prose = std::to_array<std::string_view>(
    {"must",     "is",      "are",     "was",       "were",     "cannot",  "can",
     "can't",    "should",  "may",     "might",     "has",      "have",    "does",
     "do",       "needs",   "not",     "no",        "too",      "at",      "required",
     "expected", "missing", "invalid", "incorrect", "wrong",    "expired", "rejected",
     "field",    "for",     "could",   "will",      "contains", "requires"});

/// Words that follow "access_token:" in a sentence. No service hands them out as a token, though
/// people take some as a password.
inline constexpr auto token_prose = std::to_array<std::string_view>(
    {"the",     "a",          "an",      "it",           "this",         "timeout",
     "timed",   "connection", "connect", "request",      "response",     "failed",
     "failure", "unable",     "error",   "unauthorized", "unauthorised", "forbidden",
     "denied",  "permission", "access",  "revoked",      "malformed",    "unavailable",
     "empty",   "unknown",    "file",    "http",         "server",       "service",
     "network", "rate",       "too",     "string",       "str",          "authentication",
     "command"});

/// Values that say there is none.
inline constexpr auto nothing =
    std::to_array<std::string_view>({"null", "nil", "none", "undefined", "true", "false", "<null>",
                                     "(null)", "[redacted]", "yes", "no"});

enum class Alphabet : std::uint8_t { upper_digits, alnum, word };  // word: alnum, `_` and `-`

/// Keys that carry their maker's mark: a prefix and what follows it.
struct MarkedKey {
  std::string_view prefix;
  Alphabet alphabet;
  std::size_t least;  // characters after the prefix
  bool exact;         // exactly that many
};
inline constexpr auto marked_keys = std::to_array<MarkedKey>({
    {"AKIA", Alphabet::upper_digits, 16, true},
    {"ASIA", Alphabet::upper_digits, 16, true},
    {"ABIA", Alphabet::upper_digits, 16, true},
    {"ACCA", Alphabet::upper_digits, 16, true},
    {"AIza", Alphabet::word, 35, true},
    {"ghp_", Alphabet::alnum, 36, false},
    {"gho_", Alphabet::alnum, 36, false},
    {"ghu_", Alphabet::alnum, 36, false},
    {"ghs_", Alphabet::alnum, 36, false},
    {"ghr_", Alphabet::alnum, 36, false},
    {"github_pat_", Alphabet::word, 22, false},
    {"glpat-", Alphabet::word, 20, false},
    {"npm_", Alphabet::alnum, 36, false},
    {"xoxb-", Alphabet::word, 10, false},
    {"xoxp-", Alphabet::word, 10, false},
    {"xoxa-", Alphabet::word, 10, false},
    {"xoxr-", Alphabet::word, 10, false},
    {"xoxs-", Alphabet::word, 10, false},
    {"sk_live_", Alphabet::alnum, 16, false},
    {"rk_live_", Alphabet::alnum, 16, false},
    {"sk_test_", Alphabet::alnum, 16, false},
    {"sk-proj-", Alphabet::word, 20, false},
    {"sk-ant-", Alphabet::word, 20, false},
    {"shpat_", Alphabet::alnum, 32, false},
    {"dop_v1_", Alphabet::alnum, 40, false},
    {"whsec_", Alphabet::alnum, 24, false},
    {"dckr_pat_", Alphabet::word, 20, false},
    {"pypi-AgE", Alphabet::word, 30, false},
    {"hf_", Alphabet::alnum, 30, false},
    {"xapp-", Alphabet::word, 20, false},
    {"shpss_", Alphabet::alnum, 32, false},
    {"shpca_", Alphabet::alnum, 32, false},
    {"shppa_", Alphabet::alnum, 32, false},
    {"sq0atp-", Alphabet::word, 22, false},
    {"sq0csp-", Alphabet::word, 40, false},
    {"glrt-", Alphabet::word, 20, false},
    {"gldt-", Alphabet::word, 20, false},
    {"ATATT3x", Alphabet::word, 40, false},
    {"gsk_", Alphabet::alnum, 40, false},
    {"tskey-", Alphabet::word, 20, false},
    {"lin_api_", Alphabet::alnum, 32, false},
    {"NRAK-", Alphabet::upper_digits, 27, true},
    {"PMAK-", Alphabet::word, 40, false},
    {"sntrys_", Alphabet::word, 40, false},
    {"dapi", Alphabet::alnum, 32, true},
    {"AGE-SECRET-KEY-1", Alphabet::upper_digits, 58, true},
});
/// Marks with a dot behind them: `hvs.CAESI...`.
inline constexpr auto dotted_keys =
    std::to_array<std::string_view>({"SG", "hvs", "hvb", "hvr", "ya29"});
inline constexpr std::size_t shortest_marked_key = [] {
  std::size_t shortest = SIZE_MAX;
  for (const MarkedKey& key : marked_keys) {
    shortest = std::min(shortest, key.prefix.size() + key.least);
  }
  return shortest;
}();

}  // namespace dlo::redact_tables
