#include <filesystem>

#include "support/small_disk.h"
#include "unit/store/sqlite_support.h"

namespace dlo::testing {
namespace {

int fills_up_and_goes_on(const std::string& disk) {
  const std::string ballast = disk + "/ballast";
  write_bytes(ballast, std::string(2U << 20U, 'b'));
  auto office = open_office(disk + "/office");
  const std::string payload(20'000, 'p');
  std::uint64_t kept = 0;
  std::optional<Error> error;
  while (!error && kept < 10'000) {
    const std::vector<Change> changes{append_of(letter_with_payload(kept + 1, payload))};
    const auto applied = office->apply(changes);
    if (applied) {
      ++kept;
    } else {
      error = applied.error();
    }
  }
  EXPECT_OR_RETURN(error && error->code == Code::disk_full && is_retryable(error->code));
  EXPECT_OR_RETURN(error->detail.find("make room") != std::string::npos);
  EXPECT_OR_RETURN(kept > 10);
  // What was answered can be read, counted and found while the disk is full.
  EXPECT_OR_RETURN(all_pages(*office, {}).size() == kept);
  EXPECT_OR_RETURN(must(office->aggregate({})).tallies.front().count == kept);

  std::filesystem::remove(ballast);
  const std::vector<Change> changes{append_of(letter_with_payload(kept + 1, payload))};
  EXPECT_OR_RETURN(office->apply(changes).has_value());
  office.reset();
  office = open_office(disk + "/office");
  EXPECT_OR_RETURN(all_pages(*office, {}).size() == kept + 1);
  EXPECT_OR_RETURN(ask(disk + "/office/office.db", "PRAGMA integrity_check") == "ok");
  return 0;
}

TEST(SqliteDisk, AFullDiskIsSaidLosesNothingAndPasses) {
  EXPECT_ON_SMALL_DISK("8", fills_up_and_goes_on);
}

TEST(SqliteDisk, AnOfficeThatDoesNotFitIsRefusedAsFull) {
  const auto body = [](const std::string& disk) {
    write_bytes(disk + "/ballast", std::string((1U << 20U) - 8192, 'b'));
    const auto opened = SqliteOffice::open(disk);
    EXPECT_OR_RETURN(!opened);
    EXPECT_OR_RETURN(opened.error().code == Code::disk_full);
    return 0;
  };
  EXPECT_ON_SMALL_DISK("1", body);
}

}  // namespace
}  // namespace dlo::testing
