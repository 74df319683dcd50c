// TLS towards a server that has a certificate of its own making.
#include <fstream>
#include <functional>

#include "support/certificate.h"
#include "support/temporary_directory.h"
#include "unit/rabbitmq/support.h"

namespace dlo::testing {
namespace {

/// A server that speaks TLS as "localhost", and wants to see certificates it knows.
struct SecureNode {
  TemporaryDirectory files;
  CertificateFiles server = make_certificate(files.path(), "localhost");
  CertificateFiles root = make_certificate(files.path(), "root", {}, true);
  CertificateFiles client = make_certificate(files.path(), "client", Authority::of(root));
  CertificateFiles stranger = make_certificate(files.path(), "stranger");
  RabbitNode node{config()};

  [[nodiscard]] std::string config() const {
    return "listeners.ssl.default = 127.0.0.1:@port@\n"
           "ssl_options.cacertfile = " +
           root.certificate + "\nssl_options.certfile = " + server.certificate +
           "\nssl_options.keyfile = " + server.key +
           "\nssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true";
  }
  [[nodiscard]] RabbitOptions options(const std::string& host = "localhost") const {
    RabbitOptions made;
    made.server.address = node.secure_address(host);
    made.server.tls = {server.certificate, client.certificate, client.key, true};
    made.queue = "q";
    made.kind = QueueKind::classic;
    return made;
  }
};

std::string why_not(const RabbitOptions& options) {
  const auto broker = must(RabbitBroker::open(options));
  std::string said;
  EXPECT_TRUE(eventually([&] {
    const auto answer = broker->receive({1, 1s, 0ms}, noon);
    said = answer ? "it works" : answer.error().detail;
    return said.find("TLS") != std::string::npos;
  })) << said;
  return said;
}

std::size_t take_all(Broker& broker) {
  std::size_t got = 0;
  const auto some = broker.receive({100, 1h, 1s}, noon);
  if (!some) return 0;
  for (const Delivery& each : *some) {
    EXPECT_EQ(each.message->payload->size(), 5'000U);
    const Settlement done{each.lease, Completed{}};
    EXPECT_EQ(must(broker.settle({&done, 1}, noon)).at(0).settled, Settled::done);
    ++got;
  }
  return got;
}

TEST(RabbitTlsTest, MessagesGoThroughAConnectionThatIsEncryptedAndComesBack) {
  std::unique_ptr<SecureNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<SecureNode>());
  const auto broker = must(RabbitBroker::open(node->options()));
  std::vector<Publication> sent;  // more than TLS has in one record
  for (int i = 0; i < 500; ++i) {
    Publication each;
    each.message = message_of("m-" + std::to_string(i), std::string(5'000, 'x'));
    sent.push_back(std::move(each));
  }
  for (int round = 0; round < 2; ++round) {
    std::string why;
    ASSERT_TRUE(eventually([&] {
      const auto published = broker->publish(sent, noon);
      if (!published) why = published.error().detail;
      return published.has_value();
    })) << why;
    std::size_t got = 0;
    ASSERT_TRUE(eventually([&] { return (got += take_all(*broker)) >= 500; })) << got;
    broker->cut();
  }
}

struct Refusal {
  const char* name;
  std::string host;
  std::function<void(RabbitTls&, const SecureNode&)> change;
  std::string said;
};

TEST(RabbitTlsTest, WhoeverIsNotBelievedIsToldWhyAndWhatToDo) {
  std::unique_ptr<SecureNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<SecureNode>());
  const auto plain = must(rabbitmq::parse_address(node->node.address()));
  const std::vector<Refusal> refusals = {
      {"a root that did not sign it", "localhost",
       [](RabbitTls& tls, const SecureNode& of) { tls.ca_file = of.stranger.certificate; },
       "rabbitmq.ca_file must hold the root"},
      {"roots of the system", "localhost",
       [](RabbitTls& tls, const SecureNode&) { tls.ca_file.clear(); },
       "name that root in rabbitmq.ca_file"},
      {"another name", "127.0.0.1", [](RabbitTls&, const SecureNode&) {},
       "made out for another name"},
      {"no certificate of ours", "localhost",
       [](RabbitTls& tls, const SecureNode&) { tls.certificate_file = tls.key_file = ""; },
       "rabbitmq.certificate_file"},
  };
  for (const Refusal& each : refusals) {
    auto options = node->options(each.host);
    each.change(options.server.tls, *node);
    const auto said = why_not(options);
    EXPECT_NE(said.find(each.said), std::string::npos) << each.name << ": " << said;
  }
  auto options = node->options();
  options.server.address = "amqps://guest:guest@localhost:" + std::to_string(plain.port) + "/";
  const auto said = why_not(options);
  EXPECT_NE(said.find("see whether that port speaks TLS"), std::string::npos) << said;
  options = node->options("127.0.0.1");
  options.server.tls.ca_file.clear();
  options.server.tls.verify = false;
  const auto anybody = must(RabbitBroker::open(options));
  EXPECT_TRUE(eventually([&] { return anybody->stats(noon).has_value(); })) << "asked for";
}

TEST(RabbitTlsFiles, ThatCannotBeUsedAreNamedBeforeAnythingStarts) {
  const TemporaryDirectory files;
  const auto mine = make_certificate(files.path(), "mine");
  const auto other = make_certificate(files.path(), "other");
  const std::string empty = files.path() + "/empty.pem";
  std::ofstream(empty) << "nothing\n";
  const auto said = [](const std::string& address, const RabbitTls& tls) {
    const auto answer = check(RabbitServer{address, 10s, 30s, tls});
    return answer ? std::string() : answer.error().detail;
  };
  const std::string secure = "amqps://localhost";
  EXPECT_EQ(said(secure, {}), "");
  EXPECT_EQ(said(secure, {mine.certificate, mine.certificate, mine.key, true}), "");
  EXPECT_NE(said(secure, {empty, "", "", true}).find("rabbitmq.ca_file"), std::string::npos);
  EXPECT_NE(said(secure, {"/none", "", "", true}).find("\"/none\""), std::string::npos);
  EXPECT_NE(said(secure, {"", empty, "", true}).find("rabbitmq.certificate_file"),
            std::string::npos);
  const auto wrong_key = said(secure, {"", mine.certificate, other.key, true});
  EXPECT_NE(wrong_key.find("key values mismatch"), std::string::npos) << wrong_key;
  EXPECT_NE(said(secure, {"", "", mine.key, true}).find("certificate_file"), std::string::npos);
  const auto plain = said("amqp://localhost", {mine.certificate, "", "", true});
  EXPECT_NE(plain.find("write amqps://"), std::string::npos) << plain;
  EXPECT_NE(said("amqp://localhost", {"", "", "", false}).find("amqps://"), std::string::npos);
}

}  // namespace
}  // namespace dlo::testing
