#pragma once

#include <string>
#include <vector>

namespace dlo::cli {

/// What the parser knows of a verb: the one table that --help, completions and the manual are made
/// of.
struct VerbInfo {
  struct Option {
    std::vector<std::string> names;  // --limit, -o; empty: positional
    std::string value;               // what it takes; empty: a flag
    std::string about;
    std::vector<std::string> choices;
  };
  std::string name;  // "dlo", "group", "list"
  std::string path;  // " group list", with a blank ahead of each word; empty for the program
  std::vector<std::string> aliases;
  std::string about;
  std::vector<Option> options;
  std::vector<VerbInfo> verbs;
};

[[nodiscard]] std::string bash_completion(const VerbInfo& program);
[[nodiscard]] std::string zsh_completion(const VerbInfo& program);
[[nodiscard]] std::string fish_completion(const VerbInfo& program);
[[nodiscard]] std::string manual(const VerbInfo& program, const std::string& version);

}  // namespace dlo::cli
