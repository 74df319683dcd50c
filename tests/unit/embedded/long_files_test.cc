// Segments that are terabytes long and hold next to nothing: a copy gone wrong, or a file that
// somebody made longer. Nobody reads all of that, and nobody needs as much memory.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "support/must.h"
#include "support/temporary_directory.h"
#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"

namespace dlo::testing {
namespace {

constexpr std::uintmax_t terabyte = std::uintmax_t{1} << 40U;
constexpr std::uint64_t bearable = std::uint64_t{1} << 30U;  // bytes read, a second of them

class ALongFile : public ::testing::Test {
 protected:
  /// Two lives, so two segments with something in them.
  void SetUp() override {
    for (const char* id : {"a", "b"}) {
      const auto queues = must(EmbeddedQueues::open(directory_.path(), noon));
      const auto queue = must(queues->declare(Shop::jobs()));
      Publication one;
      one.message = std::make_shared<const Message>(Message{.id = id, .payload = id});
      must(queue->publish({&one, 1}, noon));
      if (id[0] == 'b') must(queues->close());
    }
    for (const auto& each : std::filesystem::directory_iterator(directory_.path())) {
      if (each.path().extension() == ".seg") segments_.push_back(each.path());
    }
    std::sort(segments_.begin(), segments_.end());
    ASSERT_GE(segments_.size(), 2U);
  }

  std::unique_ptr<FileSystem> files(bool read_only) {
    FileCalls calls = FileCalls::of_the_system();
    calls.read = [this, read = calls.read](int file, char* into, std::size_t size,
                                           std::uint64_t at) {
      if (read_ > budget_) return ssize_t{-(errno = EIO, 1)};  // instead of reading for hours
      const auto got = read(file, into, size, at);
      if (got > 0) read_ += static_cast<std::uint64_t>(got);
      return got;
    };
    return must(open_directory(directory_.path(), read_only, calls));
  }
  QueueCheck check() { return must(check_queues(*files(true))); }
  std::size_t dumped() {
    std::size_t messages = 0;
    const auto damages = dump_queues(
        *files(true), [&](const DumpedRecord& each) { messages += each.message && each.there; });
    EXPECT_TRUE(damages);
    return messages;
  }
  std::size_t received() {
    const auto disk = files(false);
    const auto queues = must(EmbeddedQueues::open(*disk, noon));
    const auto queue = must(queues->declare(Shop::jobs()));
    return must(queue->receive({9, 30s, 0ms}, noon)).size();
  }

  TemporaryDirectory directory_;
  std::vector<std::filesystem::path> segments_;
  std::atomic<std::uint64_t> read_ = 0;
  std::uint64_t budget_ = bearable;
};

TEST_F(ALongFile, OfZerosIsNotRead) {
  for (const auto& each : segments_) std::filesystem::resize_file(each, terabyte);
  const auto found = check();
  EXPECT_TRUE(found.damages.empty());
  EXPECT_EQ(found.verified, 2U);
  EXPECT_EQ(dumped(), 2U);
  EXPECT_EQ(received(), 2U);
  EXPECT_LT(read_, bearable);
}

TEST_F(ALongFile, IsDamagedWhereOneByteIsNotZeroAndRepaired) {
  std::filesystem::resize_file(segments_.front(), terabyte);
  std::fstream(segments_.front(), std::ios::in | std::ios::out).seekp(terabyte - 4096).put('x');
  const auto found = check();
  ASSERT_EQ(found.damages.size(), 1U);
  EXPECT_EQ(found.damages[0].offset, terabyte - 4096);
  EXPECT_EQ(found.damages[0].size, 1U);
  EXPECT_EQ(dumped(), 2U);
  const auto repaired = must(repair_queues(*files(false), noon, true));
  EXPECT_TRUE(repaired.lost.empty() && repaired.damaged.empty());
  EXPECT_EQ(received(), 2U);
  EXPECT_LT(read_, bearable);
}

TEST_F(ALongFile, IsRepairedThoughItsDamagedBytesLieFarApart) {
  budget_ = 8 * bearable;  // what lies between them is looked at, several times
  std::filesystem::resize_file(segments_.front(), terabyte);
  std::fstream file(segments_.front(), std::ios::in | std::ios::out);
  file.seekp(1 << 20).put('x').seekp(20U << 20U).put('y').flush();
  EXPECT_EQ(check().damages.size(), 1U);
  (void)must(repair_queues(*files(false), noon, true));
  EXPECT_EQ(received(), 2U);
}

}  // namespace
}  // namespace dlo::testing
