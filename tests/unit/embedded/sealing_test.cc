#include "dlo/broker/sealing.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/broker/embedded/queue_check.h"
#include "dlo/vault/vault.h"

namespace dlo::testing {
namespace {

const TimePoint noon{Millis{1'750'000'000'000}};

std::shared_ptr<const Sealer> sealer(std::uint8_t seed) {
  KeyDraw draw;
  draw.id.fill(seed);
  draw.secret.fill(seed);
  const KeyRing ring{{master_key(draw)}};
  const std::vector<WrappedKey> keys{must(new_data_key(ring.keys.front(), 1, TimePoint{}, draw))};
  return std::make_shared<const Vault>(must(Vault::open(ring, keys)));
}

Publication message(const std::string& id) {
  Message message;
  message.id = id;
  message.payload = "secret payload of " + id;
  message.headers = {{"tenant", "secret tenant"}};
  Publication out;
  out.message = std::make_shared<const Message>(message);
  return out;
}

/// Queues in a directory, with a key or without.
struct Place {
  Place(const std::string& path, std::shared_ptr<const Sealer> with) {
    EmbeddedOptions options;
    options.sealer = std::move(with);
    queues = must(EmbeddedQueues::open(path, noon, options));
    SourceOptions named;
    named.source = "orders";
    queue = must(queues->declare(named, true));
  }
  std::vector<Delivery> receive() {
    ReceiveRequest request;
    request.limit = 10;
    request.lease_for = Millis{30'000};
    return must(queue->receive(request, noon));
  }
  std::unique_ptr<EmbeddedQueues> queues;
  std::unique_ptr<EmbeddedQueue> queue;
};

std::string all_bytes(const std::string& directory) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(in), {});
  }
  return all;
}

void work(Place& place) {
  must(place.queue->publish(std::vector<Publication>{message("1"), message("2")}, noon));
  const auto taken = place.receive();
  Failed failed;
  failed.again_at = noon;
  failed.error = "secret error";
  failed.trail = "secret trail";
  const std::vector<Settlement> settlements{
      {taken.front().lease, failed}, {taken.back().lease, DeadLettered{false, "secret end"}}};
  must(place.queue->settle(settlements, noon));
}

TEST(SealedQueue, NothingSecretStandsInItsFilesAndEverythingComesBack) {
  const TemporaryDirectory directory;
  {
    Place place(directory.path(), sealer(1));
    work(place);
    must(place.queues->close());
  }
  EXPECT_EQ(all_bytes(directory.path()).find("secret"), std::string::npos);
  Place place(directory.path(), sealer(1));
  EXPECT_EQ(must(place.queue->peek(1)).front()->payload, "secret payload of 1");
  const auto again = place.receive();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again.front().message->payload, message("1").message->payload);
  EXPECT_EQ(again.front().message->headers, message("1").message->headers);
  EXPECT_EQ(again.front().last_error, "secret error");
  EXPECT_EQ(again.front().trail, "secret trail");
  const auto dead = must(place.queue->dead_letters(10));
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead.front().message->payload, "secret payload of 2");
  EXPECT_EQ(dead.front().error, "secret end");
}

TEST(SealedQueue, AnAbandonIsSealedAsAFailureIs) {
  const TemporaryDirectory directory;
  {
    Place place(directory.path(), sealer(1));
    must(place.queue->publish(std::vector<Publication>{message("1")}, noon));
    const Settlement abandoned{place.receive().front().lease,
                               Abandoned{true, noon, "secret error", "secret trail"}};
    must(place.queue->settle({&abandoned, 1}, noon));
    must(place.queues->close());
  }
  EXPECT_EQ(all_bytes(directory.path()).find("secret"), std::string::npos);
  Place place(directory.path(), sealer(1));
  const auto again = place.receive();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again.front().last_error, "secret error");
  EXPECT_EQ(again.front().trail, "secret trail");
}

TEST(SealedQueue, WithoutAKeyAllOfItStandsThere) {
  const TemporaryDirectory directory;
  {
    Place place(directory.path(), nullptr);
    work(place);
    must(place.queues->close());
  }
  const std::string all = all_bytes(directory.path());
  for (const char* each : {"secret payload", "secret tenant", "secret error", "secret trail"}) {
    EXPECT_NE(all.find(each), std::string::npos) << each;
  }
}

TEST(SealedQueue, WhatWasThereBeforeTheKeyIsHandedOut) {
  const TemporaryDirectory directory;
  {
    Place place(directory.path(), nullptr);
    work(place);
  }
  Place place(directory.path(), sealer(1));
  const auto again = place.receive();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again.front().message->payload, "secret payload of 1");
  EXPECT_EQ(again.front().last_error, "secret error");
}

TEST(SealedQueue, WhatDoesNotOpenIsUndecodableAndBlocksNobody) {
  const TemporaryDirectory directory;
  {
    Place place(directory.path(), sealer(1));
    must(place.queue->publish(std::vector<Publication>{message("1")}, noon));
  }
  Place place(directory.path(), sealer(2));
  must(place.queue->publish(std::vector<Publication>{message("2")}, noon));
  const auto taken = place.receive();
  ASSERT_EQ(taken.size(), 2U);
  ASSERT_TRUE(taken.front().undecodable);
  EXPECT_THAT(taken.front().undecodable->text, ::testing::HasSubstr("0101010101010101"));
  EXPECT_FALSE(taken.back().undecodable);
}

TEST(SealedQueue, ABodyDoesNotOpenAsAnotherMessages) {
  const auto keys = sealer(1);
  auto sealed = must(queued::seal(*keys, std::vector<Publication>{message("1"), message("2")}));
  Message swapped = *sealed.front().message;
  swapped.payload = sealed.back().message->payload;
  EXPECT_FALSE(queued::open(*keys, std::make_shared<const Message>(swapped)));
  EXPECT_TRUE(queued::open(*keys, sealed.front().message));
}

}  // namespace
}  // namespace dlo::testing
