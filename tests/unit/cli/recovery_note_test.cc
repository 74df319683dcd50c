#include "dlo/cli/recovery_note.h"

#include <gmock/gmock.h>
#include <sstream>

namespace dlo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string told(const RecoveryReport& report) {
  std::ostringstream err;
  cli::tell_recovery(err, "dlo-data", report);
  return err.str();
}

TEST(RecoveryNote, SaysWhichBytesOfWhichFileWereCutOffAndWhatThatMeans) {
  RecoveryReport report;
  report.cut_bytes = 95;
  report.cut_file = "dlo-data/queues/000000000001.seg";
  report.cut_offset = 448;
  EXPECT_THAT(told(report), HasSubstr("the last 95 bytes of dlo-data/queues/000000000001.seg"));
  EXPECT_THAT(told(report), HasSubstr("from offset 448"));
  EXPECT_THAT(told(report), HasSubstr("what was sent last may have been in it"));
  EXPECT_THAT(told(report), Not(HasSubstr("copy")));
  report.cut_copy = "dlo-data/queues/cut-000000000001.seg-448-95";
  EXPECT_THAT(told(report), HasSubstr("A copy of the piece is in dlo-data/queues/cut-"));
}

TEST(RecoveryNote, SaysHowManyWholeRecordsWereCutOffWithADamagedOne) {
  RecoveryReport report;
  report.cut_bytes = 2608;
  EXPECT_THAT(told(report), Not(HasSubstr("whole records")));
  report.cut_records = 7;
  EXPECT_THAT(told(report), HasSubstr("7 whole records lay behind the first damaged byte"));
}

TEST(RecoveryNote, PromisesAtTheEndWhatWasAcknowledgedSinceSomethingWasCut) {
  RecoveryReport report;
  EXPECT_STREQ(cli::what_is_kept(report), "Everything acknowledged");
  report.cut_bytes = 1;
  EXPECT_THAT(cli::what_is_kept(report), HasSubstr("acknowledged since the start"));
}

TEST(RecoveryNote, SaysNothingWhereNothingWasCut) {
  EXPECT_EQ(told({}), "");
}

}  // namespace
}  // namespace dlo::testing
