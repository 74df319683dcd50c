#include "dlo/core/explain.h"

#include <charconv>
#include <ostream>

#include "dlo/cli/client.h"
#include "dlo/cli/config_file.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/explain_replay.h"
#include "dlo/core/id.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"
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

/// What holds without a configuration, or what the one says that is named.
Result<Config> rules_of(Context& context, const ExplainArguments& arguments) {
  if (arguments.config.empty()) return Config{};
  auto reading = load_config(context, arguments.config);
  if (!reading) return reading.error();
  if (report_problems(context, arguments.config, *reading)) return std::move(reading->config);
  return Error{Code::invalid_argument, "cli.explain",
               "Correct the configuration first; `dlo config check " + arguments.config +
                   "` says the same."};
}

/// An id that lost a digit on its way is no text of an error.
bool looks_like_an_id(const std::string& text) {
  constexpr std::size_t few = 16;
  return text.size() >= few &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

/// What is supposed, and what is asked about: a text here, a dead letter in its own right.
Result<Inquiry> inquiry_of(const ExplainArguments& arguments, bool about_record) {
  if (!arguments.what.empty() && arguments.error) {
    return Error{Code::invalid_argument, "cli.explain",
                 "An error text or id stands beside --error. Say one of them."};
  }
  if (arguments.what.empty() && !arguments.error) {
    return Error{Code::invalid_argument, "cli.explain",
                 "Say what failed: an error text, or the id of a dead letter. For example: "
                 "dlo explain 'connection reset'"};
  }
  if (!about_record && looks_like_an_id(arguments.what)) {
    return Error{Code::invalid_argument, "cli.explain",
                 "'" + arguments.what +
                     "' looks like the id of a dead letter, but those have 32 "
                     "hex digits and this has " +
                     std::to_string(arguments.what.size()) +
                     ". If it is an error text, say --error."};
  }
  Inquiry inquiry;
  if (!about_record) inquiry.error = arguments.error.value_or(arguments.what);
  inquiry.profile = arguments.profile;
  inquiry.source = arguments.source;
  inquiry.event_type = arguments.event_type;
  inquiry.type = arguments.type;
  inquiry.code = arguments.code;
  inquiry.status = arguments.status;
  inquiry.attempt = arguments.attempt;
  for (const std::string& text : arguments.counters) {
    auto counter = parse_counter(text);
    if (!counter) return counter.error();
    inquiry.counters.push_back(std::move(*counter));
  }
  return inquiry;
}

std::string body_of(const Inquiry& inquiry, const std::string& id) {
  JsonWriter json;
  json.begin_object().member("id", id);
  const auto some = [&](const char* name, const std::string& value) {
    if (!value.empty()) json.member(name, value);
  };
  some("profile", inquiry.profile);
  some("source", inquiry.source);
  some("event_type", inquiry.event_type);
  some("type", inquiry.type);
  some("code", inquiry.code);
  if (inquiry.status) json.member("status", static_cast<std::uint64_t>(*inquiry.status));
  if (inquiry.attempt) json.member("attempt", *inquiry.attempt);
  if (!inquiry.counters.empty()) {
    json.key("counters").begin_object();
    for (const auto& [name, value] : inquiry.counters) json.member(name, value);
    json.end_object();
  }
  json.end_object();
  return json.take();
}

/// A record as it is read back: an answer says more than a record does.
std::string record_alone(const JsonValue& answer) {
  std::string text;
  for (const JsonMember& each : answer.members) {
    if (each.name == "notes" || each.name == "holds_key" || each.name == "masked") continue;
    text += (text.empty() ? "" : ",") + json_text(each.name) + ":" + std::string(each.value.raw);
  }
  return "{" + text + "}";
}

/// By the rules of whoever keeps it, or by those of the configuration that is named.
Result<std::string> answer_about(Context& context, const ExplainArguments& arguments,
                                 const Config& config, const Inquiry& inquiry) {
  const auto client = connect(context, Need::look);
  if (!client) return client.error();
  if (arguments.config.empty()) {
    auto reply =
        ask_for_bytes(**client, {"POST", "/v1/rules/explain", body_of(inquiry, arguments.what)});
    if (!reply) return reply.error();
    if (reply->body.ends_with('\n')) reply->body.pop_back();
    return std::move(reply->body);
  }
  const auto reply =
      ask_for(**client, {"GET", Address("/v1/dead-letters").step(arguments.what).text()});
  if (!reply) return reply.error();
  const auto detail = parse_record_detail(record_alone(reply->value));
  if (!detail) return detail.error();
  const CaseFile file{&detail->record, detail->attempts};
  auto answer = dlo::explain(config.rules, re2_compiler(), inquiry, file, context.now);
  if (!answer) return Error{Code::unavailable, answer.error().where, answer.error().detail};
  explain_replay(*answer, config.redirects, inquiry, file);
  return to_json(*answer);
}

int print_explanation(Context& context, const std::string& text) {
  const auto answer = parse_json(text);
  if (!answer) return fail(context, answer.error());
  if (const auto said = text_of(*answer, "caution"); !said.empty()) {
    context.err << "dlo: " << said << "\n";
  }
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << text << "\n";
    return exit_ok;
  }
  if (context.format == Format::csv) {
    Table table({{"STEP"}, {"TEXT"}});
    for (const JsonValue& step : member(*answer, "steps").items) {
      table.add({text_of(step, "step"), text_of(step, "text")});
    }
    print(context, table);
    return exit_ok;
  }
  for (const JsonValue& step : member(*answer, "steps").items) {
    const std::string name = text_of(step, "step");
    context.out << name << std::string(name.size() < 12 ? 12 - name.size() : 1, ' ')
                << printable(text_of(step, "text")) << "\n";
  }
  return exit_ok;
}

}  // namespace

int explain(Context& context, const ExplainArguments& arguments) {
  if (context.format == Format::id) {
    return refuse(context, {Code::invalid_argument, "cli.explain",
                            "An explanation has no id; -o is table, wide, csv, json or ndjson."});
  }
  const auto config = rules_of(context, arguments);
  if (!config) return fail(context, config.error());
  const bool about_record = parse_id(arguments.what).has_value();
  const auto inquiry = inquiry_of(arguments, about_record);
  if (!inquiry) return refuse(context, inquiry.error());
  std::string text;
  if (about_record) {
    auto told = answer_about(context, arguments, *config, *inquiry);
    if (!told) return refuse(context, told.error());
    text = std::move(*told);
  } else {
    auto told = dlo::explain(config->rules, re2_compiler(), *inquiry, {}, context.now);
    if (!told) {  // nothing is asked but what was typed
      fail(context, told.error());
      return exit_usage;
    }
    explain_replay(*told, config->redirects, *inquiry, {});
    text = to_json(*told);
  }
  return print_explanation(context, text);
}

}  // namespace dlo::cli
