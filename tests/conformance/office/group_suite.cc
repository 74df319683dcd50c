// Groups as issues: who may change what, regressions, repeats and how deaths lie in time.

#include "conformance/office/office_suite.h"

#include "dlo/store/rules.h"

namespace dlo::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

DeadLetter dead(std::uint64_t n, std::uint64_t group, TimePoint died_at = noon) {
  DeadLetter letter = a_letter(n);
  letter.fingerprint = {group_of(group), "title " + std::to_string(n), "text"};
  letter.died_at = died_at;
  return letter;
}

EditGroup say(std::uint64_t group, GroupStatus status, TimePoint at = noon) {
  EditGroup edit;
  edit.fingerprint = group_of(group);
  edit.status = status;
  edit.at = at;
  return edit;
}

TEST_P(OfficeSuite, AGroupIsChangedOnlyFromTheVersionThatWasRead) {
  append(dead(1, 1));
  const std::uint64_t first = group(group_of(1))->version;
  EditGroup edit = say(1, GroupStatus::acknowledged);
  edit.expected_version = first;
  const std::uint64_t second = apply_one(edit).version;
  EXPECT_GT(second, first);
  EXPECT_EQ(group(group_of(1))->version, second);
  edit.status = GroupStatus::ignored;
  EXPECT_EQ(refusal_of({edit}), Code::conflict);
  EXPECT_EQ(group(group_of(1))->status, GroupStatus::acknowledged);
}

TEST_P(OfficeSuite, DeathsAloneDoNotStandInTheWayOfAnEdit) {
  append(dead(1, 1));
  const std::uint64_t version = group(group_of(1))->version;
  append(dead(2, 1, noon + minutes{1}));
  apply_one(to(Status::resolved, 1));
  EXPECT_EQ(group(group_of(1))->version, version);
}

TEST_P(OfficeSuite, AGroupThatIsOverIsOpenedBeforeAnybodyWorksOnIt) {
  std::uint64_t n = 0;
  for (const GroupStatus over : {GroupStatus::resolved, GroupStatus::ignored}) {
    ++n;
    apply({append_of(dead(n, n)), say(n, over)});
    for (const GroupStatus next :
         {GroupStatus::acknowledged, GroupStatus::fixing, GroupStatus::snoozed}) {
      EXPECT_EQ(refusal_of({say(n, next)}), Code::conflict) << name_of(over) << name_of(next);
    }
    apply({say(n, GroupStatus::open), say(n, GroupStatus::fixing)});
    EXPECT_EQ(group(group_of(n))->status, GroupStatus::fixing);
  }
}

TEST_P(OfficeSuite, AResolvedGroupThatComesBackHasRegressed) {
  apply({append_of(dead(1, 1)), say(1, GroupStatus::resolved, noon + minutes{1})});
  EXPECT_EQ(group(group_of(1))->resolved_at, noon + minutes{1});
  EXPECT_FALSE(group(group_of(1))->regressed_at);
  const std::uint64_t version = group(group_of(1))->version;

  append(dead(2, 1, noon + minutes{2}));
  EXPECT_EQ(group(group_of(1))->regressed_at, noon + minutes{2});
  EXPECT_GT(group(group_of(1))->version, version) << "who read it resolved must look again";

  apply_one(say(1, GroupStatus::resolved, noon + minutes{3}));
  EXPECT_FALSE(group(group_of(1))->regressed_at);
  EXPECT_EQ(group(group_of(1))->resolved_at, noon + minutes{3});
}

TEST_P(OfficeSuite, DeathsOfMessagesThatWereSentBackAreRepeats) {
  append(dead(1, 1));
  EXPECT_EQ(group(group_of(1))->repeats, 0U);
  DeadLetter again = dead(1, 1, noon + minutes{1});
  again.occurrence = 2;
  again.counters.replay = 1;
  append(again);
  EXPECT_EQ(group(group_of(1))->repeats, 1U);
  Transition regroup = to(Status::pending, 1);
  regroup.fingerprint = Fingerprint{group_of(2), "title", "text"};
  apply_one(regroup);
  EXPECT_EQ(group(group_of(1))->repeats, 0U);
  EXPECT_EQ(group(group_of(2))->repeats, 1U);
}

