#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/grammar_on.h"
#include "dlo/cli/output.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

struct ReportArguments {
  std::string source;
  std::string profile = "workflow+safe";
  std::string task_id;
  std::string task;  // JSON; `-`: from standard input
  std::vector<std::string> targets;
  std::string error;
  std::string report_template;
  std::string category;
  std::string policy;
  std::optional<std::uint32_t> max_retries;
  std::string priority;
  std::vector<std::string> depends_on;
  std::string metadata;  // JSON
  bool requested = false;
};

void write_some(JsonWriter& json, const char* name, const std::string& value) {
  if (!value.empty()) json.key(name).text(value);
}

void write_list(JsonWriter& json, const char* name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  json.key(name).begin_array();
  for (const std::string& value : values) json.text(value);
  json.end_array();
}

/// What is JSON already is handed on as it stands, once it is known to be that.
Result<void> write_json_text(JsonWriter& json, const char* name, const std::string& text) {
  if (text.empty()) return {};
  if (const auto read = parse_json(text); !read) {
    return Error{Code::invalid_argument, "cli.report",
                 "--" + std::string(name) + " is no JSON: " + read.error().detail};
  }
  json.key(name).raw(text);
  return {};
}

Result<std::string> body_of(const ReportArguments& arguments, const std::string& task) {
  JsonWriter json;
  json.begin_object();
  json.key("source").text(arguments.source).key("profile").text(arguments.profile);
  json.key("error").text(arguments.error);
  write_some(json, "task_id", arguments.task_id);
  if (auto written = write_json_text(json, "task", task); !written) return written.error();
  write_list(json, "targets", arguments.targets);
  write_some(json, "template", arguments.report_template);
  write_some(json, "category", arguments.category);
  write_some(json, "policy", arguments.policy);
  if (arguments.max_retries) json.member("max_retries", std::uint64_t{*arguments.max_retries});
  write_some(json, "priority", arguments.priority);
  write_list(json, "depends_on", arguments.depends_on);
  if (auto written = write_json_text(json, "metadata", arguments.metadata); !written) {
    return written.error();
  }
  if (arguments.requested) json.key("requested").boolean(true);
  json.end_object();
  return json.take();
}

void tell(Context& context, const JsonValue& told) {
  if (!is_true(told, "stored")) {
    context.out << "Not kept: " << text_of(told, "reason") << "\n";
    return;
  }
  context.out << text_of(told, "dlq_task_id") << " is kept as " << text_of(told, "id") << ", "
              << text_of(told, "category") << ".\n";
  if (!is_true(told, "durable")) {
    context.out << "The office cannot be written: it is in memory only until it can.\n";
  }
  std::string others;
  for (const JsonValue& task : member(told, "waits_for").items) {
    others += (others.empty() ? "" : ", ") + task.text();
  }
  const auto next = time_of(told, "next_retry_at");
  if (!others.empty()) {
    context.out << "It waits for " << others << ".\n";
  } else if (next) {
    context.out << "Next retry " << when(context, next) << " (" << text_of(told, "policy")
                << ", at most " << text_of(told, "limit") << ").\n";
  } else {
    context.out << "It is not retried (" << text_of(told, "reason") << ").\n";
  }
}

int report(Context& context, const ReportArguments& arguments) {
  std::string task = arguments.task;
  if (task == "-") {
    task.clear();
    if (context.in != nullptr) task.assign(std::istreambuf_iterator<char>(*context.in), {});
  }
  const auto body = body_of(arguments, task);
  if (!body) return refuse(context, body.error());
  const auto client = connect(context, Need::make);
  if (!client) return refuse(context, client.error());
  const auto told = ask_for(**client, {"POST", "/v1/dead-letters", *body});
  if (!told) return refuse(context, told.error());
  print_one(context, told->value, "id", [&] { tell(context, told->value); });
  return is_true(told->value, "stored") ? exit_ok : exit_error;
}

}  // namespace

void add_report(const Grammar& grammar) {
  auto* command =
      grammar.app.add_subcommand("report", "Hand a failed task over, so that it is retried");
  const auto arguments = std::make_shared<ReportArguments>();
  command->add_option("--source", arguments->source, "Where it comes from")->required();
  command->add_option("--error", arguments->error, "Why it failed")->required();
  command->add_option("--profile", arguments->profile, "The rule set that decides")
      ->capture_default_str();
  command->add_option("--task-id", arguments->task_id, "Default: a new one, wf_...");
  command->add_option("--task", arguments->task, "JSON; - reads standard input");
  command->add_option("--target", arguments->targets, "Where it was to act; may be repeated");
  command->add_option("--template", arguments->report_template,
                      "Policy, limit, category, metadata in one word, such as rate-limit; what is "
                      "said besides wins");
  command->add_option("--category", arguments->category, "Instead of what the rules would find");
  command->add_option("--policy", arguments->policy,
                      "never, linear, exponential, immediate, or one in full");
  command->add_option("--max-retries", arguments->max_retries, "0: kept, and exhausted at once");
  command->add_option("--priority", arguments->priority, "low, normal (or medium) or high");
  command->add_option("--depends-on", arguments->depends_on,
                      "A task that has to succeed before; may be repeated");
  command->add_option("--metadata", arguments->metadata, "JSON");
  command->add_flag("--requested", arguments->requested, "Keep it although the strategy is manual");
  on(grammar, command, arguments,
     [](Context& context, const ReportArguments& said) { return report(context, said); });
}

}  // namespace dlo::cli
