#include "dlo/core/explain.h"

#include <charconv>
#include <ostream>

#include "dlo/cli/config_file.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/json/json.h"
#include "dlo/regex/re2_compiler.h"

namespace dlo::cli {
namespace {

Result<std::pair<std::string, std::uint32_t>> parse_counter(const std::string& text) {
  const auto equals = text.find('=');
  std::uint32_t value = 0;
  if (equals != std::string::npos) {
    const char* from = text.data() + equals + 1;
    const char* to = text.data() + text.size();
    const auto [end, error] = std::from_chars(from, to, value);
    if (error == std::errc() && end == to && from != to) {
      return std::pair(text.substr(0, equals), value);
    }
  }
  return Error{Code::invalid_argument, "cli.explain",
               "'" + text + "' is not NAME=NUMBER. For example: --counter fetch=3"};
}

/// The built-in profiles, and those of a configuration if one is named.
Result<ProfileBook> rules_of(Context& context, const ExplainArguments& arguments) {
  if (arguments.config.empty()) return ProfileBook{};
  auto reading = load_config(context, arguments.config);
  if (!reading) return reading.error();
  if (report_problems(context, arguments.config, *reading)) return reading->config.rules;
  return Error{Code::invalid_argument, "cli.explain",
               "Correct the configuration first; `dlo config check " + arguments.config +
                   "` says the same."};
}

/// What the configuration says of this source alone, so that the answer names it.
std::vector<AppliedOverride> overrides_of(const ProfileBook& rules, const std::string& source) {
  std::vector<AppliedOverride> all;
  const auto found = rules.sources().find(source);
  if (found == rules.sources().end()) return all;
  const Override& said = found->second;
  if (said.limit) all.push_back({"limit", std::to_string(*said.limit), "source " + source});
  if (said.policy) all.push_back({"retry", print(*said.policy), "source " + source});
  return all;
}

}  // namespace

int explain(Context& context, const ExplainArguments& arguments) {
  auto rules = rules_of(context, arguments);
  if (!rules) return fail(context, rules.error());
  auto profile = rules->find(arguments.profile, arguments.source);
  if (!profile) return fail(context, profile.error());
  const auto book = RuleBook::build(std::move(*profile), re2_compiler());
  if (!book) return fail(context, book.error());

  Question question;
  question.outcome.failure.text = arguments.error;
  question.outcome.failure.type = arguments.type;
  question.outcome.failure.code = arguments.code;
  question.outcome.failure.status = arguments.status;
  question.attempt = arguments.attempt;
  question.now = context.now;
  question.overrides = overrides_of(*rules, arguments.source);
  for (const std::string& text : arguments.counters) {
    auto counter = parse_counter(text);
    if (!counter) return fail(context, counter.error());
    question.counters.push_back(std::move(*counter));
  }
  const auto answer = dlo::explain(*book, question);
  if (!answer) return fail(context, answer.error());
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << to_json(*answer) << "\n";
    return exit_ok;
  }
  if (context.format == Format::id) {
    return refuse(context, {Code::invalid_argument, "cli.explain",
                            "An explanation has no id; -o is table, wide, csv, json or ndjson."});
  }
  if (context.format == Format::csv) {
    Table table({{"STEP"}, {"TEXT"}});
    for (const ExplainStep& step : answer->steps) table.add({std::string(step.step), step.text});
    print(context, table);
    return exit_ok;
  }
  for (const ExplainStep& step : answer->steps) {
    context.out << std::string(step.step)
                << std::string(step.step.size() < 12 ? 12 - step.step.size() : 1, ' ') << step.text
                << "\n";
  }
  return exit_ok;
}

}  // namespace dlo::cli
