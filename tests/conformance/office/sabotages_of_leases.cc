// Broken rules about claims and leases.

#include <algorithm>
#include <mutex>

#include "conformance/office/saboteur.h"

namespace dlo::testing {
namespace {

using std::chrono::hours;

Hooks on_move(std::function<void(Transition&)> spoil) {
  Hooks hooks;
  hooks.changes = [spoil = std::move(spoil)](std::vector<Change>& changes) {
    for (Change& change : changes) {
      if (auto* one = std::get_if<Transition>(&change)) spoil(*one);
    }
  };
  return hooks;
}

Hooks on_request(std::function<void(Hooks::ClaimRequest&)> spoil) {
  Hooks hooks;
  hooks.claim = std::move(spoil);
  return hooks;
}

Hooks on_claims(std::function<void(std::vector<Claim>&)> spoil) {
  Hooks hooks;
  hooks.claims = std::move(spoil);
  return hooks;
}

Hooks on_numbers(std::function<void(Aggregate&)> spoil) {
  Hooks hooks;
  hooks.numbers = std::move(spoil);
  return hooks;
}

/// Every claim is handed out a second time, to the next who asks.
Hooks with_everything_claimed_twice() {
  struct Memory {
    std::mutex mutex;
    std::vector<Claim> given;
  };
  auto memory = std::make_shared<Memory>();
  return on_claims([memory](std::vector<Claim>& claims) {
    const std::lock_guard lock(memory->mutex);
    std::vector<Claim> again = std::exchange(memory->given, claims);
    claims.insert(claims.end(), again.begin(), again.end());
  });
}

Hooks with_one_token_for_all() {
  return on_claims([](std::vector<Claim>& claims) {
    for (Claim& claim : claims) claim.lease = LeaseToken{{7, 7}};
  });
}

Hooks with_renewals(bool answer) {
  Hooks hooks;
  hooks.renew = [answer](Office&, std::span<const LeaseToken> leases) {
    return Result<std::vector<bool>>(std::vector<bool>(leases.size(), answer));
  };
  return hooks;
}

std::vector<Sabotage> claims() {
  return {
      {"the longest due come last", {"TheLongestDueAreClaimedFirst"}, on_claims([](auto& claims) {
         std::reverse(claims.begin(), claims.end());
       })},
      {"what is not due is handed out",
       {"WhatIsNotDueIsNotClaimed", "ARecordSentToWaitAgainIsClaimedWhenItIsDueAgain"},
       on_request([](auto& request) { request.now += Millis{1}; })},
      {"a record is due a moment too late",
       {"AClockSetBackAnHourFreesNothingEarlyAndHoldsNothingForGood", "WhatIsNotDueIsNotClaimed",
        "AHugeLimitClaimsWhatThereIs"},
       on_request([](auto& request) { request.now -= Millis{1}; })},
      {"every claim is handed out twice",
       {"NoRecordIsInTwoLiveLeases"},
       with_everything_claimed_twice()},
      {"one token serves all", {"ALeaseTokenIsNeverHandedOutTwice"}, with_one_token_for_all()},
      {"tokens have no order",
       {"ALaterLeaseOfARecordHasALargerToken"},
       on_claims([](std::vector<Claim>& claims) {
         for (Claim& claim : claims) {
           claim.lease.high = ~claim.lease.high;
           claim.lease.low = ~claim.lease.low;
         }
       })},
      {"sources are not told apart",
       {"ClaimsCanBeKeptToOneSource", "EndedLeasesOfOtherSourcesAreTakenBackToo"},
       on_request([](auto& request) { request.from.source.clear(); })},
      {"nothing is left out",
       {"ClaimsCanLeaveOutSourcesThatOthersHandOut"},
       on_request([](auto& request) { request.from.without.clear(); })},
      {"one source too many is left out",
       {"ClaimsCanLeaveOutSourcesThatOthersHandOut"},
       on_request([](auto& request) {
         if (!request.from.without.empty()) request.from.without.emplace_back("orders2");
         std::ranges::sort(request.from.without);
       })},
      {"failed retries are not counted",
       {"WhatBecameOfDeadLettersIsCountedForEver"},
       on_numbers([](Aggregate& numbers) { numbers.lifetime.retry_failed = 0; })},
      {"the kinds of policies are not told apart",
       {"RecordsAreCountedByTheKindOfTheirPolicy"},
       on_numbers([](Aggregate& numbers) {
         for (PolicyTally& each : numbers.policies) each.kind = PolicyKind::exponential;
       })},
      {"a policy is counted where its record was first",
       {"RecordsAreCountedByTheKindOfTheirPolicy"},
       on_numbers([](Aggregate& numbers) {
         for (PolicyTally& each : numbers.policies) each.status = Status::pending;
       })},
      {"a policy stays what it was first",
       {"APolicyThatChangesIsCountedAsWhatItIsNow"},
       on_move([](Transition& change) { change.policy.reset(); })},
      {"a limit stays what it was first",
       {"APolicyThatChangesIsCountedAsWhatItIsNow"},
       on_move([](Transition& change) { change.limit.reset(); })},
      {"priority is everything",
       {"PriorityIsAHeadStartSoThatNobodyStarves"},
       on_claims([](std::vector<Claim>& claims) {
         std::ranges::sort(claims, std::ranges::greater{},
                           [](const Claim& one) { return one.record.message->priority; });
       })},
      {"a change of another field puts a record back in its line",
       {"AChangeOfOtherFieldsKeepsThePriority"},
       on_move([](Transition& change) {
         if (change.category && !change.next_retry_at) change.next_retry_at = change.now + hours{1};
       })},
      {"the next is said to be due too late",
       {"ItIsKnownWhenTheNextIsDueWithoutAsking", "AskingBeforeALeaseEndsIsInVain"},
       on_numbers([](Aggregate& numbers) {
         if (numbers.next_due) *numbers.next_due += Millis{1};
       })},
      {"nobody knows when the next is due",
       {"ItIsKnownWhenTheNextIsDueWithoutAsking", "AskingBeforeALeaseEndsIsInVain"},
       on_numbers([](Aggregate& numbers) { numbers.next_due.reset(); })},
      {"leases never end",
       {"ALeasedRecordIsHiddenUntilItsLeaseEnds"},
       on_request([](auto& request) { request.lease_for = hours{1'000}; })},
      {"leases end at once",
       {"ALeasedRecordIsHiddenUntilItsLeaseEnds"},
       on_request([](auto& request) { request.lease_for = Millis{1}; })},
      {"asked for none, nothing is taken back",
       {"ARetryThatNobodyFinishesGoesBackToPending"},
       on_request([](auto& request) {
         if (request.limit == 0) request.now = TimePoint{};
       })},
      {"a claim does not say what the record was",
       {"AClaimAnswersTheRecordAsItStandsAndWhatItWas", "OnlyWaitingAndPendingRecordsAreHandedOut"},
       on_claims([](auto& claims) {
         for (Claim& claim : claims) claim.was = Status::waiting;
       })},
      {"a claim is not counted",
       {"AClaimAnswersTheRecordAsItStandsAndWhatItWas"},
       on_claims([](auto& claims) {
         for (Claim& claim : claims) --claim.record.counters.fetch;
       })},
      {"a claim shows an old version",
       {"AClaimAnswersTheRecordAsItStandsAndWhatItWas"},
       on_claims([](auto& claims) {
         for (Claim& claim : claims) --claim.record.version;
       })},
      {"a lease of no length is given", {"ALeaseMustLast"}, on_request([](auto& request) {
         request.lease_for = std::max(request.lease_for, Millis{1});
       })},
  };
}

std::vector<Sabotage> leases() {
  return {
      {"tokens are not checked",
       {"AWorkerThatLostItsLeaseCannotSettle", "ALeaseSettlesOnceAndOnlyItsOwnRecord",
        "OfEightThreadsSettlingOneLeaseOneSucceeds"},
       on_move([](Transition& t) { t.lease.reset(); })},
      {"an ended lease still settles",
       {"AnEndedLeaseSettlesNothingEvenIfNobodyTookOver"},
       on_move([](Transition& t) {
         if (t.lease) t.now = noon;
       })},
      {"a start mark ends the lease", {"AStartMarkCarriesTheLeaseOn"}, on_move([](Transition& t) {
         if (t.lease) t.lease_for.reset();
       })},
      {"anyone takes a lease that is held",
       {"NobodyTakesALeaseThatIsHeld"},
       on_move([](Transition& t) {
         if (t.lease_for && !t.lease && t.now > noon) t.now += hours{1};
       })},
      {"a lease is given without asking",
       {"StatesThatNeedALeaseCannotBeEnteredWithoutOne"},
       on_move([](Transition& t) {
         if (carries_lease(t.to) && !t.lease && !t.lease_for) t.lease_for = hours{1};
       })},
      {"an abandoned replay is called pending",
       {"AnAbandonedReplayKeepsItsStatusAndCanBeTakenOver"},
       [] {
         Hooks hooks;
         hooks.detail = [](RecordDetail& d) {
           if (d.record.status == Status::replaying) d.record.status = Status::pending;
         };
         return hooks;
       }()},
      {"every renewal is answered yes",
       {"RenewingExtendsLiveLeasesAndOnlyThose",
        "AnOccurrenceThatComesInEndsTheLeaseOfTheOneBefore",
        "ForeignAndStaleTokensAreAnswersNotCrashes"},
       with_renewals(true)},
      {"every renewal is answered no",
       {"RenewingExtendsLiveLeasesAndOnlyThose", "ARenewalNeverShortensALease"},
       with_renewals(false)},
      {"people cannot overrule workers",
       {"PeopleOverruleWorkers", "EachOfTheseChangesWouldHaveBeenSeen"},
       on_move([](Transition& t) {
         if (!t.lease && !t.lease_for) t.lease = LeaseToken{};
       })},
      {"a tag ends the lease",
       {"ATagOnALeasedRecordLeavesTheLeaseAlone"},
       [] {
         Hooks hooks;
         hooks.changes = [](std::vector<Change>& changes) {
           std::vector<Change> more;
           for (const Change& change : changes) {
             const auto* one = std::get_if<Transition>(&change);
             if (one != nullptr && one->tags && !one->lease) {
               Transition aside = *one;
               aside.to = Status::parked;
               more.emplace_back(aside);
             }
             more.push_back(change);
           }
           changes = std::move(more);
         };
         return hooks;
       }()},
  };
}

}  // namespace

std::vector<Sabotage> sabotages_of_leases() {
  std::vector<Sabotage> all = claims();
  for (Sabotage& row : leases()) all.push_back(std::move(row));
  return all;
}

}  // namespace dlo::testing
