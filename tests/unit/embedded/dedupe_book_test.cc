// What is remembered of dedupe ids, against a map, and what it costs.
#include "dlo/broker/embedded/dedupe_book.h"

#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/must.h"

#include "dlo/broker/embedded/bytes.h"
#include "dlo/broker/embedded/id_generation.h"

namespace dlo::embedded {
namespace {

using namespace std::chrono_literals;
using testing::noon;

TEST(DedupeBook, RemembersExactlyAsLongAsItsWindow) {
  DedupeBook book(10s);
  const auto id = digest_of("once");
  EXPECT_EQ(book.find(id, noon), std::nullopt);
  book.remember(id, 17, noon);
  EXPECT_EQ(book.find(id, noon), 17U);
  EXPECT_EQ(book.find(id, noon + 10s - 1ms), 17U);
  EXPECT_EQ(book.find(id, noon + 10s), std::nullopt);
}

TEST(DedupeBook, AReplayThatIsSentAgainAfterALongStopIsKnown) {
  DedupeBook book(10s);
  const auto id = digest_of("dlo-replay-1");
  book.remember(id, 17, noon);
  const TimePoint opened = noon + 24h;
  book.opened(opened);
  const auto replay = DedupeBook::Whose::replay;
  EXPECT_EQ(book.find(id, opened, replay), 17U);
  EXPECT_EQ(book.find(id, opened), std::nullopt) << "an id of a sender means something else by now";
  book.remember(digest_of("another"), 18, opened + 5s);
  EXPECT_EQ(book.find(id, opened + 10s - 1ms, replay), 17U);
  EXPECT_EQ(book.find(id, opened + 10s, replay), std::nullopt);
  book.remember(digest_of("a third"), 19, opened + 10s);
  EXPECT_EQ(book.size(), 2U) << "what is too old is forgotten";
}

TEST(DedupeBook, AReplayIsRememberedNoLongerThanItsWindowWhereNothingStopped) {
  DedupeBook book(10s);
  book.opened(noon);
  const auto id = digest_of("dlo-replay-1");
  book.remember(id, 17, noon + 1s);
  EXPECT_EQ(book.find(id, noon + 11s - 1ms, DedupeBook::Whose::replay), 17U);
  EXPECT_EQ(book.find(id, noon + 11s, DedupeBook::Whose::replay), std::nullopt);
}

DedupeBook read_back(const DedupeBook& book, Millis window) {
  DedupeBook copy(window);
  for (const IdSnapshot& each : book.snapshots()) {
    for (std::size_t part = 0; part < each.parts.size();) {
      std::string bytes;
      ByteWriter out(bytes);
      DedupeBook::save(each, part, out);
      ByteReader in(bytes);
      EXPECT_TRUE(copy.load(in) && in.at_end());
    }
  }
  return copy;
}

TEST(DedupeBook, AgreesWithAMapWhateverTheTimes) {
  std::mt19937 random(5);
  for (const Millis window : {Millis{1}, Millis{7}, Millis{1000}, Millis{24h}}) {
    DedupeBook book(window);
    std::map<int, std::pair<TimePoint, std::uint64_t>> plain;
    TimePoint now = noon;
    for (std::uint64_t position = 1; position < 4000; ++position) {
      now += Millis{random() % (static_cast<unsigned>(window.count()) / 16 + 2)};
      const int id = static_cast<int>(random() % 300);
      const auto known = plain.find(id);
      const bool alive = known != plain.end() && known->second.first + window > now;
      const auto found = book.find(digest_of(std::to_string(id)), now);
      ASSERT_EQ(found.has_value(), alive);
      if (alive) {
        ASSERT_EQ(*found, known->second.second);
      } else {
        book.remember(digest_of(std::to_string(id)), position, now);
        plain[id] = {now, position};
      }
      if (position % 500 == 0) {  // as a checkpoint does
        book = read_back(book, window);
      }
    }
  }
}

IdDigest id_number(std::uint64_t i) {
  return {i * 0x9E3779B97F4A7C15ULL, static_cast<std::uint32_t>(i)};
}

double bytes_an_id(const DedupeBook& book) {
  return static_cast<double>(book.bytes()) / static_cast<double>(book.size());
}

TEST(DedupeBook, NeedsAtMost24BytesAnIdHoweverFastTheyCame) {
  for (const std::uint64_t spread : {0U, 3U}) {  // all at once, or within fifty minutes
    DedupeBook book(1h);
    for (std::uint64_t i = 0; i < 1'000'000; ++i) {
      book.remember(id_number(i), i * 1000, noon + Millis{i * spread});
      if (i > 100'000 && i % 10'007 == 0) {
        ASSERT_LE(bytes_an_id(book), 24.0) << "with " << i;
      }
    }
    EXPECT_EQ(book.size(), 1'000'000U);
    EXPECT_LE(bytes_an_id(book), 24.0);
    EXPECT_EQ(book.find(id_number(77'777), noon + Millis{77'777 * spread}), 77'777'000U);
    EXPECT_EQ(book.find(id_number(1'000'001), noon), std::nullopt);
  }
}

TEST(DedupeBook, FreesWhatIsTooOldAsNewOnesCome) {
  DedupeBook book(10s);
  for (std::uint64_t i = 0; i < 100'000; ++i) book.remember(id_number(i), i, noon);
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    book.remember(id_number(200'000 + i), 200'000 + i, noon + 10s);
  }
  EXPECT_EQ(book.size(), 2'000U);
  EXPECT_LE(bytes_an_id(book), 28.0);  // a few have pages that are not full
}

TEST(DedupeBook, ASnapshotIsOfItsMomentWhateverComesLater) {
  DedupeBook book(1h);
  const auto count = [](const std::vector<IdSnapshot>& snapshots) {
    std::uint64_t ids = 0;
    for (const auto& each : snapshots) {
      for (const auto& part : each.parts) ids += part.count;
    }
    return ids;
  };
  for (std::uint64_t i = 0; i < 5'000; ++i) book.remember(id_number(i), i, noon);
  const auto before = book.snapshots();
  for (std::uint64_t i = 5'000; i < 9'000; ++i) book.remember(id_number(i), i, noon);
  for (std::uint64_t i = 9'000; i < 20'000; ++i) book.remember(id_number(i), i, noon + 2h);
  EXPECT_EQ(count(before), 5'000U);
  EXPECT_EQ(before.front().parts.back().page->at(0).position / 5'000, 0U);
}

TEST(DedupeBook, ReadsBackWhatItWroteInPieces) {
  DedupeBook book(1h);
  for (std::uint64_t i = 0; i < 50'000; ++i) book.remember(id_number(i), i * 7, noon + Millis{i});
  const DedupeBook copy = read_back(book, 1h);
  ASSERT_EQ(copy.size(), book.size());
  for (std::uint64_t i = 0; i < 50'000; i += 499) {
    EXPECT_EQ(copy.find(id_number(i), noon + 1min), i * 7);
    EXPECT_EQ(copy.find(id_number(i), noon + 1h + Millis{i}), std::nullopt);
  }
}

TEST(DedupeBook, RefusesAPieceThatIsCutShort) {
  DedupeBook book(1h);
  for (std::uint64_t i = 0; i < 100; ++i) book.remember(id_number(i), i, noon);
  const auto snapshots = book.snapshots();
  std::string bytes;
  ByteWriter out(bytes);
  std::size_t part = 0;
  DedupeBook::save(snapshots.front(), part, out);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteReader in(std::string_view(bytes).substr(0, size));
    DedupeBook copy(1h);
    EXPECT_FALSE(copy.load(in) && in.at_end()) << size;
  }
}

TEST(DedupeBook, ReadsAPieceInAnyOrderAsVersionThreeWroteIt) {
  const std::uint32_t count = 2'000;
  std::string bytes;
  ByteWriter out(bytes);
  out.moment(noon);
  out.moment(noon + Millis{count});
  out.u64(100);
  out.number(count);
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::uint32_t i = n * 777 % count;
    const auto id = id_number(i);
    out.u32(static_cast<std::uint32_t>(id.high >> 32));
    out.u32(static_cast<std::uint32_t>(id.high));
    for (const auto value : {id.low, i * 1'000, i}) out.u32(value);
  }
  DedupeBook book(1h);
  ByteReader in(bytes);
  ASSERT_TRUE(book.load(in) && in.at_end());
  for (std::uint64_t i = 0; i < count; i += 19) {
    EXPECT_EQ(book.find(id_number(i), noon + 1h + Millis{i} - 1ms), 100 + i * 1'000);
    EXPECT_EQ(book.find(id_number(i), noon + 1h + Millis{i}), std::nullopt);
  }
  EXPECT_LE(bytes_an_id(book), 28.0);
}

TEST(IdGeneration, AnIdThatWasAcceptedTwiceHasItsLastPosition) {
  IdGeneration generation(noon, 1);
  for (std::uint64_t i = 1; i < 5'000; ++i) {
    generation.add({id_number(i % 1'000), i, noon + Millis{i}});
  }
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const auto found = generation.find(id_number(i));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->position, 4'000 + i);
    EXPECT_EQ(found->at, noon + 4s + Millis{i});
  }
}

// Places within a page have 24 bits.
TEST(IdGeneration, HoldsIdsFarApartInPositionAndTime) {
  IdGeneration generation(noon, 0);
  const std::uint64_t far = 1U << 23U;
  for (std::uint64_t i = 0; i < 200; ++i) {
    generation.add({id_number(i), i * far, noon + Millis{i * far}});
  }
  generation.add({id_number(200), 200 * far, noon});  // the clock was set back
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(generation.find(id_number(i))->position, i * far);
    EXPECT_EQ(generation.find(id_number(i))->at, noon + Millis{i * far});
  }
  EXPECT_EQ(generation.find(id_number(200))->at, noon);
}

}  // namespace
}  // namespace dlo::embedded
