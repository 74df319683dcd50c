#include "dlo/store/sealed/sealed_office.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "support/must.h"

#include "dlo/store/memory/memory_office.h"
#include "dlo/store/sealed/key_book.h"

namespace dlo {
namespace {

using ::testing::HasSubstr;
using testing::must;

const TimePoint noon{Millis{1'750'000'000'000}};

KeyDraw draw(std::uint8_t seed) {
  KeyDraw drawn;
  drawn.id.fill(seed);
  drawn.secret.fill(static_cast<std::uint8_t>(seed + 1));
  drawn.nonce.fill(static_cast<std::uint8_t>(seed + 2));
  return drawn;
}
const KeyRing one_key{{master_key(draw(1))}};
const KeyRing two_keys{{master_key(draw(1)), master_key(draw(2))}};

VaultRequest with(const KeyRing* ring, std::uint8_t seed = 10) {
  VaultRequest request;
  request.ring = ring;
  request.now = noon;
  request.draw = [seed] { return draw(seed); };
  return request;
}

DeadLetter a_letter() {
  DeadLetter letter;
  letter.id = RecordId{{1, 2}};
  Message message;
  message.id = "m-1";
  message.source = "orders";
  message.headers = {{"tenant", "secret tenant"}};
  message.payload = R"({"order":{"id":"secret id"}})";
  letter.message = std::make_shared<const Message>(message);
  letter.metadata = R"({"a":"secret metadata"})";
  letter.failure.text = "refused";
  letter.failure.stack = "at secret()";
  letter.died_at = noon;
  return letter;
}

Change append_of(const DeadLetter& letter) {
  Attempt attempt;
  attempt.number = 1;
  attempt.error_text = "secret attempt";
  return Append{std::make_shared<const DeadLetter>(letter), {attempt}};
}

/// An office behind a vault, and the same without it.
struct Pair {
  std::shared_ptr<MemoryOffice> inner = std::make_shared<MemoryOffice>();
  std::shared_ptr<const Vault> vault =
      std::make_shared<const Vault>(*must(open_vault(*inner, with(&one_key))));
  SealedOffice office{inner, vault, {must(FieldPath::parse("body.order.id"))}};

