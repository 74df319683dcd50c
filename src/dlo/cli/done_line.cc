#include "dlo/cli/done_line.h"

#include <utility>

#include "dlo/json/text/value.h"
#include "dlo/store/field_tests.h"

namespace dlo::cli {

Result<consumer::SayDone> done_line(const std::vector<std::string>& places) {
  if (places.empty()) return consumer::SayDone{};
  std::vector<JsonPath> paths;
  for (const std::string& each : places) {
    auto path = JsonPath::parse(each);
    if (!path) return path.error();
    paths.push_back(std::move(*path));
  }
  return consumer::SayDone([paths = std::move(paths)](const Message& message) {
    std::string said;
    if (!message.payload) return said;
    const auto found = find_paths(*message.payload, paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const auto text = scalar_text(found[i]);
      if (text) said += ", " + paths[i].steps.back() + ": " + *text;
    }
    return said;
  });
}

}  // namespace dlo::cli
