#include "dlo/cli/recovery_note.h"

#include <ostream>

namespace dlo::cli {

void tell_recovery(std::ostream& err, const std::string& data, const RecoveryReport& report) {
  if (report.cut_bytes == 0) return;
  err << "dlo: The queues in '" << data << "' were not stopped in good order: the last "
      << report.cut_bytes << " bytes of " << report.cut_file << ", from offset "
      << report.cut_offset
      << " on, were not whole and were cut off. A crash in the middle of a write leaves such a "
         "piece, and nobody was told that it was kept; but if the disk is damaged, what was sent "
         "last may have been in it. Compare with what its senders know, and look at the disk.";
  if (report.cut_records > 0) {
    err << ' ' << report.cut_records
        << " whole records lay behind the first damaged byte and went with it: no sync is known "
           "that covered what came before them.";
  }
  if (!report.cut_copy.empty()) err << " A copy of the piece is in " << report.cut_copy << '.';
  err << '\n';
}

const char* what_is_kept(const RecoveryReport& report) noexcept {
  return report.cut_bytes == 0 ? "Everything acknowledged"
                               : "Everything that was acknowledged since the start";
}

}  // namespace dlo::cli
