#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/fault_file_system.h"

#include "dlo/journal/inspection.h"
#include "dlo/journal/journal.h"

/// Any bytes as the files of a journal: opening answers or refuses, inspecting goes to the end, and
/// both hand out the same number of records if nothing is wrong. The first byte says where the
/// input is cut into two segments.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = bytes.size() * data[0] / 255;
  dlo::testing::FaultFileSystem disk;
  const auto put = [&](const std::string& name, std::string_view content) {
    if (content.empty()) return;
    auto file = disk.open(name, dlo::OpenMode::create);
    if (!file || !(*file)->write_at(0, content)) std::abort();
  };
  put("000000000001.seg", bytes.substr(0, cut));
  put("000000000002.seg", bytes.substr(cut));

  std::uint64_t seen = 0;
  dlo::Inspection inspection(disk);
  const auto walked = inspection.walk([&](const dlo::Entry&) -> dlo::Result<void> {
    ++seen;
    return {};
  });
  if (!walked || seen != inspection.records) std::abort();

  dlo::JournalOptions options;
  options.segment_size = 4096;
  options.prepare_ahead = false;
  dlo::RecoveryReport report;
  std::uint64_t replayed = 0;
  const auto opened = dlo::Journal::open(
      disk, options, {},
      [&](const dlo::Entry&) -> dlo::Result<void> {
        ++replayed;
        return {};
      },
      report);
  if (opened && inspection.damages.empty() && inspection.unfinished == 0 && replayed != seen) {
    std::abort();
  }
  return 0;
}
