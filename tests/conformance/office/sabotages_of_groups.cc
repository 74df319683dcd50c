// Broken rules about groups as issues.

#include <utility>
#include <variant>

#include "conformance/office/saboteur.h"

namespace dlo::testing {
namespace {

Hooks on_edits(std::function<void(EditGroup&)> spoil) {
  Hooks hooks;
  hooks.changes = [spoil = std::move(spoil)](std::vector<Change>& changes) {
    for (Change& change : changes) {
      if (auto* edit = std::get_if<EditGroup>(&change)) spoil(*edit);
    }
  };
  return hooks;
}

Hooks on_requests(std::function<void(AggregateRequest&)> spoil) {
  Hooks hooks;
  hooks.request = std::move(spoil);
  return hooks;
}

Hooks on_groups(std::function<void(GroupSummary&)> spoil) {
  Hooks hooks;
  hooks.numbers = [spoil = std::move(spoil)](Aggregate& numbers) {
    for (GroupSummary& group : numbers.groups) spoil(group);
  };
  return hooks;
}

void open_first(std::vector<Change>& changes) {
  std::vector<Change> more;
  for (const Change& change : changes) {
    if (const auto* edit = std::get_if<EditGroup>(&change); edit != nullptr && edit->status) {
      EditGroup open;
      open.fingerprint = edit->fingerprint;
      open.status = GroupStatus::open;
      more.emplace_back(open);
    }
    more.push_back(change);
  }
  changes = std::move(more);
}

Hooks with_edits_opening() {
  Hooks hooks;
  hooks.changes = open_first;
  return hooks;
}

template <typename Kind>
Hooks leaving_out() {
  Hooks hooks;
  hooks.apply = [](Office& office, const std::vector<Change>& changes) -> Hooks::Answers {
    std::vector<Change> fewer;
    for (const Change& change : changes) {
      if (!std::holds_alternative<Kind>(change)) fewer.push_back(change);
    }
    auto answers = office.apply(fewer);
    if (answers) answers->resize(changes.size());
    return answers;
  };
  return hooks;
}

template <typename Kind>
Hooks spoiling(std::function<void(Kind&)> spoil) {
  Hooks hooks;
  hooks.changes = [spoil = std::move(spoil)](std::vector<Change>& changes) {
    for (Change& change : changes) {
      if (auto* one = std::get_if<Kind>(&change)) spoil(*one);
    }
  };
  return hooks;
}

/// Only the fingerprint that was asked for, as if nothing had been merged.
Hooks listing_one_strand() {
  Hooks hooks;
  hooks.query = [](Query& query) {
    if (!query.group) return;
    query.tests.push_back({Field::group, "", {to_string(*query.group)}, false});
    query.changed_up_to = query.changed_up_to.value_or(0);
  };
  return hooks;
}

std::vector<Sabotage> merging() {
  return {
      {"groups are not merged", {"AMergedGroupCountsInTheOther"}, leaving_out<MergeGroups>()},
      {"a merged group does not say of how many",
       {"AMergedGroupCountsInTheOther"},
       on_groups([](GroupSummary& group) { group.strands = 0; })},
      {"groups are merged the other way round",
       {"LaterDeathsOfAMergedGroupLandInTheOther"},
       spoiling<MergeGroups>([](MergeGroups& merge) { std::swap(merge.from, merge.into); })},
      {"a list of a merged group shows a part of it",
       {"AListOfAMergedGroupShowsAllOfItOnceAndInOrder"},
       listing_one_strand()},
      {"a frozen set grows by a merge",
       {"ASetThatIsFrozenDoesNotGrowByAMerge"},
       [] {
         Hooks hooks;
         hooks.query = [](Query& query) { query.changed_up_to.reset(); };
         return hooks;
       }()},
      {"nothing is ever split",
       {"ASplitGivesBackWhatWasMerged", "WhatWasMergedCanBeMergedOn"},
       leaving_out<SplitGroup>()},
      {"the version of a merged group is not compared",
       {"AMergeThatMakesNoSenseIsRefused"},
       spoiling<MergeGroups>([](MergeGroups& merge) { merge.expected_version.reset(); })},
      {"the version of a split group is not compared",
       {"AMergeThatMakesNoSenseIsRefused"},
       spoiling<SplitGroup>([](SplitGroup& split) { split.expected_version.reset(); })},
  };
}

std::vector<Sabotage> issues() {
  return {
      {"the version of a group is not compared",
       {"AGroupIsChangedOnlyFromTheVersionThatWasRead"},
       on_edits([](EditGroup& edit) { edit.expected_version.reset(); })},
      {"every death is a new version of its group",
       {"DeathsAloneDoNotStandInTheWayOfAnEdit"},
       on_groups([](GroupSummary& group) { group.version += group.total; })},
      {"any status may follow any other",
       {"AGroupThatIsOverIsOpenedBeforeAnybodyWorksOnIt"},
       with_edits_opening()},
      {"a regression is not remembered",
       {"AResolvedGroupThatComesBackHasRegressed"},
       on_groups([](GroupSummary& group) { group.regressed_at.reset(); })},
      {"the end of a group has no moment",
       {"AResolvedGroupThatComesBackHasRegressed"},
       on_edits([](EditGroup& edit) { edit.at = TimePoint{}; })},
      {"repeats are not counted",
       {"DeathsOfMessagesThatWereSentBackAreRepeats"},
       on_groups([](GroupSummary& group) { group.repeats = 0; })},
      {"every death is a repeat",
       {"DeathsOfMessagesThatWereSentBackAreRepeats"},
       on_groups([](GroupSummary& group) { group.repeats = group.total; })},
      {"hours are not told apart",
       {"DeathsAreCountedByHourAndByDay"},
       on_groups([](GroupSummary& group) {
         if (group.trend.hours.size() > 1) group.trend.hours.pop_back();
       })},
      {"days are not counted",
       {"DeathsAreCountedByHourAndByDay"},
       on_groups([](GroupSummary& group) { group.trend.days.clear(); })},
      {"groups are found under another id",
       {"GroupsAreFoundByWhatPeopleSaidOfThem"},
       on_groups([](GroupSummary& group) { group.fingerprint = group_of(2); })},
      {"a page of groups begins at the first again",
       {"PagesOfGroupsGoOnWhereTheyEnded"},
       on_requests([](AggregateRequest& request) { request.groups_after.reset(); })},
      {"a page of groups leaves out those of the same moment",
       {"PagesOfGroupsGoOnWhereTheyEnded"},
       on_requests([](AggregateRequest& request) {
         if (request.groups_after) request.groups_after->last_seen -= Millis{1};
       })},
      {"tags are dropped", {"AnIssueSurvivesARestart"}, on_edits([](EditGroup& edit) {
         edit.tags.reset();
       })},
  };
}

}  // namespace

std::vector<Sabotage> sabotages_of_groups() {
  std::vector<Sabotage> all = issues();
  for (Sabotage& row : merging()) all.push_back(std::move(row));
  return all;
}

}  // namespace dlo::testing
