#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "dlo/cli/acts.h"
#include "dlo/cli/grammar_on.h"

namespace dlo::cli {
namespace {

void add_will(CLI::App* command, JobWill& will) {
  command->add_flag("--yes,-y", will.yes, "Do not ask");
  command->add_flag("--dry-run", will.dry_run, "Only say what would be done");
  command->add_flag("--wait", will.wait, "Until it is over, with a progress bar");
}

void add_bulk(CLI::App* command, BulkArguments& bulk) {
  command->add_option("id", bulk.ids, "Ids; - reads them from standard input");
  add_selection(command, bulk.selection, false);
  command->add_option("--limit", bulk.limit, "Not more than this many");
  command->add_option("--rate", bulk.rate, "Not more than this many a second");
  command->add_option("--notes,--reason", bulk.notes, "Why; kept, and in the audit trail");
  add_will(command, bulk.will);
}

void add_act(const Grammar& grammar, const char* name, const char* about) {
  auto* command = grammar.app.add_subcommand(name, about);
  const auto bulk = std::make_shared<BulkArguments>();
  add_bulk(command, *bulk);
  const std::string act_name = name;
  if (act_name == "resolve") {
    command->add_option("--by", bulk->by, "Who dealt with it, if not you");
    command->add_option("--how", bulk->how, "manual, unless said otherwise");
  }
  if (act_name == "restore") command->alias("undo");
  on(grammar, command, bulk,
     [act_name](Context& c, const BulkArguments& a) { return act(c, act_name, a); });
}

}  // namespace

void add_acts(const Grammar& grammar) {
  add_act(grammar, "resolve", "Close dead letters: somebody has dealt with them");
  add_act(grammar, "archive", "Hide dead letters; restore brings them back");
  add_act(grammar, "discard", "Give dead letters up; restore brings them back for a while");
  add_act(grammar, "restore", "Take back a resolve, archive or discard");
  add_act(grammar, "quarantine", "Set dead letters aside: nothing automatic touches them");
  add_act(grammar, "retry", "Run them again where they failed; their count goes on");
  auto* noting = grammar.app.add_subcommand("note", "Write something down about a dead letter");
  const auto words = std::make_shared<NoteArguments>();
  noting->add_option("id", words->id)->required();
  noting->add_option("text", words->text)->required();
  noting->add_option("--by", words->by, "Who says so, if not you");
  on(grammar, noting, words, note);
  auto* tagging = grammar.app.add_subcommand(
      "tag", "Tags of a dead letter, or of all that match; tag:NAME finds them");
  const auto tags = std::make_shared<TagArguments>();
  tagging->add_option("id", tags->id, "Its id; none with a query, which is a job");
  tagging->add_option("add,--add", tags->add, "Tags to add");
  tagging->add_option("--remove", tags->remove, "Tags to take away");
  add_selection(tagging, tags->bulk.selection, false);
  tagging->add_option("--limit", tags->bulk.limit, "Not more than this many");
  tagging->add_option("--rate", tags->bulk.rate, "Not more than this many a second");
  tagging->add_option("--notes,--reason", tags->bulk.notes, "Why; kept, and in the audit trail");
  add_will(tagging, tags->bulk.will);
  on(grammar, tagging, tags, tag);
}

void add_replay(const Grammar& grammar) {
  auto* command = grammar.app
                      .add_subcommand("replay",
                                      "Send dead letters back: plans, asks, and works as "
                                      "a job that survives")
                      ->alias("redrive")
                      ->alias("requeue");
  const auto arguments = std::make_shared<ReplayArguments>();
  add_bulk(command, arguments->bulk);
  command->add_option(
      "--to", arguments->to,
      "Queue, amqp:QUEUE or amqp:EXCHANGE/KEY on RabbitMQ, or exec:NAME for an executor; "
      "default: where each came from");
  command->add_option("--canary", arguments->canary,
                      "Send this many first and wait what becomes of them, then more and more");
  command->add_option("--stop-if-fail", arguments->stop_if_fail,
                      "With --canary: stop if more than this come back [5%]");
  command->add_option("--watch-for", arguments->watch,
                      "What is not back after this counts as cured; 1m unless said otherwise");
  command->add_option("--max-replays", arguments->max_replays,
                      "Quarantine what was sent this often before");
  command->add_flag("--quarantined-too", arguments->quarantined_too,
                    "Those too that were set aside: by hand, by the loop guard, after a crash");
  command->add_flag("--again", arguments->again,
                    "Those too that were sent back and whose outcome is still awaited");
  command->add_option("--strip,--strip-header", arguments->strip, "Headers to leave out")
      ->delimiter(',');
  command->add_option("--set-header", arguments->set_headers, "NAME=VALUE, instead of what it has");
  command->add_option("--recipe", arguments->recipe, "Repair each by this recipe first");
  command->add_option("--patch", arguments->patch, "... or by the steps in this file");
  command->add_option("--at", arguments->at, "Begin then: 2026-03-01T02:00:00Z, or 2h from now");
  command
      ->add_option("--concurrency", arguments->concurrency,
                   "Not more than this many on their way, their outcome unknown")
      ->check(CLI::Range(1, 1000));
  auto* order =
      command
          ->add_option("--order", arguments->order,
                       "oldest, newest, or key: none of a key before the one before it is cured")
          ->check(CLI::IsMember({"oldest", "newest", "key"}));
  command->add_flag("--newest-first", arguments->bulk.newest_first)->excludes(order);
  on(grammar, command, arguments, replay);
}

void add_jobs(const Grammar& grammar) {
  auto* jobs = grammar.app.add_subcommand("job", "Bulk acts, and how far they are")
                   ->alias("jobs")
                   ->require_subcommand(1);
  const auto listed = std::make_shared<JobListArguments>();
  auto* all = jobs->add_subcommand("list", "Jobs, newest first");
  all->add_option("--limit", listed->limit)->check(CLI::Range(1, 500))->capture_default_str();
  all->add_option("--state", listed->states, "Only these: planned, running, failed, …")
      ->delimiter(',');
  all->add_option("--act", listed->acts, "Only these: replay, discard, …")->delimiter(',');
  all->add_option("--cursor", listed->cursor, "Go on after an earlier list");
  add_watch(all, listed->watch);
  add_output(all, grammar.context);
  on(grammar, all, listed, job_list);
  const auto job = std::make_shared<JobArguments>();
  const auto will = std::make_shared<JobWill>();
  const auto one = [&](const char* name, const char* about) {
    auto* sub = jobs->add_subcommand(name, about);
    sub->add_option("job", job->id, "Job id")->required();
    return sub;
  };
  auto* shown = one("show", "What a job does, and how far it is");
  add_output(shown, grammar.context);
  on(grammar, shown, job, job_show);
  auto* items = one("items", "What became of each dead letter of a job");
  items->add_option("--outcome", job->outcome, "Only these: ok, refused, changed, returned, …");
  add_output(items, grammar.context);
  on(grammar, items, job, job_items);
  on(grammar, one("watch", "Follow a job to its end"), job, job_watch);
  auto* again = one("retry-failed", "The same once more, for those it could not do");
  add_will(again, *will);
  on(grammar, again, job,
     [will](Context& c, const JobArguments& a) { return job_retry_failed(c, a, *will); });
  for (const auto& [name, about] : {std::pair{"start", "Begin a planned job"},
                                    std::pair{"pause", "Stop for now; resume goes on"},
                                    std::pair{"resume", "Go on with a paused job"},
                                    std::pair{"cancel", "Stop for good; what was done stays"}}) {
    auto* sub = one(name, about);
    sub->add_flag("--wait", will->wait, "Until it is over");
    on(grammar, sub, job, [will, verb = std::string(name)](Context& c, const JobArguments& a) {
      return job_change(c, a, verb, *will);
    });
  }
}

namespace {

void add_group_parts(const Grammar& grammar, CLI::App* groups) {
  const auto arguments = std::make_shared<GroupPartsArguments>();
  const auto one = [&](const char* name, const char* about) {
    auto* sub = groups->add_subcommand(name, about);
    sub->add_option("group", arguments->id, "Group id")->required();
    return sub;
  };
  auto* merge = one("merge", "Other groups become part of it, with what dies of them later");
  merge->add_option("from", arguments->others, "Ids of these groups")->required();
  on(grammar, merge, arguments, group_merge);
  auto* unmerge = one("unmerge", "A fingerprint that was merged is a group of its own again");
  unmerge->add_option("fingerprint", arguments->others, "As 'group show' names them")->required();
  on(grammar, unmerge, arguments, group_unmerge);
  auto* split = one("split", "Dead letters that have this value become a group of their own");
  split->add_option("--by", arguments->by, "FACET=VALUE, such as build=1.4.2")->required();
  split->add_flag("--dry-run", arguments->will.dry_run, "Only say how many have it");
  split->add_flag("--wait", arguments->will.wait, "Until it is over");
  on(grammar, split, arguments, group_split);
  auto* facets = one("facets", "What its dead letters have in common, with shares");
  add_output(facets, grammar.context);
  on(grammar, facets, arguments, group_facets);
  auto* trend = one("trend", "Deaths by hour");
  trend->add_flag("--days", arguments->days, "By day");
  add_output(trend, grammar.context);
  on(grammar, trend, arguments, group_trend);
}

}  // namespace

void add_groups(const Grammar& grammar) {
  auto* groups = grammar.app.add_subcommand("group", "Dead letters of one cause, together")
                     ->alias("groups")
                     ->require_subcommand(1);
  const auto arguments = std::make_shared<GroupArguments>();
  auto* all = groups->add_subcommand("list", "Every group");
  all->add_option("--order", arguments->order, "open (most first) or seen (newest first)")
      ->check(CLI::IsMember({"open", "seen"}))
      ->capture_default_str();
  all->add_option("--limit", arguments->limit)->check(CLI::Range(1, 500))->capture_default_str();
  all->add_option("--status", arguments->statuses, "Only these: open, fixing, snoozed, …")
      ->delimiter(',');
  all->add_option("--owner", arguments->owner, "Only those of somebody");
  all->add_option("--tag", arguments->tag, "Only those that have it");
  all->add_option("--cursor", arguments->cursor, "Go on after an earlier list");
  add_watch(all, arguments->watch);
  add_output(all, grammar.context);
  on(grammar, all, arguments, group_list);
  const auto one = [&](const char* name, const char* about) {
    auto* sub = groups->add_subcommand(name, about);
    sub->add_option("group", arguments->id, "Group id")->required();
    return sub;
  };
  auto* shown = one("show", "What is known of a group");
  add_output(shown, grammar.context);
  on(grammar, shown, arguments, group_show);
  auto* resolve = one("resolve", "Resolve what is open of it, and the group");
  resolve->add_option("--notes,--reason", arguments->bulk.notes, "Why; kept with the group");
  resolve->add_option("--by", arguments->bulk.by, "Who dealt with it, if not you");
  add_will(resolve, arguments->bulk.will);
  on(grammar, resolve, arguments, group_resolve);
  for (const auto& [name, status, about] :
       {std::tuple{"ack", "acknowledged", "Somebody has seen it"},
        std::tuple{"fixing", "fixing", "Somebody works on it"},
        std::tuple{"ignore", "ignored", "Nobody has to care"},
        std::tuple{"reopen", "open", "Somebody has to care again"}}) {
    on(grammar, one(name, about), arguments,
       [becomes = std::string(status)](Context& c, const GroupArguments& a) {
         return group_status(c, a, becomes);
       });
  }
  auto* snooze = one("snooze", "Not now");
  snooze->add_option("length", arguments->length, "Such as 4h or 2d")->required();
  on(grammar, snooze, arguments,
     [](Context& c, const GroupArguments& a) { return group_status(c, a, "snoozed"); });
  auto* assign = one("assign", "Make it somebody's");
  assign->add_option("owner", arguments->owner)->required();
  on(grammar, assign, arguments, group_assign);
  auto* ticket = one("ticket", "Link the ticket");
  ticket->add_option("url", arguments->text)->required();
  on(grammar, ticket, arguments, group_ticket);
  auto* noting = one("note", "Add a line to its notes; they survive replays");
  noting->add_option("text", arguments->text)->required();
  on(grammar, noting, arguments, group_note);
  add_group_parts(grammar, groups);
}

}  // namespace dlo::cli
