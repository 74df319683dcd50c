#include <CLI/CLI.hpp>
#include <memory>

#include "dlo/cli/grammar_on.h"
#include "dlo/cli/rules.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {
namespace {

void add_rule(const Grammar& grammar) {
  auto* command = grammar.app.add_subcommand("rule", "What the rules say of dead letters")
                      ->require_subcommand(1);
  const auto arguments = std::make_shared<RuleArguments>();
  auto* test = command->add_subcommand("test", "Of one, step by step, as the rules are now");
  test->add_option("id", arguments->id, "Its id")->required();
  auto* simulate =
      command->add_subcommand("simulate", "Of many: how many would go another way now");
  add_selection(simulate, arguments->selection, true);
  simulate->add_option("--sample", arguments->sample, "So many, the newest")
      ->check(CLI::Range(1, 5000))
      ->capture_default_str();
  for (auto* each : {test, simulate}) {
    each->add_option("--profile", arguments->profile, "By this rule set instead of their own");
  }
  on(grammar, test, arguments, rule_test);
  on(grammar, simulate, arguments, rule_simulate);
}

void add_source(const Grammar& grammar) {
  auto* command = grammar.app.add_subcommand("source", "Where messages come from: queues, reports")
                      ->alias("sources")
                      ->require_subcommand(1);
  const auto arguments = std::make_shared<SourceArguments>();
  on(grammar, command->add_subcommand("list", "Who has most to do first"), arguments, source_list);
  const auto one = [&](const char* name, const char* about) {
    auto* sub = command->add_subcommand(name, about);
    sub->add_option("source", arguments->source, "Its name")->required();
    return sub;
  };
  on(grammar, one("show", "What is known of one"), arguments, source_show);
  on(grammar, one("test", "Whether it works; nothing is taken or sent"), arguments, source_test);
  on(grammar, one("pause", "Hand out nothing until resumed"), arguments,
     [](Context& c, const SourceArguments& a) { return source_pause(c, a, true); });
  on(grammar, one("resume", "Go on handing out"), arguments,
     [](Context& c, const SourceArguments& a) { return source_pause(c, a, false); });
  auto* give_up =
      one("give-up", "Make dead letters of what waits for a source that nobody runs any more");
  give_up->add_flag("--yes", arguments->yes, "Do it; without it, only say how many they are");
  on(grammar, give_up, arguments, source_give_up);
}

}  // namespace

void add_sources(const Grammar& grammar) {
  add_rule(grammar);
  add_source(grammar);
  auto* command = grammar.app.add_subcommand(
      "migrate", "Bring an office to the format of this program; serve does it, too");
  const auto arguments = std::make_shared<MigrateArguments>();
  command->add_flag("--dry-run", arguments->dry_run, "Only say whether that is needed");
  add_data(command, grammar.context);
  command->callback([&verb = grammar.verb, arguments] {
    verb = [arguments](Context& context) { return migrate(context, *arguments); };
  });
}

void add_audit(const Grammar& grammar) {
  auto* command =
      grammar.app.add_subcommand("audit", "Who did what, chained by hash")->require_subcommand(1);
  const auto arguments = std::make_shared<AuditArguments>();
  auto* all =
      command->add_subcommand("list", "The trail, oldest first; -o ndjson exports all of it");
  auto* after =
      all->add_option("--after", arguments->after, "Go on after this entry")->capture_default_str();
  auto* limit = all->add_option("--limit", arguments->limit,
                                "So many; for programs (-o ndjson, csv, json) all unless said")
                    ->capture_default_str();
  all->add_flag("--all", arguments->all, "Everything")->excludes(limit);
  all->add_flag("--newest", arguments->newest, "Newest first")->excludes(after);
  all->add_option("--actor", arguments->actor, "Who did it");
  all->add_option("--act", arguments->acts, "One of these, with commas; job.* for all of jobs")
      ->delimiter(',');
  all->add_option("--subject", arguments->subject, "To what, or a part of it: an id");
  all->add_option("--since", arguments->since, "A moment, or how long ago: 2h");
  all->add_option("--until", arguments->until, "Before this; a moment, or how long ago");
  all->add_flag("--refused", arguments->refused, "Only what was refused");
  on(grammar, all, arguments, [limit](Context& c, AuditArguments a) {
    a.limited = limit->count() > 0;
    return audit_list(c, a);
  });
  auto* verify = command->add_subcommand("verify", "Find the first entry that was tampered with");
  verify->add_option("--head", arguments->head, "A hash printed earlier: it must still be there");
  on(grammar, verify, arguments, audit_verify);
}

}  // namespace dlo::cli
