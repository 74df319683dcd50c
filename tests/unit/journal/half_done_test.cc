// The real file system, when the operating system does a part of what it is asked, or nothing
// because a signal came.
#include <cerrno>
#include <gtest/gtest.h>
#include <mutex>
#include <random>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo::testing {
namespace {

/// Reads and writes some of the bytes, syncs sometimes, and is interrupted every third time.
class Halting {
 public:
  [[nodiscard]] FileCalls calls() {
    return {[this](int file, const char* from, std::size_t size, std::uint64_t at) {
              const auto part = some_of(size);
              return part == 0 ? interrupted() : real_.write(file, from, part, at);
            },
            [this](int file, char* into, std::size_t size, std::uint64_t at) {
              const auto part = some_of(size);
              return part == 0 ? interrupted() : real_.read(file, into, part, at);
            },
            [this](int file) {
              return some_of(1) == 0 ? static_cast<int>(interrupted()) : real_.sync(file);
            }};
  }
  [[nodiscard]] int short_ones() const { return short_; }
  [[nodiscard]] int interruptions() const { return interrupted_; }

 private:
  std::size_t some_of(std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (random_() % 3 == 0) return 0;
    const auto part = 1 + random_() % size;
    short_ += part < size;
    return part;
  }
  ssize_t interrupted() {
    const std::lock_guard lock(mutex_);
    ++interrupted_;
    errno = EINTR;
    return -1;
  }

  const FileCalls real_ = FileCalls::of_the_system();
  std::mutex mutex_;
  std::mt19937 random_{5};
  int short_ = 0;
  int interrupted_ = 0;
};

std::string body_of(int number) {
  return std::string(static_cast<std::size_t>(number) * 37 % 3000,
                     static_cast<char>('a' + number % 26));
}

TEST(CallsThatDoAPart, WriteAndReadAllTheSame) {
  const TemporaryDirectory folder;
  Halting halting;
  const auto files = must(open_directory(folder.path(), false, halting.calls()));
  const auto file = must(files->open("a", OpenMode::create));
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    must(file->write_at(expected.size(), body_of(i)));
    expected += body_of(i);
  }
  must(file->sync());
  std::string got(expected.size() + 10, '?');
  EXPECT_EQ(must(file->read_at(0, got.data(), got.size())), expected.size());
  got.resize(expected.size());
  EXPECT_EQ(got, expected);
  EXPECT_GT(halting.short_ones(), 10);
  EXPECT_GT(halting.interruptions(), 10);
}

TEST(CallsThatDoAPart, LeaveAJournalWhole) {
  const TemporaryDirectory folder;
  Halting halting;
  JournalOptions options;
  options.segment_size = 64U << 10U;
  RecoveryReport report;
  const auto count = [](int& records) {
    return [&records](const Entry& entry) -> Result<void> {
      EXPECT_EQ(entry.body, body_of(records++));
      return {};
    };
  };
  int read = 0;
  {
    const auto files = must(open_directory(folder.path(), false, halting.calls()));
    const auto journal = must(Journal::open(*files, options, std::nullopt, count(read), report));
    for (int i = 0; i < 300; ++i) {
      const auto body = body_of(i);
      const NewRecord record{1, body, {}};
      Location where;
      must(journal->durable(must(journal->append({&record, 1}, {&where, 1}))));
    }
    must(journal->close());
  }
  EXPECT_EQ(read, 0);
  const auto files = must(open_directory(folder.path()));
  const auto again = must(Journal::open(*files, options, std::nullopt, count(read), report));
  EXPECT_EQ(read, 300);
  EXPECT_GT(halting.short_ones(), 300);
}

TEST(CallsThatDoAPart, AreNotAskedForEverIfTheyDoNothing) {
  const TemporaryDirectory folder;
  auto calls = FileCalls::of_the_system();
  calls.write = [](int, const char*, std::size_t, std::uint64_t) -> ssize_t { return 0; };
  const auto files = must(open_directory(folder.path(), false, calls));
  const auto refused = must(files->open("a", OpenMode::create))->write_at(0, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable);
}

}  // namespace
}  // namespace dlo::testing