TEST_P(OfficeSuite, DeathsAreCountedByHourAndByDay) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 1, noon + minutes{59})),
         append_of(dead(3, 1, noon + hours{1})), append_of(dead(4, 1, noon + hours{25})),
         append_of(dead(5, 2, noon + hours{1}))});
  append(dead(1, 1));  // a repeat of the same append
  apply_one(to(Status::resolved, 2));
  const std::int64_t hour = hour_of(noon);
  const std::int64_t day = day_of(noon);
  using Buckets = std::vector<TrendBucket>;
  EXPECT_EQ(group(group_of(1))->trend.hours, (Buckets{{hour, 2}, {hour + 1, 1}, {hour + 25, 1}}));
  EXPECT_EQ(group(group_of(1))->trend.days, (Buckets{{day, 3}, {day + 1, 1}}));

  Transition regroup = to(Status::pending, 3);
  regroup.fingerprint = Fingerprint{group_of(2), "title", "text"};
  apply_one(regroup);
  EXPECT_EQ(group(group_of(1))->trend.hours, (Buckets{{hour, 2}, {hour + 25, 1}}));
  EXPECT_EQ(group(group_of(2))->trend.hours, (Buckets{{hour + 1, 2}}));
}

TEST_P(OfficeSuite, GroupsAreFoundByWhatPeopleSaidOfThem) {
  EditGroup words = say(2, GroupStatus::fixing);
  words.owner = "ann";
  words.tags = std::vector<std::string>{"eu", "billing"};
  apply({append_of(dead(1, 1)), append_of(dead(2, 2, noon + minutes{1})),
         append_of(dead(3, 3, noon + minutes{2})), words, say(3, GroupStatus::ignored),
         to(Status::resolved, 1)});
  const auto found = [&](const std::function<void(GroupFilter&)>& fill, std::size_t limit = 10) {
    AggregateRequest request;
    request.groups = limit;
    fill(request.group_filter);
    std::string out;
    for (const auto& each : must(office().aggregate(request)).groups) {
      for (std::uint64_t n = 1; n <= 3; ++n) {
        if (each.fingerprint == group_of(n)) out += std::to_string(n);
      }
    }
    return out;
  };
  EXPECT_EQ(found([](GroupFilter&) {}), "321");
  EXPECT_EQ(found([](auto& f) { f.statuses = {GroupStatus::open, GroupStatus::fixing}; }), "21");
  EXPECT_EQ(found([](auto& f) { f.statuses = {GroupStatus::open, GroupStatus::fixing}; }, 1), "2");
  EXPECT_EQ(found([](auto& f) { f.owner = "ann"; }), "2");
  EXPECT_EQ(found([](auto& f) { f.owner = ""; }), "31");
  EXPECT_EQ(found([](auto& f) { f.tag = "billing"; }), "2");
  EXPECT_EQ(found([](auto& f) { f.has_open = false; }), "1");
  EXPECT_EQ(found([](auto& f) { f.has_open = true; }), "32");
  EXPECT_EQ(found([](auto& f) { f.seen_before = noon + minutes{1}; }), "1");
}

/// Every page to the last, as somebody reads them who follows what they say; too many are given up.
std::vector<Id128> page_by_page(Office& office, AggregateRequest request) {
  std::vector<Id128> out;
  for (int pages = 0; pages < 100; ++pages) {
    const Aggregate page = must(office.aggregate(request));
    for (const GroupSummary& each : page.groups) out.push_back(each.fingerprint);
    EXPECT_LE(page.groups.size(), request.groups);
    if (page.partial_at) {
      request.groups_after = page.partial_at;
    } else if (page.groups.size() == request.groups) {
      request.groups_after = place_of(page.groups.back());
    } else {
      return out;
    }
  }
  return {};
}

TEST_P(OfficeSuite, PagesOfGroupsGoOnWhereTheyEnded) {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 80; ++n) {  // several of a moment, several of a size
    changes.push_back(append_of(dead(n, 1 + n % 60, noon + minutes{n % 7})));
  }
  EditGroup words = say(7, GroupStatus::open);
  words.owner = "ann";
  changes.emplace_back(words);
  apply(changes);
  for (const GroupOrder order : {GroupOrder::last_seen, GroupOrder::open_count}) {
    for (const bool filtered : {false, true}) {
      AggregateRequest request;
      request.group_order = order;
      if (filtered) request.group_filter.owner = "ann";
      request.groups = 1'000;
      std::vector<Id128> all;
      for (const auto& each : must(office().aggregate(request)).groups) {
        all.push_back(each.fingerprint);
      }
      EXPECT_EQ(all.size(), filtered ? 1U : 60U);
      for (const std::size_t limit : {1U, 7U, 60U}) {
        request.groups = limit;
        request.time_box.reset();
        EXPECT_EQ(page_by_page(office(), request), all) << limit;
        request.time_box = Millis{0};
        EXPECT_EQ(page_by_page(office(), request), all) << limit << ", always out of time";
      }
    }
  }
}

MergeGroups merge(std::uint64_t from, std::uint64_t into) {
  return {group_of(from), group_of(into), std::nullopt};
}

std::vector<Id128> strands_of(Office& office, std::uint64_t group) {
  AggregateRequest request;
  request.only_group = group_of(group);
  std::vector<Id128> out;
  for (const auto& strand : must(office.aggregate(request)).strands) {
    out.push_back(strand.fingerprint);
  }
  return out;
}

