// The parts a queue is made of, each against the plainest form of what it promises.
#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <rapidcheck.h>
#include <set>

#include "support/must.h"

#include "dlo/broker/embedded/delays.h"
#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/key_book.h"
#include "dlo/broker/embedded/records.h"
#include "dlo/broker/embedded/slots.h"

namespace dlo::embedded {
namespace {

using namespace std::chrono_literals;
using testing::noon;

TEST(Delays, LetsEverybodyGoAtHisMomentWhateverTheClockDoes) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    Slots slots;
    Delays wheel;
    std::multimap<std::uint64_t, SlotNumber> plain;
    TimePoint now = noon;
    const auto nothing = [](SlotNumber) { FAIL(); };
    wheel.advance(slots, now, nothing);
    for (int step = 0; step < 2000; ++step) {
      if (random() % 3 != 0) {
        const auto slot = slots.take();
        const auto delay = Millis{1 + random() % (std::uint64_t{1} << (random() % 24))};
        slots.edit(slot).set_time(pack(now + delay));
        wheel.set(slots, slot);
        plain.emplace(pack(now + delay), slot);
      }
      if (random() % 50 == 0) now -= Millis{random() % 10'000};
      now += Millis{random() % (std::uint64_t{1} << (random() % 16))};
      std::set<SlotNumber> due;
      std::uint64_t last = 0;
      wheel.advance(slots, now, [&](SlotNumber slot) {
        EXPECT_GE(slots[slot].time(), last);
        last = slots[slot].time();
        due.insert(slot);
      });
      std::set<SlotNumber> expected;
      while (!plain.empty() && plain.begin()->first <= pack(now)) {
        expected.insert(plain.begin()->second);
        plain.erase(plain.begin());
      }
      ASSERT_EQ(due, expected);
      ASSERT_EQ(wheel.size(), plain.size());
      const auto next = wheel.next(slots);
      ASSERT_EQ(next.has_value(), !plain.empty());
      if (next) {
        ASSERT_LE(pack(*next), plain.begin()->first);
      }
    }
  }
}

TEST(Delays, WhoIsDueDoesNotWaitUntilTheOthersAreSorted) {
  Slots slots;
  Delays delays;
  (void)delays.advance(slots, noon, [](SlotNumber) {});
  const auto begins = noon + 300s;
  for (int i = 0; i < 50'000; ++i) {
    const auto slot = slots.take();
    slots.edit(slot).set_time(pack(begins + Millis{i % 4'000}));
    delays.set(slots, slot);
  }
  int came = 0;
  const auto count = [&](SlotNumber) { ++came; };
  // As a receiver does that waits: whenever there is something to do, a little of it.
  int calls = 0;
  for (auto next = delays.next(slots); next && *next < begins; next = delays.next(slots)) {
    (void)delays.advance(slots, *next, count, 1'000);
    ASSERT_LT(++calls, 500);
  }
  EXPECT_EQ(came, 0);
  EXPECT_GT(calls, 10);
  for (int i = 0; i < 100; ++i) {
    came = 0;
    (void)delays.advance(slots, begins + Millis{i}, count, 50);
    EXPECT_GE(came, 12) << "after " << i << " ms";
  }
}

TEST(Holdings, WhoLooksWhenToldToComesNearerToWhatIsDue) {
  for (const Millis delay : {Millis{3}, Millis{150}, Millis{8s}, Millis{70s}, Millis{25h}}) {
    Holdings holdings;
    QueueState& queue = holdings.declare(QueueRecord{});
    std::vector<Lease*> ran_out;
    holdings.begin_work(noon);
    holdings.advance(noon, ran_out);
    PublishTail tail;
    tail.slot = holdings.take_slot(false);
    tail.now = noon;
    tail.due = noon + delay;
    holdings.put(tail, Address{{1, 64}, 1}, 1, 0);
    holdings.arrive(tail.slot, noon);
    auto now = noon;
    for (auto next = holdings.next_due(queue); next; next = holdings.next_due(queue)) {
      ASSERT_GT(*next, now) << "told to look again at once, for ever; delay " << delay.count();
      now = *next;
      holdings.advance(now, ran_out);
    }
    EXPECT_EQ(now, noon + delay);
    EXPECT_EQ(holdings.pop_ready(queue), tail.slot);
  }
}

TEST(Delays, EndsVeryManyDelaysAFewAtATimeInOrder) {
  Slots slots;
  Delays wheel;
  (void)wheel.advance(slots, noon, [](SlotNumber) {});
  for (int i = 1; i <= 1000; ++i) {
    const auto slot = slots.take();
    slots.edit(slot).set_time(pack(noon + Millis{i * 37 % 500 + 1}));
    wheel.set(slots, slot);
  }
  std::size_t came = 0;
  std::uint64_t last = 0;
  int calls = 0;
  for (; wheel.size() > 0; ++calls) {
    EXPECT_LE(*wheel.next(slots), noon + 1h) << "it has to be asked again";
    const auto before = came;
    (void)wheel.advance(
        slots, noon + 1h,
        [&](SlotNumber slot) {
          EXPECT_LE(last, slots[slot].time());
          last = slots[slot].time();
          ++came;
        },
        100);
    EXPECT_LE(came - before, 100U);
    ASSERT_LT(calls, 100);
  }
  EXPECT_EQ(came, 1000U);
  EXPECT_GE(calls, 10);
}

TEST(Delays, TurnsBackAFewAtATime) {
  Slots slots;
  Delays wheel;
  (void)wheel.advance(slots, noon + 24h, [](SlotNumber) {});
  for (int i = 1; i <= 1000; ++i) {
    const auto slot = slots.take();
    slots.edit(slot).set_time(pack(noon + 25h + Millis{i}));
    wheel.set(slots, slot);
  }
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(
        wheel.advance(slots, noon, [](SlotNumber) { ADD_FAILURE() << "too early"; }, 100), 0U);
    EXPECT_LE(*wheel.next(slots), noon);
  }
  (void)wheel.advance(slots, noon, [](SlotNumber) { ADD_FAILURE() << "too early"; }, 100);
  EXPECT_GT(*wheel.next(slots), noon);
  std::size_t came = 0;
  (void)wheel.advance(slots, noon + 26h, [&](SlotNumber) { ++came; });
  EXPECT_EQ(came, 1000U);
}

/// Keys as anybody would keep them.
struct PlainKey {
  std::deque<SlotNumber> messages;  // the head first, unless it is gone
  bool headed = false;
  bool on_hold = false;
};

TEST(KeyBook, KeepsTheOrderOfEveryKeyWhateverComesAndGoes) {
  const bool holds = rc::check([](std::uint32_t seed) {
    std::mt19937 random(seed);
    Slots slots;
    KeyBook book;
    std::map<KeyDigest, PlainKey> model;
    std::vector<SlotNumber> here;
    // Who ought to be the head now; a key that says nothing more is forgotten.
    const auto settle = [&](KeyDigest key) {
      PlainKey& plain = model[key];
      auto head = no_slot;
      if (!plain.headed && !plain.on_hold && !plain.messages.empty()) {
        head = plain.messages.front();
        plain.headed = true;
        slots.edit(head).place = Place::ready;
      }
      if (plain.messages.empty() && !plain.on_hold) model.erase(key);
      return head;
    };
    for (int step = 0; step < 3000; ++step) {
      const auto dice = random() % 10;
      if (dice < 5 || here.empty()) {
        const auto key = digest_of_key(std::to_string(random() % 150));
        const auto slot = slots.take(true);
        slots.set_key(slot, key);
        const bool alone = !model.contains(key);
        PlainKey& plain = model[key];
        plain.messages.push_back(slot);
        plain.headed = plain.headed || alone;
        here.push_back(slot);
        RC_ASSERT(book.join(slots, slot) == alone);
        slots.edit(slot).place = alone ? Place::ready : Place::held;
      } else if (dice < 9) {
        const auto which = random() % here.size();
        const auto slot = here[which];
        here.erase(here.begin() + static_cast<std::ptrdiff_t>(which));
        const auto key = slots.key(slot);
        PlainKey& plain = model[key];
        const bool was_head = plain.headed && plain.messages.front() == slot;
        const bool hold = was_head && random() % 4 == 0;
        std::erase(plain.messages, slot);
        if (was_head) plain.headed = false;
        plain.on_hold = plain.on_hold || hold;
        const auto next = book.leave(slots, slot, hold);
        RC_ASSERT(next == settle(key));
        slots.give_back(slot);
      } else {
        const auto key = digest_of_key(std::to_string(random() % 150));
        if (!model.contains(key) || !model[key].on_hold) {
          RC_ASSERT(book.free(slots, key) == no_slot);
          continue;
        }
        RC_ASSERT(book.on_hold(slots, key));
        model[key].on_hold = false;
        const auto next = book.free(slots, key);
        RC_ASSERT(next == settle(key));
      }
      RC_ASSERT(book.size() == model.size());
    }
  });
  EXPECT_TRUE(holds);
}

TEST(Slots, WithAKeyLieApartSoThatOthersDoNotPayForIt) {
  Slots slots;
  const auto plain = slots.take(false);
  const auto keyed = slots.take(true);
  slots.set_key(keyed, digest_of_key("customer-17"));
  EXPECT_NE(plain / Slots::block_size, keyed / Slots::block_size);
  EXPECT_EQ(slots.key(keyed), digest_of_key("customer-17"));
  EXPECT_EQ(slots.key(plain), 0U);
  EXPECT_EQ(slots.take(false) / Slots::block_size, plain / Slots::block_size);
  EXPECT_EQ(slots.take(true) / Slots::block_size, keyed / Slots::block_size);
}

TEST(Slots, GiveBackWhatAPeakTook) {
  Slots slots;
  std::vector<SlotNumber> taken;
  for (SlotNumber i = 0; i < 100 * Slots::block_size; ++i) taken.push_back(slots.take());
  EXPECT_EQ(slots.blocks(), 100U);
  const auto stays = taken[50 * Slots::block_size + 7];
  slots.edit(stays).size = 77;
  for (const auto number : taken) {
    if (number != stays) slots.give_back(number);
  }
  EXPECT_LE(slots.blocks(), 3U);
  EXPECT_EQ(slots[stays].size, 77U);
  EXPECT_EQ(slots[5].place, Place::free);  // a stale token may ask
  const auto blocks = slots.blocks();
  for (int i = 0; i < 100; ++i) slots.give_back(slots.take());
  EXPECT_EQ(slots.blocks(), blocks);  // one to and fro costs nothing
}

TEST(Slots, AreNeverTakenTwiceWhateverComesAndGoes) {
  const bool holds = rc::check([](std::uint32_t seed) {
    std::mt19937 random(seed);
    Slots slots;
    std::vector<SlotNumber> taken;
    std::set<SlotNumber> here;
    for (int round = 0; round < 30; ++round) {
      if (round % 7 == 3) slots.begin_snapshot();
      if (round % 7 == 5) slots.end_snapshot();
      if (round == 20) slots.rebuild_free_list();
      const auto target = random() % 6000;
      while (taken.size() < target) {
        const auto number = slots.take();
        slots.edit(number).place = Place::ready;
        slots.edit(number).size = number;
        RC_ASSERT(here.insert(number).second);
        RC_ASSERT(number < slots.size());
        taken.push_back(number);
      }
      std::shuffle(taken.begin(), taken.end(), random);
      while (taken.size() > target) {
        RC_ASSERT(slots[taken.back()].size == taken.back());
        slots.give_back(taken.back());
        here.erase(taken.back());
        taken.pop_back();
      }
      if (taken.empty()) RC_ASSERT(slots.blocks() <= 2U);
    }
  });
  EXPECT_TRUE(holds);
}

TEST(Slots, ASnapshotIsOfOneMomentThoughEverythingChangesMeanwhile) {
  Slots slots;
  std::vector<SlotNumber> taken;
  for (SlotNumber i = 0; i < 5 * Slots::block_size; ++i) {
    taken.push_back(slots.take(true));
    slots.edit(taken.back()).size = i;
    slots.set_key(taken.back(), i + 1);
    slots.set_expiry(taken.back(), i + 2);
  }
  slots.begin_snapshot();
  std::vector<Slot> copy;
  std::vector<KeyBytes> keys;
  std::vector<Expiry> expiries;
  Slots::Copy copied;
  std::mt19937 random(1);
  for (std::size_t block = 0; block < slots.snapshot_blocks(); ++block) {
    for (int i = 0; i < 3000; ++i) {
      std::swap(taken[random() % taken.size()], taken.back());
      slots.edit(taken.back()).size = 7'777'777;
      if (i % 3 == 0 && taken.size() > 1) {
        slots.give_back(taken.back());
        taken.pop_back();
      }
      if (i % 7 == 0) {
        taken.push_back(slots.take(true));
        slots.edit(taken.back()).size = 8'888'888;
        slots.set_key(taken.back(), 9'999'999);
        slots.set_expiry(taken.back(), 9'999'999);
      }
    }
    slots.copy_block(block, copied);
    EXPECT_TRUE(copied.used && copied.keyed && copied.expires);
    copy.insert(copy.end(), copied.slots.begin(), copied.slots.end());
    keys.insert(keys.end(), copied.keys.begin(), copied.keys.end());
    expiries.insert(expiries.end(), copied.expiries.begin(), copied.expiries.end());
  }
  slots.end_snapshot();
  for (SlotNumber i = 0; i < 5 * Slots::block_size; ++i) {
    ASSERT_EQ(copy[i].size, i);
    KeyDigest key = 0;
    std::memcpy(&key, keys[i].data(), key_digest_size);
    ASSERT_EQ(key, i + 1);
    ASSERT_EQ(expiries[i], i + 2);
  }
}

TEST(Slots, AWaitingMessageTakes36Bytes) {
  EXPECT_EQ(sizeof(Slot), 36U);
}

TEST(Records, AMessageComesBackAsItWas) {
  Message message;
  message.id = std::string("a\0b", 3);
  message.key = "k";
  message.event_type = "Paid";
  message.correlation_id = "c";
  message.content_type = "application/json";
  message.headers = {{"h", std::string(300, 'v'), HeaderType::text},
                     {"h", "2", HeaderType::integer}};
  message.payload = std::string(5000, '\xFF');
  message.enqueued_at = noon - 5min;
  message.expires_at = TimePoint::max();
  message.priority = Priority::high;
  message.owner = Owner{"order-7", 3, Activity{"charge", 9}, "parent"};
  for (const auto& payload :
       {std::optional<std::string>(), std::optional<std::string>(""), message.payload}) {
    message.payload = payload;
    std::string bytes;
    encode_fields({message, noon, {}, false, {}, nullptr}, bytes);
    PublishTail tail;
    tail.slot = 12;
    tail.queue = 3;
    tail.meta_size = static_cast<std::uint32_t>(bytes.size());
    tail.now = noon;
    tail.due = noon + 1h;
    tail.keyed = true;
    tail.dedupe = digest_of("once");
    tail.position = 99;
    char tail_bytes[longest_tail];
    bytes += payload.value_or("");
    bytes.append(tail_bytes, encode(tail, tail_bytes));
    const auto stored = decode_published(bytes);
    ASSERT_TRUE(stored);
    EXPECT_EQ(*decode_message(*stored), message);
    EXPECT_EQ(key_of(*stored), "k");
    EXPECT_EQ(stored->tail.slot, 12U);
    EXPECT_EQ(stored->tail.due, noon + 1h);
    EXPECT_EQ(stored->tail.position, 99U);
    EXPECT_EQ(stored->tail.dedupe, digest_of("once"));
  }
}

TEST(Records, AStateComesBackAsItWas) {
  StateRecord record;
  record.slot = 5;
  record.due = noon + 2s;
  record.repeat = record.ahead = true;
  record.body = {{7, 900}, 123'456};
  record.left_segment = 6;
  record.state.counters = {.fetch = 3, .attempt = 2, .failure = 1, .total = UINT32_MAX};
  record.state.first_attempt_at = noon;
  record.state.previous_delay = Millis::max();
  record.state.interruptions = 2;
  record.state.interrupted = true;
  record.state.last_error = "why";
  record.state.trail = std::string(1000, 't');
  std::string bytes;
  encode(record, bytes);
  const auto read = decode_state(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->slot, 5U);
  EXPECT_EQ(read->due, noon + 2s);
  EXPECT_TRUE(read->repeat && read->ahead && read->state.interrupted && !read->dead);
  EXPECT_EQ(read->body.sequence, 123'456U);
  EXPECT_EQ(read->left_segment, 6U);
  EXPECT_EQ(read->state.counters, record.state.counters);
  EXPECT_EQ(read->state.previous_delay, Millis::max());
  EXPECT_EQ(read->state.trail, record.state.trail);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_state(std::string_view(bytes).substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace dlo::embedded
