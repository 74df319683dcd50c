// Broken rules about appending, lists, transitions, attempts, versions, documents and restarts.

#include <algorithm>
#include <map>

#include "conformance/office/spoiling.h"

namespace dlo::testing {
namespace {

Hooks on_apply(std::function<Hooks::Answers(Office&, const std::vector<Change>&)> apply) {
  Hooks hooks;
  hooks.apply = std::move(apply);
  return hooks;
}

DeadLetterPtr changed(const DeadLetterPtr& record, const std::function<void(DeadLetter&)>& change) {
  if (!record) return record;
  DeadLetter copy = *record;
  change(copy);
  return std::make_shared<const DeadLetter>(std::move(copy));
}

void change_message(RecordDetail& detail, const std::function<void(Message&)>& change) {
  Message message = *detail.record.message;
  change(message);
  detail.record.message = share(std::move(message));
}

Hooks::Answers one_by_one(Office& office, const std::vector<Change>& changes) {
  std::vector<Applied> answers;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto answer = office.apply(std::span(&changes[i], 1));
    if (!answer) return answer;
    answers.push_back(answer->front());
  }
  return answers;
}

Hooks settling_any_occurrence() {
  return on_apply([](Office& office, std::vector<Change> changes) -> Hooks::Answers {
    for (Change& change : changes) {
      auto* one = std::get_if<SourceSettled>(&change);
      if (one == nullptr) continue;
      const auto known = office.get(one->id);
      if (known) one->occurrence = known->record.occurrence;
    }
    return office.apply(changes);
  });
}

Hooks refusing_to_settle_what_is_gone() {
  return on_apply([](Office& office, const std::vector<Change>& changes) -> Hooks::Answers {
    for (const Change& change : changes) {
      const auto* one = std::get_if<SourceSettled>(&change);
      if (one == nullptr) continue;
      if (auto known = office.get(one->id); !known) return known.error();
    }
    return office.apply(changes);
  });
}

/// Says that it was done, though it was refused with `code`.
Hooks claiming_success_of(Code code) {
  return on_apply([code](Office& office, const std::vector<Change>& changes) -> Hooks::Answers {
    auto answer = office.apply(changes);
    if (answer || answer.error().code != code) return answer;
    return std::vector<Applied>(changes.size());
  });
}

Hooks with_progress_first() {
  return on_apply([](Office& office, const std::vector<Change>& changes) -> Hooks::Answers {
    for (const Change& change : changes) {
      if (std::holds_alternative<JobCheckpoint>(change)) {
        if (auto answer = office.apply(std::span(&change, 1)); !answer) return answer;
      }
    }
    return office.apply(changes);
  });
}

Hooks without_place_in_errors() {
  return on_apply([](Office& office, const std::vector<Change>& changes) -> Hooks::Answers {
    auto answer = office.apply(changes);
    if (answer) return answer;
    return Error{answer.error().code, answer.error().where, "it did not work"};
  });
}

Hooks keeping_resolutions() {
  auto seen = std::make_shared<std::map<RecordId, Resolution>>();
  return on_detail([seen](RecordDetail& detail) {
    if (detail.record.resolution) {
      seen->insert_or_assign(detail.record.id, *detail.record.resolution);
    } else if (const auto old = seen->find(detail.record.id); old != seen->end()) {
      detail.record.resolution = old->second;
    }
  });
}

Hooks forgetting_on_restart() {
  Hooks hooks;
  hooks.forgets_on_restart = true;
  return hooks;
}

Hooks with_every_occurrence_new() {
  auto last = std::make_shared<std::uint32_t>(0);
  return spoiling<Append>([last](Append& append) {
    append.record = changed(append.record, [&](DeadLetter& r) { r.occurrence = ++*last; });
  });
}

Hooks with_all_appends(std::function<void(DeadLetter&)> change) {
  return spoiling<Append>([change = std::move(change)](Append& append) {
    append.record = changed(append.record, change);
  });
}

void cut_at_nul(std::string& text) {
  text = text.substr(0, text.find('\0'));
}

std::vector<Sabotage> appends() {
  return {
      {"every append is a new occurrence",
       {"AppendingTheSameDeathTwiceChangesNothing",
        "ALateRepeatOfAnEarlierOccurrenceChangesNothing", "ARepeatedAppendIsNoSecondDeath",
        "TheSameRecordTwiceInOneListIsOneRecord"},
       with_every_occurrence_new()},
      {"a closed record swallows what comes back",
       {"ANewDeathUnderAClosedRecordOpensTheNextOccurrence",
        "ARecordOfEmptyFieldsComesBackAsEmptyFields"},
       with_all_appends([](DeadLetter& r) { r.died_at = noon; })},
      {"occurrences are forgotten",
       {"TheNextOccurrenceTakesOverTheRecord", "ACountFollowsItsRecordToAnotherSource"},
       with_all_appends([](DeadLetter& r) { r.occurrence = 1; })},
      {"messages that wait arrive dead",
       {"AWaitingRecordStaysWaitingWhileItIsClaimed", "MessagesThatWaitAreInNoGroup"},
       with_all_appends([](DeadLetter& r) {
         if (r.status == Status::waiting) r.status = Status::pending;
       })},
      {"attempts given with an append are dropped",
       {"ARecordComesBackByteForByte"},
       spoiling<Append>([](Append& append) { append.attempts.clear(); })},
      {"text ends at a NUL",
       {"ARecordComesBackByteForByte", "EveryByteIsKeptEverywhere"},
       on_detail([](RecordDetail& d) { cut_at_nul(d.record.description); })},
      {"headers are sorted", {"TenThousandHeadersKeepTheirOrder"}, on_detail([](RecordDetail& d) {
         change_message(d, [](Message& m) {
           std::stable_sort(m.headers.begin(), m.headers.end(),
                            [](const Header& a, const Header& b) { return a.name < b.name; });
         });
       })},
      {"an empty payload becomes none",
       {"ANullPayloadIsNotAnEmptyOne"},
       on_detail([](RecordDetail& d) {
         change_message(d, [](Message& m) {
           if (m.payload == "") m.payload.reset();
         });
       })},
      {"large payloads are cut", {"APayloadOf64MegabytesIsKept"}, on_detail([](RecordDetail& d) {
         change_message(d, [](Message& m) {
           if (m.payload && m.payload->size() > (16U << 20U)) m.payload->resize(16U << 20U);
         });
       })},
      {"the original is lost when a record is reopened",
       {"AReopenedRecordKeepsTheMessageThatDiedFirst",
        "AMessageSentBackAsEditedAddsNoSecondVersionOfTheEdit"},
       on_detail([](RecordDetail& d) { d.versions.clear(); })},
      {"a reopened record has only the tags it came with",
       {"AReopenedRecordKeepsTheTagsPeopleGaveIt"},
       on_detail([](RecordDetail& d) {
         if (d.record.occurrence > 1) std::erase(d.record.tags, "vip");
       })},
      {"replays are counted anew by every report",
       {"AReportUnderARecordThatWasSentBackCountsItsReplaysOn"},
       on_detail([](RecordDetail& d) {
         if (d.record.occurrence > 1) d.record.counters.replay = 0;
       })},
      {"replays are counted on whatever became of the record",
       {"AReportUnderARecordThatWasNeverSentBackBringsItsOwnCounts"},
       on_detail([](RecordDetail& d) {
         if (d.record.occurrence > 1) d.record.counters.replay = 2;
       })},
  };
}

std::vector<Sabotage> lists_and_moves() {
  return {
      {"a list is applied one by one",
       {"OneBadChangeInTheMiddleLeavesNothing", "WhatCannotBeARecordIsRefusedBeforeAnythingIsDone"},
       on_apply(one_by_one)},
      {"an error does not say which change it was",
       {"TheErrorNamesTheChangeByItsPlace"},
       without_place_in_errors()},
      {"versions are not compared",
       {"AChangeAgainstAnOldVersionIsAConflict", "OfEightThreadsChangingOneVersionOneSucceeds"},
       spoiling<Transition>([](Transition& t) { t.expected_version.reset(); })},
      {"illegal steps are answered as taken",
       {"EveryIllegalStepIsRefusedAndEveryLegalOneTaken"},
       claiming_success_of(Code::conflict)},
      {"missing records are answered as changed",
       {"WhatIsNotThereIsNotFound", "AMergeThatFailsHalfWayLeavesNothingBehind"},
       claiming_success_of(Code::not_found)},
      {"quarantine is never entered",
       {"EveryIllegalStepIsRefusedAndEveryLegalOneTaken"},
       spoiling<Transition>([](Transition& t) {
         if (t.to == Status::quarantined) t.to = Status::expired;
       })},
      {"a transition drops its tags",
       {"ATransitionSetsWhatItCarriesAndKeepsTheRest"},
       spoiling<Transition>([](Transition& t) { t.tags.reset(); })},
      {"a transition wipes what it does not carry",
       {"ATransitionSetsWhatItCarriesAndKeepsTheRest"},
       spoiling<Transition>([](Transition& t) { t.description = t.description.value_or(""); })},
      {"the next retry cannot be cleared",
       {"FieldsCanBeEmptiedAndTheNextRetryCleared"},
       spoiling<Transition>([](Transition& t) { t.clear_next_retry = false; })},
      {"an open record is still resolved",
       {"ARecordThatIsOpenAgainIsNotResolvedAnyMore"},
       keeping_resolutions()},
      {"a settled source is forgotten",
       {"ASettledSourceTakesTheMarkOffAndIsNoChangeOfTheRecord"},
       spoiling<SourceSettled>([](SourceSettled& s) { s.occurrence = 0; })},
      {"a late word of a source settles whatever is there",
       {"ALateWordOfTheSourceDoesNotSettleTheNextDeath"},
       settling_any_occurrence()},
      {"a source that settles what is gone is refused",
       {"ASettledSourceOfARecordThatIsGoneIsNoError"},
       refusing_to_settle_what_is_gone()},
      {"attempts come oldest first", {"AttemptsComeNewestFirst"}, on_detail([](RecordDetail& d) {
         std::reverse(d.attempts.begin(), d.attempts.end());
       })},
      {"the first attempt is not kept",
       {"OfManyAttemptsTheFirstAndTheNewestAreKept", "AThousandAttemptsInOneAppendAreCapped"},
       on_detail([](RecordDetail& d) {
         if (d.attempts.size() == attempts_kept) d.attempts.back().number = 52;
       })},
      {"an edit changes the original",
       {"EditsAppendAndTheOriginalIsNeverChanged"},
       on_detail([](RecordDetail& d) {
         if (d.versions.empty()) return;
         change_message(d, [&](Message& m) { m.payload = d.versions.back().payload; });
       })},
      {"edits do not compare versions",
       {"TwoPeopleCannotEditTheSameVersion"},
       claiming_success_of(Code::conflict)},
      {"removal of anything is answered as done",
       {"OnlyDiscardedAndExpiredRecordsAreRemoved"},
       claiming_success_of(Code::conflict)},
      {"a removal does nothing",
       {"OfARemovedRecordNothingIsLeftButItsGroupsCount", "ALongListWithABadEndLeavesNothing",
        "WhatWasRefusedIsNotThereAfterARestartEither"},
       on_apply([](Office& office, const std::vector<Change>& changes) -> Hooks::Answers {
         std::vector<Change> kept;
         for (const Change& change : changes) {
           if (!std::holds_alternative<Remove>(change)) kept.push_back(change);
         }
         auto answer = office.apply(kept);
         if (answer) answer->resize(changes.size());
         return answer;
       })},
  };
}

std::vector<Sabotage> ledger() {
  return {
      {"a document can be created twice",
       {"ADocumentCanBeCreatedOnlyOnce"},
       spoiling<PutDocument>([](PutDocument& p) {
         if (p.expected_version == 0) p.expected_version.reset();
       })},
      {"an old reader overwrites a document",
       {"ADocumentIsChangedOnlyFromTheVersionThatWasRead", "AVersionNeverComesBackAfterARemoval"},
       spoiling<PutDocument>([](PutDocument& p) {
         if (p.expected_version != 0) p.expected_version.reset();
       })},
      {"what a list relies on is not looked at",
       {"AListThatReliesOnADocumentIsRefusedOnceThatHasMoved"},
       spoiling<ExpectDocument>([](ExpectDocument& e) {
         if (e.key == "leader" && e.version > 0) e = {"view", "nobody", 0};
       })},
      {"a body removed is only emptied",
       {"AnEmptyBodyIsADocumentAndNoBodyIsNone"},
       spoiling<PutDocument>([](PutDocument& p) { p.body = p.body.value_or(""); })},
      {"job progress commits by itself",
       {"AJobsProgressCommitsWithTheTransitionsItReports"},
       with_progress_first()},
      {"job outcomes are dropped",
       {"AJobsProgressCommitsWithTheTransitionsItReports",
        "ALaterOutcomeOfAJobReplacesAnEarlierOne"},
       spoiling<JobCheckpoint>([](JobCheckpoint& c) { c.outcomes.clear(); })},
      {"acts lose their details",
       {"TheAuditTrailKeepsActsInOrderAndChained"},
       spoiling<AddAudit>([](AddAudit& a) { a.detail.clear(); })},
      {"notes on a group are dropped",
       {"WhatPeopleSaidOfAGroupSurvives", "ALaterChangeSeesWhatAnEarlierOneDid"},
       spoiling<EditGroup>([](EditGroup& e) { e.notes.reset(); })},
      {"a restart forgets everything",
       {"ARestartRestoresEverything", "NumbersAndTheAuditChainGoOnAfterARestart"},
       forgetting_on_restart()},
      {"a restart forgets leases",
       {"LeasesSurviveARestartAndAreNeverGivenTwice"},
       forgetting_on_restart()},
  };
}

}  // namespace

std::vector<Sabotage> sabotages_of_writing() {
  std::vector<Sabotage> all = appends();
  for (auto table : {lists_and_moves(), ledger()}) {
    for (Sabotage& row : table) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace dlo::testing
