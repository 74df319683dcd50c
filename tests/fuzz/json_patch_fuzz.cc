#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlo/repair/difference.h"
#include "dlo/repair/json_patch.h"

/// Before the first line end a document, behind it a patch. Any bytes are refused or do what they
/// say: what comes out is JSON, and a patch that was read prints as one that reads back the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  const auto patch = dlo::parse_patch(text.substr(line + 1));
  if (!patch) return 0;
  const std::string printed = dlo::print_patch(*patch);
  const auto again = dlo::parse_patch(printed);
  if (!again || dlo::print_patch(*again) != printed) std::abort();
  const auto tree = dlo::parse_tree(text.substr(0, line));
  if (!tree) return 0;
  const auto patched = dlo::apply_patch(*patch, *tree);
  if (!patched) return 0;
  const auto read = dlo::parse_json(dlo::print_tree(*patched));
  if (!read) std::abort();
  bool more = false;
  const auto same = dlo::path_changes(dlo::print_tree(*patched), dlo::print_tree(*patched), more);
  if (!same.empty()) std::abort();
  return 0;
}