Query in_group(std::uint64_t group) {
  Query query;
  query.group = group_of(group);
  query.limit = 2;
  return query;
}

TEST_P(OfficeSuite, AMergedGroupCountsInTheOther) {
  apply({append_of(dead(1, 1, noon + minutes{5})), append_of(dead(2, 2, noon)),
         append_of(dead(3, 2, noon + hours{1})), to(Status::resolved, 2)});
  apply_one(merge(2, 1));
  const auto whole = group(group_of(1));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->open, 2U);
  EXPECT_EQ(whole->total, 3U);
  EXPECT_EQ(whole->first_seen, noon);
  EXPECT_EQ(whole->last_seen, noon + hours{1});
  EXPECT_EQ(whole->sample, id_of(3));
  EXPECT_EQ(whole->strands, 2U);
  EXPECT_EQ(whole->trend.hours.front(), (TrendBucket{hour_of(noon), 2}));
  EXPECT_EQ(strands_of(office(), 1), (std::vector<Id128>{group_of(1), group_of(2)}));
  EXPECT_EQ(group(group_of(2))->fingerprint, group_of(1)) << "its old id leads to where it is";
  AggregateRequest all;
  all.groups = 10;
  EXPECT_EQ(must(office().aggregate(all)).groups.size(), 1U);
}

TEST_P(OfficeSuite, LaterDeathsOfAMergedGroupLandInTheOther) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 2)), merge(2, 1)});
  apply({append_of(dead(3, 2, noon + minutes{1})), append_of(dead(4, 1, noon + minutes{2}))});
  apply_one(to(Status::archived, 2));
  EXPECT_EQ(group(group_of(1))->total, 4U);
  EXPECT_EQ(group(group_of(1))->open, 3U);
  EXPECT_EQ(group(group_of(1))->last_seen, noon + minutes{2});
  apply_one(say(1, GroupStatus::resolved));
  append(dead(5, 2, noon + minutes{3}));
  EXPECT_EQ(group(group_of(1))->status, GroupStatus::open) << "any of its deaths opens it again";
}

TEST_P(OfficeSuite, AListOfAMergedGroupShowsAllOfItOnceAndInOrder) {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 9; ++n) {
    changes.push_back(append_of(dead(n, n % 3 + 1, noon + minutes{n})));
  }
  apply(changes);
  apply({to(Status::resolved, 4), merge(2, 1)});
  using Ids = std::vector<RecordId>;
  const Ids both{id_of(9), id_of(7), id_of(6), id_of(4), id_of(3), id_of(1)};
  EXPECT_EQ(ids(in_group(1)), both);
  EXPECT_EQ(ids(in_group(2)), both) << "the old id means the group it is in";
  Query oldest = in_group(1);
  oldest.order = Order::oldest_first;
  EXPECT_EQ(ids(oldest), Ids(both.rbegin(), both.rend()));
  Query others;
  others.tests = {{Field::group, "", {to_string(group_of(1))}, true}};
  EXPECT_EQ(ids(others), (Ids{id_of(8), id_of(5), id_of(2)}));
}

TEST_P(OfficeSuite, ASetThatIsFrozenDoesNotGrowByAMerge) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 2))});
  Query frozen = in_group(1);
  frozen.changed_up_to = last_change();
  Query other = in_group(2);
  other.changed_up_to = last_change();
  apply_one(merge(2, 1));
  EXPECT_EQ(ids(frozen), (std::vector<RecordId>{id_of(1)}));
  EXPECT_EQ(ids(other), (std::vector<RecordId>{id_of(2)}));
  EXPECT_EQ(ids(in_group(1)).size(), 2U);
}

TEST_P(OfficeSuite, ASplitGivesBackWhatWasMerged) {
  EditGroup words = say(2, GroupStatus::fixing);
  words.owner = "ann";
  apply({append_of(dead(1, 1)), append_of(dead(2, 2)), append_of(dead(3, 3)), words});
  apply({merge(2, 1), merge(3, 1)});
  apply({append_of(dead(4, 2, noon + hours{1})), append_of(dead(5, 1, noon + minutes{1}))});
  apply_one(SplitGroup{group_of(2), std::nullopt});

  const auto out = group(group_of(2));
  EXPECT_EQ(out->fingerprint, group_of(2));
  EXPECT_EQ(out->total, 2U);
  EXPECT_EQ(out->owner, "ann");
  EXPECT_EQ(out->status, GroupStatus::fixing);
  EXPECT_EQ(out->last_seen, noon + hours{1});
  const auto rest = group(group_of(1));
  EXPECT_EQ(rest->total, 3U);
  EXPECT_EQ(rest->last_seen, noon + minutes{1});
  EXPECT_EQ(rest->strands, 2U);
  EXPECT_EQ(ids(in_group(1)).size(), 3U);

  apply_one(SplitGroup{group_of(3), std::nullopt});
  EXPECT_EQ(group(group_of(1))->strands, 0U);
  EXPECT_TRUE(strands_of(office(), 1).empty());
  append(dead(6, 1, noon + hours{2}));
  EXPECT_EQ(group(group_of(1))->total, 3U);
  EXPECT_EQ(group(group_of(3))->total, 1U);
}

