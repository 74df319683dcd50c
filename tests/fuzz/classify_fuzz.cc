#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/classify.h"
#include "dlo/regex/re2_compiler.h"

namespace {

/// Takes the piece up to the next line end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

}  // namespace

/// The first eight lines become rules (their first byte says of which kind), the rest is the error.
/// The fast classifier must agree with the slow one, whatever both are given.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<dlo::Rule> rules;
  for (int i = 0; i < 8 && !rest.empty(); ++i) {
    const std::string_view line = take_line(rest);
    if (line.empty()) break;
    dlo::Rule rule;
    rule.name = std::to_string(i);
    rule.category = "c";
    rule.match = static_cast<dlo::MatchKind>(static_cast<unsigned char>(line.front()) % 6);
    const std::size_t bar = line.find('|');
    rule.values.emplace_back(line.substr(1, bar == std::string_view::npos ? bar : bar - 1));
    if (bar != std::string_view::npos && bar + 1 < line.size()) {
      rule.except.emplace_back(line.substr(bar + 1));
    }
    rules.push_back(std::move(rule));
  }
  const auto classifier = dlo::Classifier::build(rules, "d", "e", dlo::re2_compiler());
  if (!classifier) return 0;
  dlo::Failure failure;
  failure.code = take_line(rest);
  failure.type = take_line(rest);
  failure.status = static_cast<int>(size);
  failure.text = rest;
  const auto steps = classifier->trace(failure);
  const bool fired = !steps.empty() && steps.back().stopped_by.empty();
  const auto found = classifier->classify(failure);
  if (found.rule != (fired ? steps.back().rule : std::string_view())) std::abort();
  return 0;
}
