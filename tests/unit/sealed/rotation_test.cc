#include "dlo/store/sealed/rotation.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/store/sealed/key_book.h"
#include "dlo/store/sealed/sealed_office.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo {
namespace {

using testing::must;

const TimePoint noon{Millis{1'750'000'000'000}};

KeyDraw draw(std::uint8_t seed) {
  KeyDraw drawn;
  drawn.id.fill(seed);
  drawn.secret.fill(static_cast<std::uint8_t>(seed + 1));
  return drawn;
}
const KeyRing ring{{master_key(draw(1))}};

VaultRequest request(std::uint8_t seed) {
  VaultRequest wanted;
  wanted.ring = &ring;
  wanted.now = noon;
  wanted.draw = [seed] { return draw(seed); };
  return wanted;
}

RecordId id_of(std::uint64_t n) {
  return RecordId{{1, n}};
}

/// Three plain dead letters, each with attempts, the second one edited.
void fill(Office& office) {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 3; ++n) {
    Message message;
    message.id = std::to_string(n);
    message.source = "orders";
    message.payload = "zqsecret payload " + std::to_string(n);
    message.headers = {{"a", "zqsecret header"}};
    DeadLetter letter;
    letter.id = id_of(n);
    letter.message = std::make_shared<const Message>(message);
    letter.metadata = "\"zqsecret metadata\"";
    letter.died_at = noon;
    Attempt first;
    first.number = 1;
    first.error_text = "zqsecret first";
    Attempt second = first;
    second.number = 2;
    second.error_text = "zqsecret second";
    changes.emplace_back(Append{std::make_shared<const DeadLetter>(letter), {first, second}});
  }
  AddVersion edit;
  edit.id = id_of(2);
  edit.expected_version = 1;
  edit.payload = "zqsecret version";
  changes.emplace_back(edit);
  must(office.apply(changes));
}

std::string all_bytes(const std::string& directory) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(in), {});
  }
  return all;
}

TEST(Rotation, WhatWasPlainIsSealedInSlicesAndMeansTheSame) {
  const testing::TemporaryDirectory place;
  std::vector<RecordDetail> before;
  {
    const auto office = must(SqliteOffice::open(place.path()));
    fill(*office);
    for (std::uint64_t n = 1; n <= 3; ++n) before.push_back(must(office->get(id_of(n))));
    const Vault vault = *must(open_vault(*office, request(10)));
    const Rewritten first = must(seal_anew(*office, vault, {}, 0, 2));
    EXPECT_EQ(first.looked_at, 2U);
    EXPECT_EQ(first.written, 2U);
  }
  {
    // Killed after the first slice, it begins again: what is done is left alone.
    const auto office = must(SqliteOffice::open(place.path()));
    const Vault vault = *must(open_vault(*office, request(10)));
    const Rewritten all = must(seal_anew(*office, vault, {}, 0, 100));
    EXPECT_EQ(all.looked_at, 3U);
    EXPECT_EQ(all.written, 1U);
    EXPECT_EQ(must(seal_anew(*office, vault, {}, all.last, 100)).looked_at, 0U);
  }
  EXPECT_NE(all_bytes(place.path()).find("zqsecret"), std::string::npos) << "in free pages";
  ASSERT_TRUE(SqliteOffice::compact(place.path()));
  EXPECT_EQ(all_bytes(place.path()).find("zqsecret"), std::string::npos);

  std::shared_ptr<Office> inner = must(SqliteOffice::open(place.path()));
  const auto vault = std::make_shared<const Vault>(*must(open_vault(*inner, request(10))));
  SealedOffice office(inner, vault);
  for (const RecordDetail& was : before) {
    const RecordDetail is = must(office.get(was.record.id));
    EXPECT_EQ(*is.record.message, *was.record.message);
    EXPECT_EQ(is.record.metadata, was.record.metadata);
    EXPECT_EQ(is.record.version, was.record.version) << "nothing of it changed";
    EXPECT_EQ(is.record.change, was.record.change);
    EXPECT_EQ(is.attempts, was.attempts);
    ASSERT_EQ(is.versions.size(), was.versions.size());
    for (std::size_t i = 0; i < is.versions.size(); ++i) {
      EXPECT_EQ(is.versions[i].payload, was.versions[i].payload);
    }
  }
}

TEST(Rotation, WithANewDataKeyEverythingComesUnderIt) {
  const testing::TemporaryDirectory place;
  std::shared_ptr<SqliteOffice> inner = must(SqliteOffice::open(place.path()));
  {
    const auto vault = std::make_shared<const Vault>(*must(open_vault(*inner, request(10))));
    SealedOffice office(inner, vault);
    fill(office);
  }
  must(add_data_key(*inner, request(20)));
  const std::vector<FieldPath> indexed{must(FieldPath::parse("header.a"))};
  const auto vault = std::make_shared<const Vault>(*must(open_vault(*inner, request(20))));
  EXPECT_EQ(must(seal_anew(*inner, *vault, indexed, 0, 100)).written, 3U);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    EXPECT_TRUE(is_sealed_with(vault->current(), must(inner->get(id_of(n))))) << n;
  }
  SealedOffice office(inner, vault, indexed);
  EXPECT_EQ(must(office.get(id_of(2))).versions.back().payload, "zqsecret version");
  Query query;
  query.tests = {{Field::header, "a", {"zqsecret header"}, false}};
  EXPECT_EQ(must(office.list(query)).rows.size(), 3U) << "declared paths are known from now on";
}

TEST(Rotation, WhatDoesNotOpenStopsItAndIsNamed) {
  const testing::TemporaryDirectory place;
  const auto office = must(SqliteOffice::open(place.path()));
  fill(*office);
  const Vault other = *must(open_vault(*office, request(10)));
  ASSERT_TRUE(seal_anew(*office, other, {}, 0, 100));
  KeyDraw drawn = draw(30);
  const std::vector<WrappedKey> keys{must(new_data_key(ring.keys.back(), 1, noon, drawn))};
  const Vault stranger = must(Vault::open(ring, keys));
  const auto refused = seal_anew(*office, stranger, {}, 0, 100);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("0a0a0a0a0a0a0a0a"), std::string::npos);
}

}  // namespace
}  // namespace dlo
