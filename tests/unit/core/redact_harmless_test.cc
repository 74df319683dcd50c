// Texts that speak of secrets and give none away.
#include <gtest/gtest.h>
#include <string>

#include "dlo/core/redact.h"

namespace dlo {
namespace {

class LookAlikes : public ::testing::TestWithParam<std::string> {};

TEST_P(LookAlikes, StayByteForByte) {
  EXPECT_EQ(redact(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Redact, LookAlikes,
    ::testing::Values(
        "", "password", "password:", "password=", "password: \n",
        "Password: must be at least 8 characters", "password is incorrect", "password: is required",
        R"({"password":"must not be blank"})", R"({"password":null,"token":""})",
        "password=********", "password=null;", "passwordless=true", "password_length=12",
        "secretary=Bob", "secretName: db-credentials", "key=order-7", "primary key: 42",
        "SharedAccessKeyName=RootManageSharedAccessKey", "Unexpected token: identifier",
        "Unexpected token < in JSON at position 0", "Unexpected token: }", "max_tokens: 4096",
        "tokens=12", "token expired at 12:00", "token=EOF",
        "CancellationToken=System.Threading.CancellationToken", "com.acme.Token::parse",
        "select password::text from users", "PWD=/home/app", R"(PWD=C:\work)", "pass=3 fail=2",
        "Bearer of bad news", "Basic authentication failed", "basic   training",
        "authorization: denied for user bob", "Authorization: required",
        "https://example.com/path@2x.png", "http://host:8080/a?b=c@d", "http://[::1]:80/x@y",
        "mailto:bob@example.com", "user@host: no route", "a://b", "://x:y@z",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "expected -----BEGIN PRIVATE KEY----- in file", "AKIDNOTAKEY", "AKIA is a prefix",
        "eyJ.not.jwt", "eyJhbGciOi only", "sk_live_ is the prefix", "ghp_short",
        "at com.acme.PasswordService.check(PasswordService.java:42)",
        "java.lang.IllegalStateException: secret store unavailable", "field 'password' is missing",
        "Cookie: missing", "cookie jar: empty", "signature: void foo(int)",
        "2026-03-01T12:00:00Z ERROR [main] x=1, y=2; z=3"));

INSTANTIATE_TEST_SUITE_P(
    SpeakingOfTokens, LookAlikes,
    ::testing::Values("token expired", "the token is invalid", "unexpected token: }",
                      "unexpected_token: name", "UNEXPECTED_TOKEN=identifier",
                      "invalid_token: The token was revoked",
                      R"({"error":"invalid_token","error_description":"The access token expired"})",
                      "cannot get access_token: timeout", "access_token: connection refused",
                      "access-token: The request was rejected", "refresh_token: must not be empty",
                      "access_token is missing", "api_token: basic authentication failed",
                      "access_token expired", "missing_token: send one",
                      "cancellation_token=requested", "stopToken: requested", "accessToken: string",
                      "com.acme.Token: identifier", "no-credentials: ask for some",
                      "broken: identifier", "access_token=null", R"({"access_token":""})",
                      "access_token=***", "--token requires one", "access_tokens: two",
                      "tokenizer=standard", "token_type=bearer", "tokenType: bearer"));

INSTANTIATE_TEST_SUITE_P(
    SpeakingOfSecrets, LookAlikes,
    ::testing::Values("password is required", "the password is too short",
                      "password is case-sensitive", "The secret is base64 encoded",
                      "password is 8 characters long", "secret is null",
                      "password is \"too short\"", "passphrase is", "passphrase is ",
                      "password is /etc/shadow", "the password is wrong", "private key is missing",
                      "session_id=42", "sessionId: 4711", "session_id: must not be empty",
                      "session_id=", "first_pass=horse", "bypass=always", "test_pass: 12",
                      "db_pass: is required", "render_pass=shadow", "docker run -u app:app image",
                      "curl -u bob https://x", "curl https://x\nsudo -u bob:staff ls",
                      "curl -u bob:*** https://x", "ps -u root", "-u", "curl -u", "curl -u "));

INSTANTIATE_TEST_SUITE_P(
    WithoutASign, LookAlikes,
    ::testing::Values(
        "unexpected token \"abc123def456\"", "Unexpected token 'utf8mb4_bin' in line 3",
        "syntax error near token `x86_64_v2`", "token \"EOF\" expected", "token \"\"", "token \"",
        R"(secret "app-v2-tls" not found)", R"(password "too short")", R"(password "required")",
        R"x(signature "void foo2(int)")x", "API key is missing", "API key: missing",
        "Incorrect API key provided.", "API key provided is invalid", "api key provided: none",
        "primary key abc123def456", "duplicate key: order-4711a", "partition key: ab12cd34",
        "password provided: must be longer", "no password provided: please try again",
        "password -> click here", "password->length", "password [Required]", "password [REDACTED]",
        "password [***]", "password for user ann: authentication failed",
        "password for ann: ORA-01017: invalid username", "password for ann. Error: h4nter2x",
        "password for user ann: must be longer", "jwt: malformed", "compat=abc12345",
        "password:\nPermission denied", "password:\nport: 1", "password=\nuser_2=bob",
        "password:\n  at com.acme.Foo.bar2(Foo.java:42)", "password =\n", "password:\n\nh4nter2x"));

INSTANTIATE_TEST_SUITE_P(
    NumbersAndCodes, LookAlikes,
    ::testing::Values(
        "pin 7 is high", "spinning=1", "spin=1234", "mapping: 12345", "pin=7", "pin: 13",
        "GPIO pin 1024 busy", "error code: 123456", "status code 404", "zip code 94107",
        "country code: 4917", "card 12 of 52", "card number 3 is missing", "japan=123456789012345",
        "span=1234567890123", "Exit code 137", "order number 4111111111111112 not found",
        "order 4111111111111111 not found", "the password was rejected",
        "the password was not accepted", "the password was changed yesterday",
        "password was too short", R"(password was "too short")", "using password authentication",
        "invalid password format", "wrong password for user bob2", "bad password hash",
        "with password policy v2", "Access denied for user 'root'@'localhost' (using password: NO)",
        "oracle:thin driver not found", "sqlplus -v failed", "sqlplus: command not found",
        "AUTH PLAIN failed", "AUTH LOGIN authentication failed", "AUTH required", "SG.1",
        "private key: missing", "encryption key is missing", "master key not found",
        "signing key: rotation failed", "otp=expired", "OTP expired", "pin code is wrong",
        "hf_small", "whsec_ is the prefix", "dapi error", "author code 12", "cvv=missing",
        "cvv: must be 3 digits", "cvv is required", "card_number: must not be blank", "password={}",
        R"(password={"a":1})", "login code path failed", "sms code 7", "ya29. is short",
        "GET /v1//0rders/17", "see 1//0 and 1//0abc", "IBAN DE89370400440532013000 is unknown",
        "SSN 078-05-1120 exists", "hvs.example.com", "SG.example.com is down", "the pin is bent",
        "pan: 45 tilt: 10", "totp=disabled", "security code review failed",
        "verification code was not found", "the token is invalid", "token was utf8mb4_general_ci",
        "unexpected token was abc123def456", "token is SHA256-signed", "api key was revoked"));

INSTANTIATE_TEST_SUITE_P(
    SpeakingOfHeaders, LookAlikes,
    ::testing::Values("Authorization: Basic authentication failed",
                      "Authorization: Bearer token is missing", "Authorization: Token expired",
                      "Authorization: Token has expired", "Authorization: NotAuthorized",
                      "Authorization: InvalidTokenException", "Authorization: HTTP_UNAUTHORIZED",
                      "authorization: insufficient_scope", "Authorization: Bearer <token>",
                      "Authorization: Bearer", "Authorization: Bearer null",
                      "Authorization: Bearer ***", "Authorization: Basic realm=\"orders\"",
                      "Authorization: Basic login failed for bob",
                      "authorization header was Basic auth", "authorization header is missing",
                      "authorization header is Bearer authentication",
                      "Authorization header: Bearer token missing"));

INSTANTIATE_TEST_SUITE_P(
    CommandsAndMarkup, LookAlikes,
    ::testing::Values("mysql -p orders", "mysql -P 3306 -h db", "mysql -p; then more",
                      "psql -p5432 orders", "sshpass: command not found", "sshpass -f file ssh db",
                      "mysql failed\nssh -phorse db", "docker run -p 8080:80 image",
                      "bob@tcp(db:3306)/x", "ann:***@tcp(db:3306)/x", "a:b@host(1)",
                      "mysql -port 3306 -h db", "mailto:ann2x@example.com/x",
                      "sip:bob2x@example.com:5060", "npm:left-pad2@example.com/x",
                      "see http://host.example.com:8080/a2b@db.example.com/x",
                      "repo:tag-2@sha256:0123", "ann:horse@db.example.com",
                      "https://hooks.slack.com/services/", "https://hooks.slack.com/services/***",
                      "<password><![CDATA[]]></password>", "<password><![CDATA[must be longer]]>",
                      R"(<Password Type="x"/>)", "field <password> is required",
                      "login <user> <password> [host]", "<password of the user>",
                      "<password></password>", "<Password Type=\"x\"></Password>",
                      "</wsse:Password>", "<password>must be longer</password>"));

}  // namespace
}  // namespace dlo
