#include "dlo/regex/re2_compiler.h"

#include <re2/re2.h>
#include <re2/set.h>
#include <utility>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

RE2::Options options() {
  RE2::Options chosen;
  chosen.set_log_errors(false);  // errors are returned, not printed
  chosen.set_never_capture(true);
  return chosen;
}

Error refuse(const std::string& pattern, const std::string& why) {
  return {Code::invalid_argument, "regex.compile",
          in_quotes(pattern) + " is not a pattern RE2 understands: " + why +
              ". Back-references and look-around are not supported."};
}

/// All patterns as one automaton. If that runs out of its memory budget on some text, each pattern
/// is asked by itself: slower, never wrong.
class Re2Set final : public RegexSet {
 public:
  Re2Set() : set_(options(), RE2::UNANCHORED) {}

  Result<void> add(const std::string& pattern) {
    auto alone = std::make_unique<RE2>(pattern, options());
    if (!alone->ok()) return refuse(pattern, alone->error());
    std::string why;
    if (set_.Add(pattern, &why) < 0) return refuse(pattern, why);
    alone_.push_back(std::move(alone));
    return {};
  }

  void compile() { usable_ = set_.Compile(); }

  void match(std::string_view text, std::vector<bool>& hits) const override {
    const re2::StringPiece piece(text.data(), text.size());
    if (usable_) {
      std::vector<int> found;
      RE2::Set::ErrorInfo info{};
      if (set_.Match(piece, &found, &info)) {
        for (const int index : found) hits[static_cast<std::size_t>(index)] = true;
        return;
      }
      if (info.kind == RE2::Set::kNoError) return;
    }
    for (std::size_t i = 0; i < alone_.size(); ++i) {
      hits[i] = RE2::PartialMatch(piece, *alone_[i]);
    }
  }

 private:
  RE2::Set set_;
  bool usable_ = false;
  std::vector<std::unique_ptr<RE2>> alone_;
};

}  // namespace

RegexCompiler re2_compiler() {
  return [](std::span<const std::string> patterns) -> Result<std::shared_ptr<const RegexSet>> {
    auto set = std::make_shared<Re2Set>();
    for (const std::string& pattern : patterns) {
      if (auto added = set->add(pattern); !added) return added.error();
    }
    set->compile();
    return std::shared_ptr<const RegexSet>(std::move(set));
  };
}

}  // namespace dlo
