#include "dlo/core/redact.h"

#include <ctime>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

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

class Secrets : public ::testing::TestWithParam<Row> {};

TEST_P(Secrets, Vanish) {
  EXPECT_EQ(redact(GetParam().text), GetParam().expected);
  EXPECT_EQ(redact(GetParam().expected), GetParam().expected) << "a second pass changed it";
}

const std::string jwt =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
const std::string aws = std::string("AKIA") + "IOSFODNN7EXAMPLE";
const std::string github = std::string("ghp_") + "16C7e42F292c6912E7710c838347Ae178B4a";

// clang-format off
INSTANTIATE_TEST_SUITE_P(ConnectionStrings, Secrets, ::testing::ValuesIn<Row>({
    {"AdoNet", "Server=db;User Id=sa;Password=p@ss,w)rd&1;Database=x", "Server=db;User Id=sa;Password=***;Database=x"},
    {"AdoNetPwd", "server=db;uid=sa;pwd=hunter2;", "server=db;uid=sa;pwd=***;"},
    {"ServiceBus", "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=Zm9vYmFyMTIz+/=;EntityPath=q",
                   "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=***;EntityPath=q"},
    {"AzureStorage", "AccountName=acc;AccountKey=abcd1234/+==;EndpointSuffix=core.windows.net", "AccountName=acc;AccountKey=***;EndpointSuffix=core.windows.net"},
    {"Redis", "redis:6380,password=abc=,ssl=True,abortConnect=False", "redis:6380,password=***,ssl=True,abortConnect=False"},
    {"Libpq", "host=db port=5432 user=app password=s3cret dbname=x", "host=db port=5432 user=app password=*** dbname=x"},
    {"LibpqQuoted", "user=app password='s3 cret' dbname=x", "user=app password='***' dbname=x"},
    {"Jaas", R"(PlainLoginModule required username="app" password="s3cret";)", R"(PlainLoginModule required username="app" password="***";)"},
    {"Properties", "spring.datasource.password=s3cret", "spring.datasource.password=***"},
    {"Environment", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=***"},
    {"SentenceEnd", "cannot connect with password=hunter2. Giving up", "cannot connect with password=***. Giving up"},
    {"Spaced", "password = hunter2", "password = ***"},
    {"CommandLine", "mysqldump --password hunter2 --host db", "mysqldump --password *** --host db"},
    {"CommandLineJoined", "tool --api-key=abc --verbose", "tool --api-key=*** --verbose"},
    {"Sql", "CREATE USER bob IDENTIFIED BY 'hunter2' REQUIRE SSL", "CREATE USER bob IDENTIFIED BY '***' REQUIRE SSL"},
    {"SqlPassword", "ALTER ROLE bob PASSWORD 'hunter2'", "ALTER ROLE bob PASSWORD '***'"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Urls, Secrets, ::testing::ValuesIn<Row>({
    {"UserAndPassword", "cannot reach amqp://guest:guest@mq:5672/vhost now", "cannot reach amqp://***@mq:5672/vhost now"},
    {"TokenAsUser", "git clone https://" + github + "@github.com/a/b", "git clone https://***@github.com/a/b"},
    {"PasswordOnly", "redis://:hunter2@cache:6379", "redis://***@cache:6379"},
    {"AtInPassword", "postgres://u:p@ss@db/x", "postgres://***@db/x"},
    {"SlashInPassword", "postgres://u:p/ss@db/x", "postgres://***@db/x"},
    {"Several", "mongodb://u:p@a,b://x:y@c", "mongodb://***@a,b://***@c"},
    {"QueryString", "GET https://x/y?user=bob&token=abc123def456&page=2 failed", "GET https://x/y?user=bob&token=***&page=2 failed"},
    {"SasSignature", "https://a.blob.core.windows.net/c?sv=2022&sig=aB3%2Fx9Q%3D&se=2026", "https://a.blob.core.windows.net/c?sv=2022&sig=***&se=2026"},
    {"GoDriver", "dial ann:h4nter2x@tcp(db:3306)/x failed", "dial ann:***@tcp(db:3306)/x failed"},
    {"GoDriverSigns", "dsn=\"ann:p@s:s/w@unix(/run/db)/x\"", "dsn=\"ann:***@unix(/run/db)/x\""},
    {"NoScheme", "cannot dial ann:h4nter2x@db.example.com/x now", "cannot dial ann:***@db.example.com/x now"},
    {"NoSchemeWithPort", "dsn=ann:p@ss!word@db.example.com:5432", "dsn=ann:***@db.example.com:5432"},
    {"SlackWebhook", "POST https://hooks.slack.com/services/T00000000/B00000000/abcdEFGH1234567890abcdEF failed", "POST https://hooks.slack.com/services/*** failed"},
    {"DiscordWebhook", "\"https://discord.com/api/webhooks/4711/horse-battery_staple\".", "\"https://discord.com/api/webhooks/***\"."},
    {"Encoded", "next=https%3A%2F%2Fx%3Fpassword%3Dhunter2%26a%3D1", "next=https%3A%2F%2Fx%3Fpassword%3D***%26a%3D1"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Headers, Secrets, ::testing::ValuesIn<Row>({
    {"Bearer", "401 for Authorization: Bearer abc123def456.ghi; retry in 5 s", "401 for Authorization: Bearer ***; retry in 5 s"},
    {"Basic", "Authorization: Basic QWxhZGRpbjpvcGVu", "Authorization: Basic ***"},
    {"BearerOfLetters", "Authorization: Bearer mfXqLwpZtrYsKdQvBnHg", "Authorization: Bearer ***"},
    {"BearerOfFewLetters", "Authorization: Bearer mfXqLwpZtrYsKdQa", "Authorization: Bearer ***"},
    {"Token", "Authorization: Token horse\r\nAccept: */*", "Authorization: Token ***\r\nAccept: */*"},
    {"TokenMixed", "Authorization: Token mfXqLw was refused", "Authorization: Token *** was refused"},
    {"ApiKeyScheme", "Authorization: ApiKey horse", "Authorization: ApiKey ***"},
    {"RareScheme", "Authorization: SSWS horse", "Authorization: SSWS ***"},
    {"NoSchemeLetters", "Authorization: mfXqLwpZtrYsKdQa", "Authorization: ***"},
    {"NoSchemeSmallLetters", "authorization=mfxqlwpztryskdqabn", "authorization=***"},
    {"ProxyToken", "Proxy-Authorization: Token horse", "Proxy-Authorization: Token ***"},
    {"BearerAlone", "sent 'Bearer 0123456789abcdef' to x", "sent 'Bearer ***' to x"},
    {"Curl", R"(curl -H "Authorization: Bearer tok3n-abcdefg" https://x)", R"(curl -H "Authorization: Bearer ***" https://x)"},
    {"Digest", "Authorization: Digest username=\"u\", response=\"6629fae4\"\nnext", "Authorization: Digest ***\nnext"},
    {"Aws4", "Authorization: AWS4-HMAC-SHA256 Credential=" + aws + "/x, Signature=fe5f80", "Authorization: AWS4-HMAC-SHA256 ***"},
    {"BareToken", "authorization=5f4dcc3b5aa765d61d83", "authorization=***"},
    {"JsonHeader", R"({"Authorization":"Bearer abcdef123456","Accept":"*/*"})", R"({"Authorization":"Bearer ***","Accept":"*/*"})"},
    {"ApiKeyHeader", "X-Api-Key: abcdef\r\nAccept: */*", "X-Api-Key: ***\r\nAccept: */*"},
    {"Spoken", "authorization header was Bearer abcdefgh", "authorization header was Bearer ***"},
    {"SpokenWithSign", "the Authorization header: 'Bearer abcdefghij' is wrong", "the Authorization header: 'Bearer ***' is wrong"},
    {"Cookie", "Cookie: sid=abc; theme=dark\r\nHost: x", "Cookie: sid=***; theme=***\r\nHost: x"},
    {"SetCookie", "Set-Cookie: sid=abc; Path=/; HttpOnly; Secure", "Set-Cookie: sid=***; Path=/; HttpOnly; Secure"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Structures, Secrets, ::testing::ValuesIn<Row>({
    {"Json", R"({"user":"bob","password": "hunter2","n":1})", R"({"user":"bob","password": "***","n":1})"},
    {"JsonEscapedQuote", R"({"password":"a\"b","n":1})", R"({"password":"***","n":1})"},
    {"JsonInJson", R"({"body":"{\"password\":\"hunter2\",\"n\":1}"})", R"({"body":"{\"password\":\"***\",\"n\":1}"})"},
    {"JsonNumber", R"({"password": 123456})", R"({"password": ***})"},
    {"JsonCutOff", R"({"clientSecret":"abc)", R"({"clientSecret":"***)"},
    {"CamelCase", R"({"dbPassword":"x"})", R"({"dbPassword":"***"})"},
    {"Python", "Config(user='bob', password='hunter2')", "Config(user='bob', password='***')"},
    {"Ruby", R"({:password=>"hunter2", :id=>1})", R"({:password=>"***", :id=>1})"},
    {"Go", "{User:bob Password:hunter2 Port:1}", "{User:bob Password:*** Port:1}"},
    {"GoMap", "map[password:hunter2 user:bob]", "map[password:*** user:bob]"},
    {"Yaml", "user: bob\npassword: hunter2\nport: 1", "user: bob\npassword: ***\nport: 1"},
    {"Xml", "<user>bob</user><password>hunter2</password>", "<user>bob</user><password>***</password>"},
    {"XmlPrefix", "<wsse:Password>h4nter2x</wsse:Password>", "<wsse:Password>***</wsse:Password>"},
    {"XmlWithAttributes", R"(<Password Type="http://x/#PasswordText">horse</Password>)", R"(<Password Type="http://x/#PasswordText">***</Password>)"},
    {"XmlPrefixWithAttributes", R"(<wsse:Password Type="a" Id="b">horse battery</wsse:Password>)", R"(<wsse:Password Type="a" Id="b">***</wsse:Password>)"},
    {"XmlAttributesToo", R"(<secret password="horse">battery</secret>)", R"(<secret password="***">***</secret>)"},
    {"XmlRaw", "<Password><![CDATA[h4nter2x]]></Password>", "<Password><![CDATA[***]]></Password>"},
    {"XmlRawWithAttributes", R"(<Password Type="x"><![CDATA[a<b]c]]></Password>)", R"(<Password Type="x"><![CDATA[***]]></Password>)"},
    {"XmlLines", "<Password>\n  horse\n</Password>", "<Password>\n  ***</Password>"},
    {"XmlAttribute", R"(<db password="hunter2" user="bob"/>)", R"(<db password="***" user="bob"/>)"},
    {"Nested", R"({"secret":{"password":"x","name":"n"}})", R"({"secret":{"password":"***","name":"n"}})"},
    {"SessionToken", R"({"access_token":"2YotnFZFEjr1zCsicMWpAA"})", R"({"access_token":"***"})"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Tokens, Secrets, ::testing::ValuesIn<Row>({
    {"Access", "POST /x?access_token=mfXqLwpZtrYsKd&page=2", "POST /x?access_token=***&page=2"},
    {"Refresh", R"({"refresh_token":"horse","n":1})", R"({"refresh_token":"***","n":1})"},
    {"Id", "id_token=mfXqLwpZtrYsKd", "id_token=***"},
    {"Session", "session_token=horse-battery-staple, user=bob", "session_token=***, user=bob"},
    {"Api", "api_token: mfXqLwpZtrYsKdmfXqLwpZtrY", "api_token: ***"},
    {"Header", "x-auth-token: horse\r\nAccept: */*", "x-auth-token: ***\r\nAccept: */*"},
    {"Vault", "X-Vault-Token: s.mfXqLwpZtrYsKd", "X-Vault-Token: ***"},
    {"CamelCase", "{accessToken=horse, user=bob}", "{accessToken=***, user=bob}"},
    {"BehindAScheme", "x-auth-token: Bearer horse\r\nx", "x-auth-token: Bearer ***\r\nx"},
    {"CapitalsInFront", "CSRFToken=horse", "CSRFToken=***"},
    {"Capitals", "export GITHUB_TOKEN=horse", "export GITHUB_TOKEN=***"},
    {"InOneWord", "accesstoken=horse", "accesstoken=***"},
    {"Jwt", "jwt=abc123def, n=1", "jwt=***, n=1"},
    {"PersonalAccess", "export GITHUB_PAT=abc123def456", "export GITHUB_PAT=***"},
    {"Dotted", "vault.token=horse", "vault.token=***"},
    {"DottedYaml", "spring.cloud.vault.token: horse", "spring.cloud.vault.token: ***"},
    {"Flag", "tool --auth-token horse --verbose", "tool --auth-token *** --verbose"},
    {"FlagOfOneWord", "tool --token=horse --verbose", "tool --token=*** --verbose"},
    {"Credential", "db_credential=horse", "db_credential=***"},
    {"Credentials", R"({"awsCredentials":"horse"})", R"({"awsCredentials":"***"})"},
    {"OneQuotedWordIsAValue", R"({"access_token":"expired"})", R"({"access_token":"***"})"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Sessions, Secrets, ::testing::ValuesIn<Row>({
    {"WithoutDigits", "GET /x?session_id=mfXqLwpZtrYsKd&page=2", "GET /x?session_id=***&page=2"},
    {"InOneWord", "sessionid=mfXqLwpZtrYsKd", "sessionid=***"},
    {"CamelCase", R"({"sessionId":"horse-battery","n":1})", R"({"sessionId":"***","n":1})"},
    {"Java", "/cart;JSESSIONID=mfXqLwpZtrYsKd?x", "/cart;JSESSIONID=***"},
    {"Digits", "session_id: 4711081512341234", "session_id: ***"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Passes, Secrets, ::testing::ValuesIn<Row>({
    {"OfADatabase", "db_host=db db_pass=horse db_port=1", "db_host=db db_pass=*** db_port=1"},
    {"Capitals", "export DB_PASS=horse", "export DB_PASS=***"},
    {"CamelCase", R"({"smtpPass":"horse"})", R"({"smtpPass":"***"})"},
    {"Dotted", "spring.mail.pass=horse", "spring.mail.pass=***"},
    {"Yaml", "root-pass: horse\nport: 1", "root-pass: ***\nport: 1"},
    {"InOneWord", "dbpass=horse", "dbpass=***"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Sentences, Secrets, ::testing::ValuesIn<Row>({
    {"Digits", "the passphrase is hunter2, try it", "the passphrase is ***, try it"},
    {"Quoted", "passphrase is 'correct horse' here", "passphrase is '***' here"},
    {"MixedCase", "Your password is mfXqLw.", "Your password is ***."},
    {"Symbols", "password is horse!battery", "password is ***"},
    {"WithDashes", "secret is horse-9-battery and more", "secret is *** and more"},
    {"QuotedToken", R"(token "abc123def456" expired)", R"(token "***" expired)"},
    {"QuotedTokenOfAnOwner", "the access_token 'abc123def456' is unknown", "the access_token '***' is unknown"},
    {"QuotedPassword", R"(password "h4nter2x" was rejected)", R"(password "***" was rejected)"},
    {"ApiKeyProvided", "Incorrect API key provided: abc123def456. You can find yours", "Incorrect API key provided: ***. You can find yours"},
    {"ApiKeyWithSign", "invalid API key: abc123def", "invalid API key: ***"},
    {"ApiKeyQuoted", R"(api key "h4nter2x" is unknown)", R"(api key "***" is unknown)"},
    {"ApiKeyBare", "API key abc123def456 is disabled", "API key *** is disabled"},
    {"PasswordProvided", "wrong password provided: h4nter2x", "wrong password provided: ***"},
    {"Arrow", "password -> h4nter2x, user -> ann", "password -> ***, user -> ann"},
    {"Bracket", "ldap bind password [h4nter2x] refused", "ldap bind password [***] refused"},
    {"OfAUser", "Password for user ann: h4nter2x", "Password for user ann: ***"},
    {"OfAQuotedUser", R"(wrong password for "ann": h4nter2x)", R"(wrong password for "ann": ***)"},
    {"NextLine", "password =\n h4nter2x\nport = 1", "password =\n ***\nport = 1"},
    {"NextLineOfYaml", "password:\r\n  h4nter2x", "password:\r\n  ***"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Commands, Secrets, ::testing::ValuesIn<Row>({
    {"Curl", "curl -s -u bob:hunter https://x/y failed", "curl -s -u bob:*** https://x/y failed"},
    {"CurlQuoted", "curl -u 'bob:a b' https://x", "curl -u 'bob:***' https://x"},
    {"CurlLong", "/usr/bin/curl --user bob:hunter https://x", "/usr/bin/curl --user bob:*** https://x"},
    {"Sshpass", "sshpass -p h4nter2x ssh bob@db", "sshpass -p *** ssh bob@db"},
    {"SshpassWord", "sshpass -p horse ssh bob@db", "sshpass -p *** ssh bob@db"},
    {"SshpassQuoted", "sshpass -p 'correct horse' ssh db", "sshpass -p '***' ssh db"},
    {"SshpassJoined", "/usr/bin/sshpass -phorse ssh db", "/usr/bin/sshpass -p*** ssh db"},
    {"Mysql", "mysql -u root -ph4nter2x orders", "mysql -u root -p*** orders"},
    {"MysqlWord", "mysqldump -psecret! orders", "mysqldump -p*** orders"},
    {"MysqlQuoted", "mysql -p'a b' orders", "mysql -p'***' orders"},
    {"Mongo", "mongosh -u bob -p horse db", "mongosh -u bob -p *** db"},
    {"Redis", "redis-cli -h cache -a horse ping", "redis-cli -h cache -a *** ping"},
    {"CurlJoined", "curl --proxy-user=bob:hunter https://x", "curl --proxy-user=bob:*** https://x"},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Keys, Secrets, ::testing::ValuesIn<Row>({
    {"Jwt", "invalid jwt " + jwt + ", expired", "invalid jwt ***, expired"},
    {"AwsKey", "The key " + aws + " is disabled", "The key *** is disabled"},
    {"GitHub", "remote rejected " + github, "remote rejected ***"},
    {"Slack", std::string("xoxb-") + "123456789012-abcdefABCDEF", "***"},
    {"Stripe", "key (" + std::string("sk_live_") + "4eC39HqLyjWDarjtT1zdp7dc)", "key (***)"},
    {"Pem", "key:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc=\n-----END RSA PRIVATE KEY-----\nend",
            "key:\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nend"},
    {"PemEscaped", R"(x\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n)",
                   R"(x\n-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----\n)"},
    {"PemCutOff", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcw", "-----BEGIN PRIVATE KEY-----\n***"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Redact, KeepsBytesThatAreNoText) {
  using std::string_literals::operator""s;
  EXPECT_EQ(redact("\0\xff\xfe password=\xc3\x28 \0!"s), "\0\xff\xfe password=*** \0!"s);
}

TEST(Redact, CoversWhateverAFailureSays) {  // R26
  Failure failure;
  failure.type = "password=x";
  failure.code = "token=abc12345";
  failure.text = "password=x";
  failure.stack = "at f(password=x)";
  failure.causes = {{"pwd=x", "pwd=x"}, {"", "secret=y"}};
  redact(failure);
  EXPECT_EQ(failure.text, "password=***");
  EXPECT_EQ(failure.stack, "at f(password=***)");
  EXPECT_EQ(failure.causes[0].text, "pwd=***");
  EXPECT_EQ(failure.causes[1].text, "secret=***");
  EXPECT_EQ(failure.type, "password=***");
  EXPECT_EQ(failure.causes[0].type, "pwd=***");
  EXPECT_EQ(failure.code, "token=***");
}

/// Text made of the pieces the scanner reacts to: random bytes alone would never meet them.
std::string gen_text() {
  static const std::vector<std::string> pieces = {"password",
                                                  "pwd",
                                                  "token",
                                                  "Authorization",
                                                  "Bearer",
                                                  "Basic",
                                                  "Digest",
                                                  "Cookie",
                                                  "--secret",
                                                  "=",
                                                  ":",
                                                  "=>",
                                                  "%3D",
                                                  "%26",
                                                  "\"",
                                                  "\\\"",
                                                  "\\",
                                                  "'",
                                                  "`",
                                                  " ",
                                                  "\t",
                                                  "\n",
                                                  ";",
                                                  ",",
                                                  "&",
                                                  "@",
                                                  "://",
                                                  "/",
                                                  "<",
                                                  ">",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "(",
                                                  ")",
                                                  ".",
                                                  "***",
                                                  "*",
                                                  "eyJhbGciOi1",
                                                  "abc123def",
                                                  "AKIA",
                                                  "IOSFODNN7EXAMPLE",
                                                  "-----BEGIN PRIVATE KEY-----",
                                                  "-----END PRIVATE KEY-----",
                                                  "-----",
                                                  "-",
                                                  "MIIEvQIBADANBgkqhkiG",
                                                  "null",
                                                  "must",
                                                  "IDENTIFIED BY ",
                                                  "a",
                                                  "B",
                                                  "7",
                                                  "http",
                                                  "ghp_",
                                                  std::string(36, 'q'),
                                                  std::string(1, '\0'),
                                                  "\xff",
                                                  "\xc3\xa9",
                                                  "Path",
                                                  "<x:",
                                                  "api ",
                                                  "key",
                                                  " provided",
                                                  "sshpass ",
                                                  "mysql ",
                                                  "-p",
                                                  "@tcp(",
                                                  "@db.example.com/",
                                                  "<![CDATA[",
                                                  "]]>",
                                                  " -> ",
                                                  " for ",
                                                  " header was ",
                                                  "://hooks.slack.com/services/",
                                                  "Token ",
                                                  "user",
                                                  "sig",
                                                  "#",
                                                  "?"};
  std::string text;
  const auto picks = *rc::gen::container<std::vector<std::size_t>>(
      rc::gen::inRange<std::size_t>(0, pieces.size()));
  for (const std::size_t pick : picks) text += pieces[pick];
  return text;
}

TEST(Redact, IsIdempotentAndNeverGrowsByMoreThanItsMarks) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = gen_text();
    const std::string once = redact(text);
    RC_ASSERT(redact(once) == once);
    RC_ASSERT(once.size() <= text.size() * 3 + 3);
  }));
}

TEST(Redact, IsTotalOnRandomBytes) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const std::string once = redact(text);
    RC_ASSERT(redact(once) == once);
  }));
}

TEST(Redact, DoesNotTakeQuadraticTimeOnTextMadeToAnnoyIt) {
  // Each would make a scanner that searches ahead from every place take minutes; it takes
  // milliseconds. The bound in between holds on the slowest machine.
  for (const std::string piece : {"-----BEGIN PRIVATE KEY-----",
                                  "password=a,",
                                  "a://b:c/",
                                  "pwd=\"",
                                  "eyJhbGciOiJ.",
                                  "Cookie: a=b; ",
                                  "\\\"",
                                  "password:'",
                                  "-",
                                  "token=",
                                  "a.token=",
                                  "Authorization: Digest ",
                                  "<password>",
                                  "<password a=b>",
                                  "x:password ",
                                  "mysql -p",
                                  "sshpass -p ",
                                  "a:b@tcp(",
                                  "@tcp(",
                                  "a:b1234@c.de/",
                                  "@c.de/",
                                  "password for a",
                                  "<password><![CDATA[",
                                  "://hooks.slack.com/services/",
                                  "authorization header was Bearer ",
                                  "api key ",
                                  "token \"",
                                  "password\n",
                                  "password:\n",
                                  "password provided: ",
                                  "Pwd={",
                                  "oracle:thin:",
                                  "oracle:thin:a/b",
                                  "sqlplus a/",
                                  "SG.",
                                  "SG.a.",
                                  "card 4111 1111 ",
                                  "pin=1",
                                  "AUTH PLAIN ",
                                  "password: |\n",
                                  "password: |\n  ",
                                  "password: |\n  a\n b"}) {
    std::string text;
    while (text.size() < 1'500'000) text += piece;
    const std::clock_t began = std::clock();  // our own time, however busy the machine is
    EXPECT_LE(redact(text).size(), text.size() * 2 + 3);
    EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC) << piece;
  }
}

}  // namespace
}  // namespace dlo
