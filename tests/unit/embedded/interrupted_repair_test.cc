// A repair that does not come to its end: the next one does.
#include <functional>
#include <gtest/gtest.h>

#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"

namespace dlo::testing {
namespace {

using Op = FaultFileSystem::Op;

/// A disk that holds the same, all of it synced.
std::unique_ptr<FaultFileSystem> copy(FaultFileSystem& from) {
  auto to = std::make_unique<FaultFileSystem>();
  for (const std::string& name : must(from.list())) {
    auto file = must(to->open(name, OpenMode::create));
    must(file->write_at(0, from.bytes(name)));
    must(file->sync());
  }
  must(to->sync_names());
  return to;
}

struct Case {
  const char* name;
  std::function<void(FaultFileSystem&)> damage;
};

std::string last_segment(FaultFileSystem& disk) {
  std::string last;
  for (const std::string& name : must(disk.list())) {
    if (name.ends_with(".seg") && name.starts_with("0")) last = name;
  }
  return last;
}

void flip(FaultFileSystem& disk, const std::string& text) {
  for (const std::string& name : must(disk.list())) {
    auto& bytes = disk.bytes(name);
    const auto at = bytes.find(text);
    if (at != std::string::npos) bytes[at] ^= 1;
  }
}

const std::vector<Case> cases = {
    {"a body behind the checkpoint", [](auto& disk) { flip(disk, "late-2..."); }},
    {"a body before the checkpoint", [](auto& disk) { flip(disk, "m-3..."); }},
    {"a header", [](auto& disk) { disk.bytes(last_segment(disk))[20] ^= 1; }},
    {"a header before the checkpoint", [](auto& disk) { disk.bytes("000000000001.seg")[20] ^= 1; }},
    {"the last file", [](auto& disk) { must(disk.remove(last_segment(disk))); }},
    {"all of the last file",
     [](auto& disk) {
       for (char& byte : disk.bytes(last_segment(disk))) byte = static_cast<char>(byte + 1);
     }},
    {"the checkpoint", [](auto& disk) { disk.bytes("checkpoint")[40] ^= 1; }},
};

bool opens(FaultFileSystem& disk) {
  const auto other = copy(disk);
  return EmbeddedQueues::open(*other, noon, Shop::small_segments()).has_value();
}

/// Where a repair ended after `operations` changes of the disk; true: it was over by then.
bool repair_partly(FaultFileSystem& disk, int operations) {
  int left = operations;
  disk.set_fault([&left](Op op, const std::string&) -> std::optional<Code> {
    if (op == Op::read) return std::nullopt;
    return left-- > 0 ? std::nullopt : std::optional(Code::disk_full);
  });
  const auto repaired = repair_queues(disk, noon, true);
  disk.set_fault({});
  return repaired.has_value();
}

void expect_to_end_well(FaultFileSystem& disk) {
  const bool open = opens(disk);
  const auto check = must(check_queues(disk));
  const auto plan = must(repair_queues(disk, noon + 1s, false));
  EXPECT_TRUE(open || !check.damages.empty()) << "refused, though nothing is damaged";
  EXPECT_TRUE(open || !plan.damages.empty()) << "refused, though there is nothing to repair";
  must(repair_queues(disk, noon + 1s, true));
  const auto after = must(check_queues(disk));
  EXPECT_TRUE(after.damages.empty()) << after.damages.front().what;
  EXPECT_TRUE(must(repair_queues(disk, noon + 2s, false)).damages.empty());
  auto queues = must(EmbeddedQueues::open(disk, noon, Shop::small_segments()));
  auto queue = must(queues->declare(Shop::jobs()));
  EXPECT_GE(must(queue->stats(noon)).ready, 20U);
  must(queues->close());
}

TEST(ARepairThatIsInterrupted, IsEndedByTheNextWhereverItStopped) {
  Shop first;
  first.open();
  for (int i = 0; i < 20; ++i) first.publish("m-" + std::to_string(i), noon, 1000);
  must(first.queues->tidy());
  for (int i = 0; i < 5; ++i) first.publish("late-" + std::to_string(i));
  first.shut();
  for (const Case& each : cases) {
    int operations = 0;
    for (bool over = false; !over; ++operations) {
      ASSERT_LT(operations, 100);
      for (const bool power : {false, true}) {
        SCOPED_TRACE(std::string(each.name) + " is damaged; stopped after " +
                     std::to_string(operations) + (power ? ", without power" : ", killed"));
        const auto damaged = copy(*first.disk);
        each.damage(*damaged);
        const auto disk = copy(*damaged);
        over = repair_partly(*disk, operations);
        if (power) disk->power_cut(static_cast<std::uint64_t>(operations));
        expect_to_end_well(*disk);
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(operations, 8) << each.name;
  }
}

}  // namespace
}  // namespace dlo::testing
