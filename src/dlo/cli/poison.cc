#include <array>
#include <ostream>
#include <string>
#include <string_view>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/spelling.h"

namespace dlo::cli {
namespace {

constexpr std::array<std::string_view, 2> kinds{"orchestrations", "activities"};

Result<Address> address_of(const PoisonArguments& arguments) {
  if (arguments.kind != kinds[0] && arguments.kind != kinds[1]) {
    return Error{Code::invalid_argument, "cli.poison", unknown_name("kind", arguments.kind, kinds)};
  }
  return Address("/v1/poison").step(arguments.kind);
}

Table poison_table(const std::vector<JsonValue>& items) {
  Table table({{"ID", Align::right},
               {"INSTANCE"},
               {"ACTIVITY"},
               {"ABANDONS", Align::right},
               {"POISONED"},
               {"LAST ERROR", Align::left, true}});
  for (const JsonValue& item : items) {
    table.add({text_of(item, "poison_id"), text_of(item, "instance_id"),
               text_of(item, "activity_name"), text_of(item, "abandon_count"),
               text_of(item, "poisoned_at"), text_of(item, "last_error")});
  }
  return table;
}

/// Asks something whose answer is true or false.
int yes_or_no(Context& context, const PoisonArguments& arguments, const Ask& ask,
              const char* name) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, ask);
  if (!reply) return refuse(context, reply.error());
  const bool done = is_true(reply->value, name);
  print_done(context, reply->value, std::to_string(arguments.id),
             [&] { context.out << (done ? "true" : "false") << "\n"; });
  if (!done) {
    context.err << "dlo: There is no poisoned item " << arguments.id << " among the "
                << arguments.kind << ".\n";
  }
  return done ? exit_ok : exit_nothing_matched;
}

}  // namespace

int poison_list(Context& context, const PoisonArguments& arguments) {
  auto address = address_of(arguments);
  if (!address) return refuse(context, address.error());
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", address->with_some("instance", arguments.instance)
                                                   .with("after", std::to_string(arguments.after))
                                                   .with("limit", std::to_string(arguments.limit))
                                                   .text()});
  if (!reply) return refuse(context, reply.error());
  const auto& items = member(reply->value, "items").items;
  print_items(context, *reply, items, "poison_id", [&] { return poison_table(items); });
  if (items.empty()) context.err << "Nothing is poisoned.\n";
  if (const std::string next = text_of(reply->value, "next"); !next.empty()) {
    context.err << "There may be more: --after " << next << "\n";
  }
  return items.empty() ? exit_nothing_matched : exit_ok;
}

int poison_stats(Context& context, const PoisonArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply =
      ask_for(**client, {"GET", Address("/v1/poison/stats")
                                    .with_some("orchestrator_queue", arguments.orchestrator_queue)
                                    .with_some("worker_queue", arguments.worker_queue)
                                    .text()});
  if (!reply) return refuse(context, reply.error());
  if (!is_for_people(context)) {
    context.out << *reply->text << "\n";
    return exit_ok;
  }
  for (const JsonMember& each : reply->value.members) {
    context.out << std::string(each.name) << "  " << text_of(reply->value, each.name) << "\n";
  }
  return exit_ok;
}

int poison_show(Context& context, const PoisonArguments& arguments) {
  auto address = address_of(arguments);
  if (!address) return refuse(context, address.error());
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", address->step(std::to_string(arguments.id)).text()});
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "poison_id", [&] { context.out << *reply->text; });
  return exit_ok;
}

int poison_remove(Context& context, const PoisonArguments& arguments) {
  auto address = address_of(arguments);
  if (!address) return refuse(context, address.error());
  if (!arguments.yes) {
    context.err << "dlo: This discards item " << arguments.id << " of the " << arguments.kind
                << ". Say --yes if that is meant; nothing was changed.\n";
    return exit_usage;
  }
  return yes_or_no(context, arguments,
                   {"DELETE", address->step(std::to_string(arguments.id)).text()}, "removed");
}

int poison_retry(Context& context, const PoisonArguments& arguments) {
  auto address = address_of(arguments);
  if (!address) return refuse(context, address.error());
  return yes_or_no(context, arguments,
                   {"POST", address->step(std::to_string(arguments.id)).step("retry").text()},
                   "retried");
}

}  // namespace dlo::cli
