#include "dlo/broker/embedded/broken_list.h"

#include <sstream>

namespace dlo::embedded {
namespace {
constexpr char prefix[] = "quarantine-broken-";
}  // namespace

std::string BrokenList::file_name(TimePoint repaired_at) {
  return prefix + std::to_string(repaired_at.time_since_epoch().count());
}

std::string BrokenList::to_text(std::span<const Address> broken) {
  std::string text;
  for (const Address& each : broken) {
    text += std::to_string(each.location.segment) + " " + std::to_string(each.location.offset) +
            " " + std::to_string(each.sequence) + "\n";
  }
  return text;
}

Result<BrokenList> BrokenList::read(FileSystem& files) {
  const auto names = files.list();
  if (!names) return names.error();
  BrokenList list;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    const auto file = files.open(name, OpenMode::read_only);
    if (!file) return file.error();
    const auto size = (*file)->size();
    if (!size) return size.error();
    std::string text(*size, '\0');
    const auto got = (*file)->read_at(0, text.data(), text.size());
    if (!got) return got.error();
    std::istringstream lines(text.substr(0, *got));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      Address at;
      if (words >> at.location.segment >> at.location.offset >> at.sequence) {
        list.all_.insert(at.sequence);
      }
    }
  }
  return list;
}

}  // namespace dlo::embedded
