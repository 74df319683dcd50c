// What a journal lacks, by the names and lengths of its files.
#include <algorithm>
#include <optional>

#include "dlo/journal/format.h"
#include "dlo/journal/inspection.h"

namespace dlo {

namespace {

/// The numbers of all segments from `from` on.
Result<std::vector<std::uint64_t>> numbers_from(FileSystem& files, std::uint64_t from) {
  const auto names = files.list();
  if (!names) return names.error();
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : *names) {
    const auto number = segment_number(name);
    if (number && *number >= from) numbers.push_back(*number);
  }
  // What was never written to and follows nobody is somebody else's file.
  while (!numbers.empty() && numbers.back() != from) {
    const bool follows = numbers.size() > 1 && numbers[numbers.size() - 2] + 1 == numbers.back();
    if (follows) break;
    const auto file = files.open(segment_file(numbers.back()), OpenMode::read_only);
    if (!file) return file.error();
    const auto size = (*file)->size();
    if (!size) return size.error();
    if (*size > 0) break;
    numbers.pop_back();
  }
  return numbers;
}

}  // namespace

Result<std::vector<MissingSegments>> missing_segments(FileSystem& files, std::uint64_t from,
                                                      bool must_begin) {
  const auto numbers = numbers_from(files, from);
  if (!numbers) return numbers.error();
  std::vector<MissingSegments> missing;
  std::uint64_t expected = from;
  for (const auto number : *numbers) {
    if (expected < number) missing.push_back({expected, number - 1});
    expected = number + 1;
  }
  if (must_begin && numbers->empty()) missing.push_back({from, from});
  return missing;
}

Damage describe_missing(const FileSystem& files, const MissingSegments& missing) {
  const auto count = missing.last - missing.first + 1;
  return {files.describe(segment_file(missing.first)), 0, 0,
          count == 1 ? "The file is missing."
                     : "The file is missing, and so are all up to " + segment_file(missing.last) +
                           ": " + std::to_string(count) + " files.",
          0};
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
