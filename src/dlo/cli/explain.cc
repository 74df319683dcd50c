#include "dlo/core/explain.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "dlo/cli/client.h"
#include "dlo/cli/config_file.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/caution.h"
#include "dlo/core/id.h"
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

/// What is asked about: under which profile, of which source, and how it failed.
struct Subject {
  std::string profile;
  std::string source;
  Failure failure;
  std::uint32_t attempt = 1;
};

/// A dead letter as whoever keeps it shows it: it is asked what its last failure means.
Result<Subject> subject_of_record(Context& context, const std::string& id) {
  const auto client = connect(context, Need::look);
  if (!client) return client.error();
  const auto reply = ask_for(**client, {"GET", Address("/v1/dead-letters").step(id).text()});
  if (!reply) return reply.error();
  const JsonValue& record = reply->value;
  const JsonValue& why = member(record, "failure");
  Subject subject;
  subject.profile = text_of(record, "profile");
  subject.source = text_of(member(record, "message"), "source");
  subject.failure.text = bytes_of(why, "text").value_or("");
  subject.failure.type = bytes_of(why, "type").value_or("");
  subject.failure.code = text_of(why, "code");
  if (const auto status = number_of(why, "status"); status > 0) {
    subject.failure.status = static_cast<int>(status);
  }
  const auto attempt = number_of(member(record, "counters"), "attempt");
  subject.attempt = static_cast<std::uint32_t>(std::max<std::uint64_t>(attempt, 1));
  return subject;
}

/// What the command line says comes first, then what the dead letter says.
Result<Subject> subject_of(Context& context, const ExplainArguments& arguments) {
  Subject subject;
  if (!arguments.what.empty() && arguments.error) {
    return Error{Code::invalid_argument, "cli.explain",
                 "An error text or id stands beside --error. Say one of them."};
  }
  if (parse_id(arguments.what)) {
    auto found = subject_of_record(context, arguments.what);
    if (!found) return found.error();
    subject = std::move(*found);
  } else if (!arguments.what.empty() || arguments.error) {
    subject.failure.text = arguments.error.value_or(arguments.what);
  } else {
    return Error{Code::invalid_argument, "cli.explain",
                 "Say what failed: an error text, or the id of a dead letter. For example: "
                 "dlo explain 'connection reset'"};
  }
  if (!arguments.profile.empty()) subject.profile = arguments.profile;
  if (subject.profile.empty()) subject.profile = default_profile_name;
  if (!arguments.source.empty()) subject.source = arguments.source;
  if (!arguments.type.empty()) subject.failure.type = arguments.type;
  if (!arguments.code.empty()) subject.failure.code = arguments.code;
  if (arguments.status) subject.failure.status = arguments.status;
  subject.attempt = arguments.attempt.value_or(subject.attempt);
  return subject;
}

}  // namespace

int explain(Context& context, const ExplainArguments& arguments) {
  auto rules = rules_of(context, arguments);
  if (!rules) return fail(context, rules.error());
  auto subject = subject_of(context, arguments);
  if (!subject) return refuse(context, subject.error());
  auto profile = rules->find(subject->profile, subject->source);
  if (!profile) return fail(context, profile.error());
  if (const auto said = caution(*profile, subject->profile); !said.empty()) {
    context.err << "dlo: " << said << "\n";
  }
  const auto book = RuleBook::build(std::move(*profile), re2_compiler());
  if (!book) return fail(context, book.error());

  Question question;
  question.outcome.failure = std::move(subject->failure);
  question.attempt = subject->attempt;
  question.now = context.now;
  question.overrides = overrides_of(*rules, subject->source);
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
