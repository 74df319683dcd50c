// Secrets that are numbers, that a sentence tells, or that only programs of one maker write.
#include <ctime>
#include <gtest/gtest.h>
#include <string>

#include "dlo/core/redact.h"

namespace dlo {
namespace {

struct Row {
  const char* name;
  std::string text;
  std::string expected;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class Told : public ::testing::TestWithParam<Row> {};

TEST_P(Told, Vanishes) {
  EXPECT_EQ(redact(GetParam().text), GetParam().expected);
  EXPECT_EQ(redact(GetParam().expected), GetParam().expected) << "a second pass changed it";
}

const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP";

// clang-format off
INSTANTIATE_TEST_SUITE_P(Codes, Told, ::testing::ValuesIn<Row>({
    {"Pin", "pin=4821 rejected", "pin=*** rejected"},
    {"PinColon", "pin: 1234", "pin: ***"},
    {"PinOfACard", "card_pin = 00471", "card_pin = ***"},
    {"PinOfAUser", "userPin=1234", "userPin=***"},
    {"PinCode", "PIN code 1234 is wrong", "PIN code *** is wrong"},
    {"PinSpoken", "PIN 1234 was refused", "PIN *** was refused"},
    {"Cvv", "card declined: cvv=123", "card declined: cvv=***"},
    {"Cvv2", "cvv2=1234", "cvv2=***"},
    {"CvcInJson", R"({"cvc":"123","name":"Ann"})", R"({"cvc":"***","name":"Ann"})"},
    {"Otp", "otp=123456", "otp=***"},
    {"OtpSpoken", "OTP 123456 expired", "OTP *** expired"},
    {"OtpWas", "the otp was 123456", "the otp was ***"},
    {"Passcode", "passcode=123456", "passcode=***"},
    {"SecurityCode", "security code: 123", "security code: ***"},
    {"SecurityCodeJoined", "securityCode=123", "securityCode=***"},
    {"VerificationCode", "verification code 123456 does not match", "verification code *** does not match"},
    {"OneTimeCode", "one-time code: 123456", "one-time code: ***"},
    {"CardNumber", "card number 4111 1111 1111 1111 declined", "card number *** declined"},
    {"CardSpoken", "card 4111111111111111 declined", "card *** declined"},
    {"CardNumberInJson", R"("cardNumber": "4111-1111-1111-1111")", R"("cardNumber": "***")"},
    {"Pan", R"({"pan":"5500005555555559"})", R"({"pan":"***"})"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Sentences, Told, ::testing::ValuesIn<Row>({
    {"Was", "the password was hunter2", "the password was ***"},
    {"WasAWord", "Login failed: the password was swordfish.", "Login failed: the password was ***."},
    {"IsAWord", "passphrase is correcthorse\nat x", "passphrase is ***\nat x"},
    {"ForAnAddress", "Password for 'https://bob@git.acme.com': hunter2", "Password for 'https://***@git.acme.com': ***"},
    {"WasQuoted", R"(the password was "horse")", R"(the password was "***")"},
    {"UsedWas", "password used was hunter2", "password used was ***"},
    {"IsColon", "password is: hunter2", "password is: ***"},
    {"With", "login failed for bob with password hunter2", "login failed for bob with password ***"},
    {"Tried", "tried password S3cret! for user bob", "tried password ***! for user bob"},
    {"PhraseWas", R"(The passphrase was "correct horse")", R"(The passphrase was "***")"},
    {"TokenWas", "the token was abc123def456", "the token was ***"},
    {"KeyWas", "api key was abc123def456", "api key was ***"},
    {"EncryptionKey", "encryption key = 00112233445566778899aabbccddeeff", "encryption key = ***"},
    {"PrivateKey", "PRIVATE KEY: MIIEvQIBADANBgkqhkiG9w0BAQ", "PRIVATE KEY: ***"},
}), [](const auto& row) { return row.param.name; });

const std::string lines = "\nMIIEpAIBAAKCAQEA7\nq3Zk9w==\n";
const std::string pem = "-----BEGIN RSA PRIVATE KEY-----" + lines + "-----END RSA PRIVATE KEY-----";
const std::string one_line = "-----BEGIN RSA PRIVATE KEY----- MIIEpAIBAAKCAQEA7 q3Zk9w== -----END RSA PRIVATE KEY-----";
const std::string cut_off = "-----BEGIN PRIVATE KEY-----" + lines;

INSTANTIATE_TEST_SUITE_P(PrivateKeys, Told, ::testing::ValuesIn<Row>({
    {"Setting", "private_key=" + pem + "\nhost=h", "private_key=***\nhost=h"},
    {"Yaml", "private_key: " + pem + " refused", "private_key: *** refused"},
    {"OneLine", "private_key=" + one_line + " refused", "private_key=*** refused"},
    {"Environment", "TLS_PRIVATE_KEY=" + pem, "TLS_PRIVATE_KEY=***"},
    {"Flag", "tool --private-key " + pem + " --host db", "tool --private-key *** --host db"},
    {"FlagJoined", "tool --private-key=" + one_line + " --host db", "tool --private-key=*** --host db"},
    {"Quoted", "private_key=\"" + pem + "\", host", "private_key=\"***\", host"},
    {"QuotedBehindBlank", "private_key=' " + pem + "'", "private_key='***'"},
    {"QuotedCutOff", "private_key=\"" + cut_off, "private_key=\"***"},
    {"CutOff", "private_key=" + cut_off, "private_key=***"},
    {"InJson", R"({"private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"})", R"({"private_key": "***"})"},
    {"Spoken", "the password was " + pem, "the password was -----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"},
    {"Told", "private key: " + pem, "private key: -----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"},
    {"NextLine", "private_key:\n" + pem, "private_key:\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"},
    {"InACookie", "Cookie: a=" + pem + "; b=c", "Cookie: a=***; b=***"},
    {"Two", "password=" + pem + pem, "password=***"},
    {"OnlySpokenOf", "private_key=-----BEGIN RSA PRIVATE KEY----- expected", "private_key=*** expected"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Makers, Told, ::testing::ValuesIn<Row>({
    {"OracleThin", "jdbc:oracle:thin:scott/tiger@//db:1521/x", "jdbc:oracle:thin:scott/***@//db:1521/x"},
    {"OracleOci", "jdbc:oracle:oci:scott/tiger@ORCL", "jdbc:oracle:oci:scott/***@ORCL"},
    {"SqlPlus", "sqlplus -S scott/tiger@ORCL failed", "sqlplus -S scott/***@ORCL failed"},
    {"AdoDoubledQuote", "User=sa;Password='it''s;secret';Server=h", "User=sa;Password='***';Server=h"},
    {"OdbcBraces", "Uid=sa;Pwd={se;cret};Server=h", "Uid=sa;Pwd={***};Server=h"},
    {"MailPlain", "C: AUTH PLAIN AGJvYgBodW50ZXIy", "C: AUTH PLAIN ***"},
    {"MailLogin", "AUTH LOGIN dXNlcm5hbWU=", "AUTH LOGIN ***"},
    {"YamlBlock", "db:\n  password: |\n    hunter2\n    more\n  host: h", "db:\n  password: |\n    ***\n  host: h"},
    {"YamlFolded", "password: >-\n  hunter2", "password: >-\n  ***"},
    {"Rails", "secret_key_base: 0123456789abcdef", "secret_key_base: ***"},
    {"SendGrid", "key SG." + letters.substr(0, 22) + "." + letters + " refused", "key *** refused"},
    {"Vault", "hvs." + letters + " denied", "*** denied"},
    {"Google", "ya29." + letters + " is expired", "*** is expired"},
    {"GoogleRefresh", "for 1//0" + letters + letters + ": invalid_grant", "for ***: invalid_grant"},
    {"Docker", "dckr_pat_" + letters, "***"},
    {"WebhookSecret", "secret whsec_" + letters.substr(0, 32) + " invalid", "secret *** invalid"},
    {"HuggingFace", "hf_" + letters.substr(0, 34), "***"},
    {"Telegram", "POST https://api.telegram.org/bot123456789:AA" + letters.substr(0, 33) + "/sendMessage: 403", "POST https://api.telegram.org/bot123456789:***/sendMessage: 403"},
    {"RedisAuth", "ERR AUTH hunter2 failed", "ERR AUTH *** failed"},
    {"RedisAuthUser", "AUTH default S3cret99", "AUTH default ***"},
    {"SignInCode", "GET /callback?code=4/0AX4XfWhq8Zk2LmN9pQ7r&state=x", "GET /callback?code=***&state=x"},
    {"Pypi", "pypi-AgE" + letters, "***"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Pairs, Told, ::testing::ValuesIn<Row>({
    {"Json", R"({"name":"DB_PASSWORD","value":"hunter2"})", R"({"name":"DB_PASSWORD","value":"***"})"},
    {"JsonInJson", R"({\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"})", R"({\"name\":\"DB_PASSWORD\",\"value\":\"***\"})"},
    {"Yaml", "- name: DB_PASSWORD\n  value: hunter2\n- name: X", "- name: DB_PASSWORD\n  value: ***\n- name: X"},
    {"AppSettings", R"(<add key="DbPassword" value="hunter2" />)", R"(<add key="DbPassword" value="***" />)"},
    {"Token", R"({"name":"ACCESS_TOKEN", "value": "abc"})", R"({"name":"ACCESS_TOKEN", "value": "***"})"},
    {"AwsColon", "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "***:***"},
    {"AwsSlash", "AKIAIOSFODNN7EXAMPLE / wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY.", "*** / ***."},
    {"Ldif", "userPassword:: e1NTSEF9aGFzaA==", "userPassword:: ***"},
    {"AzureFunction", "x-functions-key: abcdefgh", "x-functions-key: ***"},
    {"DockerLogin", "docker login -u bob -p hunter2 registry.acme.com", "docker login -u bob -p *** registry.acme.com"},
    {"CurlOfALogin", "curl https://acme.com/login -u bob:hunter2", "curl https://acme.com/login -u bob:***"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Hashes, Told, ::testing::ValuesIn<Row>({
    {"BcryptInARow", "DETAIL: Failing row contains (7, ann, $2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy, t).", "DETAIL: Failing row contains (7, ann, ***, t)."},
    {"Crypt", "root:$6$saltsalt$" + letters + letters + ":19000", "root:***:19000"},
    {"Argon", "got $argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaU, t", "got ***, t"},
    {"Directory", "{SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3", "{SSHA}***"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Told, WhatASentenceSaysOfAPasswordStays) {
  for (const std::string text :
       {"the password was rejected", "the password is stale.", "password was too short",
        "The password is missing!", "password is case-sensitive", "the password was correct",
        "password was reset", "the password is unacceptable", "the secret was swordfish",
        "the password was swordfish of the sea"}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Told, WhatOnlyLooksLikeAPairOrAHashStays) {
  for (const std::string text :
       {"DB_PASSWORD value missing", R"({"name":"order","value":"7"})", "docker run -p 8080:80 app",
        "costs $1$ or $2$", "regex $6$x", "{SHA} is not offered", "{md5}", "a{sha256}b",
        "AKIAIOSF commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "com.acme.Password::check",
        "select password::text from users", "sha256:e3b0c44298fc1c149afbf4c8996fb924"}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Told, TextMadeToAnnoyItTakesMilliseconds) {
  for (const std::string piece :
       {"AKIAIOSFODNN7EXAMPLE/", "$2$", "$1$aaaaaaaaaaaaaaaaaaaaa", "{sha}", "{crypt}a",
        "password value=", "password 'value'", "password,", "password was a ",
        "password is swordfish. ", "password for 'x", "docker login -p ", "password:: "}) {
    std::string text;
    while (text.size() < 1'500'000) text += piece;
    const std::clock_t began = std::clock();
    EXPECT_LE(redact(text).size(), text.size() * 2 + 3);
    EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC) << piece;
  }
}

TEST(Told, WordsAboutSigningInStay) {
  for (const std::string text :
       {"AUTH CRAM-MD5 is not offered", "AUTH XOAUTH2 failed", "AUTH failed: 535 5.7.8",
        "AUTH default failed", "/x?code=not_found&y=1", "error code=ECONNREFUSED", "at 12:AA"}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Told, AFlagThatIsNoPasswordStays) {
  const std::string mysql = "Access denied for user 'root'@'localhost' (using password: YES)";
  EXPECT_EQ(redact(mysql), mysql);
}

}  // namespace
}  // namespace dlo
