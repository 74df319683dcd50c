#include "dlo/cli/rules.h"

#include <ostream>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

void print_simulation(Context& context, const JsonValue& answer) {
  context.out << "Looked at " << text_of(answer, "looked_at") << " dead letters"
              << (is_true(answer, "all") ? "" : ", the newest") << "; the rules say otherwise of "
              << text_of(answer, "changed") << " now.\n";
  for (const JsonMember& each : member(answer, "verdicts").members) {
    context.out << "  " << each.name << " " << each.value.raw << "\n";
  }
  Table table({{"WAS"}, {"BECOMES"}, {"COUNT", Align::right}});
  for (const JsonValue& each : member(answer, "categories").items) {
    table.add({text_of(each, "was"), text_of(each, "becomes"), text_of(each, "count")});
  }
  print(context, table);
  for (const JsonValue& each : member(answer, "examples").items) {
    context.out << text_of(each, "id") << "  " << text_of(each, "rule_was") << " → "
                << text_of(each, "rule_becomes") << ", " << text_of(each, "verdict") << "\n";
  }
}

}  // namespace

int rule_test(Context& context, const RuleArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  JsonWriter json;
  json.begin_object().member("id", arguments.id);
  if (!arguments.profile.empty()) json.member("profile", arguments.profile);
  json.end_object();
  const auto reply = ask_for(**client, {"POST", "/v1/rules/explain", json.take()});
  if (!reply) return refuse(context, reply.error());
  print_done(context, reply->value, arguments.id, [&] {
    for (const JsonValue& step : member(reply->value, "steps").items) {
      const std::string name = text_of(step, "step");
      context.out << name << std::string(name.size() < 12 ? 12 - name.size() : 1, ' ')
                  << printable(text_of(step, "text")) << "\n";
    }
  });
  return exit_ok;
}

int rule_simulate(Context& context, const RuleArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  JsonWriter json;
  json.begin_object().member("query", query_of(arguments.selection));
  json.member("sample", arguments.sample);
  if (!arguments.profile.empty()) json.member("profile", arguments.profile);
  json.end_object();
  const auto reply = ask_for(**client, {"POST", "/v1/rules/simulate", json.take()});
  if (!reply) return refuse(context, reply.error());
  if (context.format == Format::id) return refuse_ids(context, "A simulation");
  print_one(context, reply->value, "looked_at", [&] { print_simulation(context, reply->value); });
  return number_of(reply->value, "looked_at") == 0 ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
