// What a journal lacks, by the names and lengths of its files.
#include <algorithm>
#include <optional>

#include "dlo/journal/format.h"
#include "dlo/journal/inspection.h"

namespace dlo {

Result<std::vector<std::uint64_t>> missing_segments(FileSystem& files, std::uint64_t from,
                                                    bool must_begin) {
  const auto names = files.list();
  if (!names) return names.error();
  std::vector<std::uint64_t> missing;
  std::uint64_t expected = from;
  for (const std::string& name : *names) {
    const auto number = segment_number(name);
    if (!number || *number < from) continue;
    for (; expected < *number; ++expected) missing.push_back(expected);
    ++expected;
  }
  if (must_begin && expected == from) missing.push_back(from);
  return missing;
}

Result<std::optional<Damage>> cut_short(FileSystem& files, const JournalPosition& position) {
  const std::string name = segment_file(position.segment);
  const auto names = files.list();
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), name) == names->end()) return std::optional<Damage>();
  const auto file = files.open(name, OpenMode::read_only);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  if (journal_format::aligned(*size) >= position.offset) return std::optional<Damage>();
  return std::optional(Damage{files.describe(name), *size, 0,
                              "The file ends here, and was longer: records up to byte " +
                                  std::to_string(position.offset) + " are missing.",
                              0});
}

}  // namespace dlo