  std::vector<Applied> apply(const Change& change) { return must(office.apply({&change, 1})); }
};

TEST(SealedOffice, TheOfficeBehindSeesNothingOfWhatIsSecret) {  // S2-49: metadata, task, errors
  Pair pair;
  pair.apply(append_of(a_letter()));
  AddVersion edit;
  edit.id = a_letter().id;
  edit.expected_version = 1;
  edit.headers = {{"tenant", "secret edit"}};
  edit.payload = "secret version";
  pair.apply(edit);
  pair.apply(PutDocument{"note", "1", "secret document", std::nullopt});
  const RecordDetail kept = must(pair.inner->get(a_letter().id));
  std::string all =
      kept.record.metadata + kept.record.failure.stack + *kept.record.message->payload;
  for (const Header& header : kept.record.message->headers) all += header.name + header.value;
  for (const Attempt& attempt : kept.attempts) all += attempt.error_text;
  for (const Version& version : kept.versions) {
    all += *version.payload;
    for (const Header& header : version.headers) all += header.name + header.value;
  }
  all += must(pair.inner->extras().ledger->document("note", "1"))->body;
  EXPECT_EQ(all.find("secret"), std::string::npos);
  EXPECT_TRUE(is_sealed_with(pair.vault->current(), kept));
  const RecordDetail seen = must(pair.office.get(a_letter().id));
  EXPECT_EQ(*seen.record.message, *a_letter().message);
  EXPECT_EQ(seen.attempts.front().error_text, "secret attempt");
  EXPECT_EQ(seen.versions.back().payload, "secret version");
  EXPECT_EQ(must(pair.office.extras().ledger->document("note", "1"))->body, "secret document");
}

TEST(SealedOffice, WhatWasPlainBeforeStaysReadable) {
  const auto inner = std::make_shared<MemoryOffice>();
  const Change plain = append_of(a_letter());
  must(inner->apply({&plain, 1}));
  const auto vault = std::make_shared<const Vault>(*must(open_vault(*inner, with(&one_key))));
  SealedOffice office(inner, vault);
  const RecordDetail seen = must(office.get(a_letter().id));
  EXPECT_EQ(*seen.record.message, *a_letter().message);
  EXPECT_FALSE(is_sealed_with(vault->current(), must(inner->get(a_letter().id))));
}

TEST(SealedOffice, AHeaderThatLooksLikeOursIsKept) {
  Pair pair;
  DeadLetter letter = a_letter();
  Message message = *letter.message;
  message.headers = {{"dlo-index:body./order/id", "mine"}, {"dlo-sealed", "mine too"}};
  letter.message = std::make_shared<const Message>(message);
  pair.apply(append_of(letter));
  EXPECT_EQ(must(pair.office.get(letter.id)).record.message->headers, message.headers);
}

Query where(Field field, std::string path, std::string value) {
  Query query;
  query.tests = {{field, std::move(path), {std::move(value)}, false}};
  return query;
}

TEST(SealedOffice, DeclaredPathsAreFoundByEqualityAndOthersAreRefusedWithTheReason) {
  Pair pair;
  pair.apply(append_of(a_letter()));
  EXPECT_EQ(must(pair.office.list(where(Field::body, "order.id", "secret id"))).rows.size(), 1U);
  EXPECT_EQ(must(pair.office.list(where(Field::body, "/order/id", "secret id"))).rows.size(), 1U);
  EXPECT_EQ(must(pair.office.list(where(Field::body, "order.id", "other"))).rows.size(), 0U);
  const auto other = pair.office.list(where(Field::header, "tenant", "secret tenant"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::invalid_argument);
  EXPECT_THAT(other.error().detail, HasSubstr("`header.tenant` cannot be searched"));
  EXPECT_THAT(other.error().detail, HasSubstr("vault.indexed"));
  Query words;
  words.payload_words = "secret";
  EXPECT_THAT(pair.office.list(words).error().detail, HasSubstr("no text index"));
  Query error;
  error.error_words = "refused";
  EXPECT_EQ(must(pair.office.list(error)).rows.size(), 1U) << "redacted text stays searchable";
}

TEST(SealedOffice, AClaimPassesOverWhatDoesNotOpenAndPutsItBeforePeople) {
  Pair pair;
  DeadLetter good = a_letter();
  good.status = Status::waiting;
  good.next_retry_at = noon;
  pair.apply(append_of(good));
  DeadLetter bad = good;
  bad.id = RecordId{{3, 4}};
  Message stolen = *must(pair.inner->get(good.id)).record.message;  // sealed for another record
  bad.message = std::make_shared<const Message>(stolen);
  const Change planted = append_of(bad);
  must(pair.inner->apply({&planted, 1}));
  const auto claims = must(pair.office.claim(10, noon, Millis{1'000}, ""));
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims.front().record.id, good.id);
  EXPECT_EQ(claims.front().record.message->payload, good.message->payload);
  const auto aside = must(pair.inner->get(bad.id)).record;
  EXPECT_EQ(aside.status, Status::pending);
  EXPECT_FALSE(aside.next_retry_at);
  EXPECT_THAT(aside.description, HasSubstr("does not open"));
}

TEST(KeyBook, APlainOfficeWithoutAKeyFileStaysPlain) {
  MemoryOffice office;
  EXPECT_FALSE(must(open_vault(office, with(nullptr))));
  VaultRequest looking = with(&one_key);
  looking.may_write = false;
  EXPECT_FALSE(must(open_vault(office, looking)));
  EXPECT_TRUE(must(read_data_keys(office)).empty());
}

TEST(KeyBook, TheFirstKeyIsMadeOnceAndAudited) {
  MemoryOffice office;
  const auto first = must(open_vault(office, with(&one_key)));
  const auto again = must(open_vault(office, with(&one_key, 20)));
  EXPECT_EQ(first->current(), again->current());
  const auto trail = must(office.extras().ledger->audit(0, 10));
  ASSERT_EQ(trail.size(), 1U);
  EXPECT_EQ(trail.front().act.act, "key.create");
}

TEST(KeyBook, AnEncryptedOfficeWithoutItsKeyIsRefusedByName) {
  MemoryOffice office;
  must(open_vault(office, with(&one_key)));
  const auto nothing = open_vault(office, with(nullptr));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::refused);
  EXPECT_THAT(nothing.error().detail, HasSubstr("0101010101010101"));
  const KeyRing other{{master_key(draw(3))}};
  const auto wrong = open_vault(office, with(&other));
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().detail, HasSubstr("0101010101010101"));
}

TEST(KeyBook, RewrappedTheOldMasterKeyIsNeededNoMore) {
  MemoryOffice office;
  const auto before = must(open_vault(office, with(&one_key)));
  EXPECT_EQ(must(rewrap_data_keys(office, with(&two_keys))), 1U);
  EXPECT_EQ(must(rewrap_data_keys(office, with(&two_keys))), 0U);
  const KeyRing newest{{master_key(draw(2))}};
  EXPECT_EQ(must(open_vault(office, with(&newest)))->current(), before->current());
}

TEST(KeyBook, ANewDataKeySealsAndTheOldOneStillOpens) {
  Pair pair;
  pair.apply(append_of(a_letter()));
  const KeyId added = must(add_data_key(*pair.inner, with(&one_key, 30)));
  const auto vault = std::make_shared<const Vault>(*must(open_vault(*pair.inner, with(&one_key))));
  EXPECT_EQ(vault->current(), added);
  SealedOffice office(pair.inner, vault, {must(FieldPath::parse("body.order.id"))});
  EXPECT_EQ(must(office.get(a_letter().id)).record.metadata, a_letter().metadata);
  EXPECT_EQ(must(office.list(where(Field::body, "order.id", "secret id"))).rows.size(), 1U)
      << "also by tokens of the older key";
}

}  // namespace
}  // namespace dlo
