#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/decide.h"
#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"
#include "dlo/durable/runtime.h"
#include "dlo/json/json.h"
#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

constexpr std::array<std::string_view, 2> kinds{"orchestrations", "activities"};

Result<PoisonKind> kind_of(const PoisonArguments& arguments) {
  if (arguments.kind == kinds[0]) return PoisonKind::orchestration;
  if (arguments.kind == kinds[1]) return PoisonKind::activity;
  return Error{Code::invalid_argument, "cli.poison", unknown_name("kind", arguments.kind, kinds)};
}

/// Nobody is told: the instance failed when its item was poisoned.
class NoHooks final : public OwnerHooks {
 public:
  Result<void> fail_orchestration(const Owner&, const Poison&) override { return {}; }
  Result<void> notify_parent(const Owner&, const Poison&) override { return {}; }
  Result<void> fail_activity(const Owner&, const Poison&) override { return {}; }
  void warn(const std::string&) override {}
};

void print_table(Context& context, const std::vector<PoisonItem>& items) {
  Table table({{"ID", Align::right},
               {"INSTANCE"},
               {"ACTIVITY"},
               {"ABANDONS", Align::right},
               {"POISONED"},
               {"LAST ERROR", Align::left, true}});
  for (const PoisonItem& item : items) {
    table.add({std::to_string(item.poison_id), item.instance_id,
               item.activity ? item.activity->name : "", std::to_string(item.abandon_count),
               to_iso8601(item.poisoned_at), item.last_error.value_or("")});
  }
  if (context.format == Format::csv) {
    table.print_csv(context.out);
  } else {
    table.print(context.out, context.width);
  }
}

int answer(Context& context, const Result<bool>& done) {
  if (!done) return fail(context, done.error());
  context.out << (*done ? "true" : "false") << "\n";
  return *done ? exit_ok : exit_nothing_matched;
}

/// The office to write to and the queue an item came from; `act` does the rest.
template <typename Act>
Result<bool> with_runtime(const Context& context, PoisonKind kind, std::int64_t id,
                          const Act& act) {
  auto office = SqliteOffice::open(context.data);
  if (!office) return office.error();
  const auto detail = (*office)->extras().poison->get(kind, id);
  if (!detail) return detail.error();
  if (!*detail) return false;
  auto queues = EmbeddedQueues::open(context.data + "/queues", context.now);
  if (!queues) return queues.error();
  const std::string& source = (*detail)->work_item->source;
  auto queue = (*queues)->find(source);
  if (!queue) {
    return Error{queue.error().code, "cli.poison",
                 "The item came from " + in_quotes(source) +
                     ", which is no queue of this directory. Nothing was changed."};
  }
  auto rules = RuleBook::build(*find_profile("durable"));
  if (!rules) return rules.error();
  NoHooks hooks;
  DurableRuntime runtime(
      {**office, **queue, **queue, std::make_shared<const RuleBook>(std::move(*rules)), hooks});
  const Result<bool> done = act(runtime);
  if (!done) return done;
  if (*done) {
    const Change trail =
        AddAudit{context.now, "cli", "poison.retry", to_string((*detail)->item.record), "{}"};
    if (const auto applied = (*office)->apply({&trail, 1}); !applied) return applied.error();
  }
  if (const auto closed = (*queues)->close(); !closed) return closed.error();
  return done;
}

}  // namespace

int poison_list(Context& context, const PoisonArguments& arguments) {
  const auto kind = kind_of(arguments);
  if (!kind) return fail(context, kind.error());
  auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  std::optional<std::string> instance;
  if (!arguments.instance.empty()) instance = arguments.instance;
  const auto items = (*office)->extras().poison->list(*kind, instance);
  if (!items) return fail(context, items.error());
  if (context.format == Format::json || context.format == Format::ndjson) {
    for (const PoisonItem& item : *items) context.out << to_json(item) << "\n";
  } else if (context.format == Format::id) {
    for (const PoisonItem& item : *items) context.out << item.poison_id << "\n";
  } else if (items->empty()) {
    context.out << "Nothing is poisoned.\n";
  } else {
    print_table(context, *items);
  }
  return items->empty() ? exit_nothing_matched : exit_ok;
}

int poison_show(Context& context, const PoisonArguments& arguments) {
  const auto kind = kind_of(arguments);
  if (!kind) return fail(context, kind.error());
  auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  const auto detail = (*office)->extras().poison->get(*kind, arguments.id);
  if (!detail) return fail(context, detail.error());
  if (!*detail) {
    context.err << "dlo: There is no poisoned item " << arguments.id << " among the "
                << arguments.kind << ".\n";
    return exit_nothing_matched;
  }
  context.out << to_json(**detail) << "\n";
  return exit_ok;
}

int poison_remove(Context& context, const PoisonArguments& arguments) {
  const auto kind = kind_of(arguments);
  if (!kind) return fail(context, kind.error());
  if (!arguments.yes) {
    context.err << "dlo: This discards item " << arguments.id << " of the " << arguments.kind
                << ". Say --yes if that is meant; nothing was changed.\n";
    return exit_usage;
  }
  auto office = SqliteOffice::open(context.data);
  if (!office) return fail(context, office.error());
  const auto detail = (*office)->extras().poison->get(*kind, arguments.id);
  if (!detail) return fail(context, detail.error());
  if (!*detail) return answer(context, false);
  Transition away;
  away.id = (*detail)->item.record;
  away.to = Status::discarding;
  away.now = context.now;
  const std::vector<Change> changes{
      away, AddAudit{context.now, "cli", "poison.remove", to_string(away.id), "{}"}};
  const auto applied = (*office)->apply(changes);
  if (!applied) return fail(context, applied.error());
  return answer(context, true);
}

int poison_retry(Context& context, const PoisonArguments& arguments) {
  const auto kind = kind_of(arguments);
  if (!kind) return fail(context, kind.error());
  return answer(context, with_runtime(context, *kind, arguments.id, [&](DurableRuntime& runtime) {
                  return runtime.retry_poison(*kind, arguments.id, context.now);
                }));
}

}  // namespace dlo::cli
