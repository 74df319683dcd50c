#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {
namespace {

void print_counts(Context& context, const JsonValue& numbers, const char* what, const char* name) {
  Table table({{what}, {"COUNT", Align::right}});
  for (const JsonMember& each : member(numbers, name).members) {
    table.add({each.name, std::string(each.value.raw)});
  }
  context.out << "\n";
  print(context, table);
}

/// One table for programs.
void print_all_counts(Context& context, const JsonValue& numbers) {
  Table table({{"NAME"}, {"COUNT", Align::right}});
  for (const char* part : {"status_breakdown", "lifetime_stats", "error_categories"}) {
    for (const JsonMember& each : member(numbers, part).members) {
      table.add({std::string(part) + "." + each.name, std::string(each.value.raw)});
    }
  }
  print(context, table);
}

void print_circuits(Context& context, const JsonValue& circuits) {
  if (circuits.items.empty()) {
    context.out << "\nNo executors: nobody runs what is due here (docs/retries.md).\n";
    return;
  }
  Table table({{"EXECUTOR"}, {"CIRCUIT"}, {"FAILED IN A ROW", Align::right}, {"NEXT PROBE"}});
  for (const JsonValue& each : circuits.items) {
    const auto probe = time_of(each, "probe_at");
    table.add({text_of(each, "executor"),
               text_of(each, "state") + (is_true(each, "forced") ? " (by hand)" : ""),
               text_of(each, "failures_in_a_row"), probe ? relative(*probe, context.now) : "-"});
  }
  context.out << "\n";
  print(context, table);
}

int print_numbers(Context& context, const Reply& reply) {
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << *reply.text;
    return exit_ok;
  }
  if (context.format == Format::id) return refuse_ids(context, "An account of numbers");
  const JsonValue& numbers = reply.value;
  if (context.format == Format::csv) {
    print_all_counts(context, numbers);
    return exit_ok;
  }
  const bool runs = is_true(numbers, "is_processor_running");
  context.out << text_of(numbers, "queue_size") << " of " << text_of(numbers, "max_size")
              << " open dead letters (" << text_of(numbers, "utilization_percent")
              << " %). Retries " << (runs ? "are run here.\n" : "are not run here.\n");
  print_counts(context, numbers, "STATUS", "status_breakdown");
  print_counts(context, numbers, "EVER", "lifetime_stats");
  print_circuits(context, member(numbers, "circuits"));
  for (const JsonValue& alert : member(numbers, "alerts").items) {
    context.out << "\n! " << text_of(alert, "text") << "\n";
  }
  return exit_ok;
}

}  // namespace

int retries(Context& context) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto numbers = ask_for(**client, {"GET", "/v1/retries"});
  if (!numbers) return refuse(context, numbers.error());
  return print_numbers(context, *numbers);
}

int retries_circuit(Context& context, const std::string& executor, bool open) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto done = ask_for(
      **client,
      {"POST",
       Address("/v1/retries/circuits").step(executor).step(open ? "open" : "close").text()});
  if (!done) return refuse(context, done.error());
  context.out << "The circuit of " << executor
              << (open ? " is open: nothing is sent to it until somebody closes it.\n"
                       : " is closed: what is due goes to it again.\n");
  return exit_ok;
}

}  // namespace dlo::cli