TEST_P(OfficeSuite, WhatWasMergedCanBeMergedOn) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 2)), append_of(dead(3, 3)), merge(3, 2),
         merge(2, 1)});
  EXPECT_EQ(group(group_of(3))->fingerprint, group_of(1));
  EXPECT_EQ(group(group_of(1))->total, 3U);
  apply_one(SplitGroup{group_of(2), std::nullopt});
  EXPECT_EQ(group(group_of(3))->fingerprint, group_of(1)) << "each strand is split by itself";
  EXPECT_EQ(group(group_of(1))->total, 2U);
}

TEST_P(OfficeSuite, AMergeThatMakesNoSenseIsRefused) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 2)), append_of(dead(3, 3)), merge(3, 2)});
  EXPECT_EQ(refusal_of({merge(1, 1)}), Code::invalid_argument);
  EXPECT_EQ(refusal_of({merge(9, 1)}), Code::not_found);
  EXPECT_EQ(refusal_of({merge(1, 9)}), Code::not_found);
  EXPECT_EQ(refusal_of({merge(3, 1)}), Code::not_found) << "it is no group any more";
  EXPECT_EQ(refusal_of({merge(1, 3)}), Code::not_found);
  MergeGroups old = merge(1, 2);
  old.expected_version = group(group_of(2))->version - 1;
  EXPECT_EQ(refusal_of({old}), Code::conflict);
  EXPECT_EQ(refusal_of({SplitGroup{group_of(1), std::nullopt}}), Code::not_found);
  EXPECT_EQ(refusal_of({SplitGroup{group_of(2), std::nullopt}}), Code::not_found)
      << "the group is named after it";
  EXPECT_EQ(refusal_of({SplitGroup{group_of(3), old.expected_version}}), Code::conflict);
  EXPECT_EQ(group(group_of(2))->total, 2U);
}

TEST_P(OfficeSuite, AGroupHoldsSoManyFingerprintsAndNoMore) {
  std::vector<Change> changes{append_of(dead(1, 1))};
  for (std::uint64_t n = 2; n <= 32; ++n) {
    changes.push_back(append_of(dead(n, n)));
    changes.emplace_back(merge(n, 1));
  }
  apply(changes);
  append(dead(33, 33));
  EXPECT_EQ(refusal_of({merge(33, 1)}), Code::full);
  EXPECT_EQ(group(group_of(1))->total, 32U);
  EXPECT_EQ(ids(in_group(1)).size(), 32U);
}

TEST_P(OfficeSuite, AMergeThatFailsHalfWayLeavesNothingBehind) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 2)), append_of(dead(3, 3)), merge(3, 2)});
  const std::string before = print(office(), {});
  EXPECT_EQ(refusal_of({merge(2, 1), append_of(dead(4, 3)), Remove{id_of(404)}}), Code::not_found);
  EXPECT_EQ(refusal_of({SplitGroup{group_of(3), std::nullopt}, Remove{id_of(404)}}),
            Code::not_found);
  EXPECT_EQ(print(office(), {}), before);
  EXPECT_EQ(strands_of(office(), 3), (std::vector<Id128>{group_of(2), group_of(3)}));
  EXPECT_EQ(group(group_of(1))->total, 1U);
}

TEST_P(OfficeSuite, AnIssueSurvivesARestart) {
  if (!GetParam().durable) {
    GTEST_SKIP() << "keeps nothing beyond its process, and says so";
  }
  EditGroup edit = say(1, GroupStatus::resolved);
  edit.tags = std::vector<std::string>{"billing", "", "a\nb"};
  apply({append_of(dead(1, 1)), edit, append_of(dead(2, 1, noon + hours{30})),
         append_of(dead(3, 2)), merge(2, 1)});
  const std::string before = print(*group(group_of(1)));
  reopen();
  EXPECT_EQ(print(*group(group_of(1))), before);
  EXPECT_EQ(strands_of(office(), 2), (std::vector<Id128>{group_of(1), group_of(2)}));
  append(dead(4, 2));
  EXPECT_EQ(group(group_of(1))->total, 4U);
  EXPECT_EQ(group(group_of(1))->tags, edit.tags);
}

}  // namespace
}  // namespace dlo::testing
