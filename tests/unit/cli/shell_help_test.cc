#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "dlo/cli/cli.h"

namespace dlo::cli {
namespace {

std::string said(std::vector<std::string> words) {
  std::ostringstream out;
  std::ostringstream err;
  Context context{out, err};
  words.insert(words.begin(), "dlo");
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  EXPECT_EQ(run(static_cast<int>(argv.size()), argv.data(), context), exit_ok) << err.str();
  return out.str();
}

/// The verbs that --help names below `path`, each with the words that lead to it.
std::vector<std::vector<std::string>> verbs_below(const std::vector<std::string>& path) {
  std::vector<std::string> asked = path;
  asked.emplace_back("--help");
  const std::string help = said(asked);
  const auto from = help.find("Subcommands:\n");
  std::vector<std::vector<std::string>> found;
  if (from == std::string::npos) return {path};
  std::istringstream lines(help.substr(from));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    if (line[2] == ' ') continue;  // a description that goes on
    std::vector<std::string> longer = path;
    longer.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
    for (auto& each : verbs_below(longer)) found.push_back(std::move(each));
  }
  return found;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + word;
  return text;
}

std::string with_dashes_of_troff(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\\-");
  }
  return text;
}

// One table makes --help, the completions and the manual: nobody can forget a verb in one of them.
TEST(ShellHelp, EveryVerbIsInHelpManualAndCompletions) {
  const std::string bash = said({"completion", "bash"});
  const std::string zsh = said({"completion", "zsh"});
  const std::string fish = said({"completion", "fish"});
  const std::string man = said({"man"});
  const auto verbs = verbs_below({});
  ASSERT_GT(verbs.size(), 40U);
  for (const auto& verb : verbs) {
    const std::string path = joined(verb);
    EXPECT_NE(bash.find("'" + path + "') COMPREPLY="), std::string::npos) << path;
    EXPECT_NE(zsh.find("'" + path + "') found="), std::string::npos) << path;
    EXPECT_NE(fish.find("-a " + verb.back() + " "), std::string::npos) << path;
    EXPECT_NE(man.find(".SS dlo" + with_dashes_of_troff(path) + "\n"), std::string::npos) << path;
  }
}

TEST(ShellHelp, ChoicesAreOfferedWhereTheyAreTyped) {
  const std::string zsh = said({"completion", "zsh"});
  EXPECT_NE(zsh.find("' list -o'|' list --output') compadd -- table wide json ndjson csv id"),
            std::string::npos);
  const std::string fish = said({"completion", "fish"});
  EXPECT_NE(fish.find(" -x -a 'table wide json ndjson csv id'"), std::string::npos);
}

TEST(ShellHelp, TheManualIsPlainAsciiForTroff) {
  const std::string man = said({"man"});
  for (const char c : man) ASSERT_LT(static_cast<unsigned char>(c), 0x80U);
  EXPECT_NE(man.find("\\[u2026]"), std::string::npos) << "an ellipsis in a description";
}

TEST(ShellHelp, OptionsAndTheirChoicesAreThere) {
  const std::string bash = said({"completion", "bash"});
  EXPECT_NE(bash.find("--oldest-first"), std::string::npos);
  EXPECT_NE(bash.find("' group list --order' ]] && { COMPREPLY=($(compgen -W 'open seen'"),
            std::string::npos);
  const std::string man = said({"man"});
  EXPECT_NE(man.find(".B \\-\\-canary"), std::string::npos);
  EXPECT_NE(man.find(".SH EXIT STATUS"), std::string::npos);
  const std::string fish = said({"completion", "fish"});
  EXPECT_NE(fish.find("__dlo_path ' group list'\" -l order -x"), std::string::npos);
}

}  // namespace
}  // namespace dlo::cli
