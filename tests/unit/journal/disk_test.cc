// The real file system, when it is full.
#include <gtest/gtest.h>

#include "support/must.h"
#include "support/small_disk.h"

#include "dlo/journal/file_system.h"

namespace dlo::testing {
namespace {

int says_how_much_room_it_takes(const std::string& disk) {
  const auto directory = must(open_directory(disk));
  const auto file = must(directory->open("a", OpenMode::create));
  const auto refused = file->allocate(32U << 20U);
  EXPECT_OR_RETURN(!refused && refused.error().code == Code::disk_full);
  const std::string& said = refused.error().detail;
  // The lock of the directory takes a page of the 1024.
  EXPECT_OR_RETURN(said.find("takes 32768 KiB and there are 10") != std::string::npos);
  return 0;
}

TEST(AFullDisk, IsToldWithTheRoomThatIsNeeded) {
  EXPECT_ON_SMALL_DISK("1", says_how_much_room_it_takes);
}

}  // namespace
}  // namespace dlo::testing
