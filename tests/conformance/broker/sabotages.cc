// One row per way to break the contract, with the tests that must notice.
#include <algorithm>

#include "conformance/broker/saboteur.h"

namespace dlo::testing {
namespace {

void change(Delivery& delivery, const std::function<void(Message&)>& how) {
  auto made = std::make_shared<Message>(*delivery.message);
  how(*made);
  delivery.message = made;
}

using Settling = std::function<void(Settlement&, TimePoint)>;
template <typename E>
Settling when(Settling how) {
  return [how](Settlement& settlement, TimePoint now) {
    if (std::holds_alternative<E>(settlement.ending)) how(settlement, now);
  };
}

}  // namespace

const std::vector<Sabotage>& sabotages() {
  static const std::vector<Sabotage> rows = {
      {"ClaimsNeverCount",
       {"AClaimThatNeverStartedStaysCountedWhereClaimsCount", "RandomHistoriesGoAsTheModelSays"},
       {.options = [](SourceOptions& o) { o.claims_count = false; }}},
      {"ClaimsAlwaysCount",
       {"AClaimThatNeverStartedIsGivenBackWhenItsLeaseEnds"},
       {.options = [](SourceOptions& o) { o.claims_count = true; }}},
      {"KeysAreNotInOrder",
       {"UnderEightThreadsAKeyIsInOneHandAndInOrder", "OneKeyIsHandedOutOneAfterAnother",
        "OrderBeatsPriorityInsideAKey", "ADelayedHeadHoldsItsKey"},
       {.options = [](SourceOptions& o) { o.keys_in_order = false; }}},
      {"KeysAreAlwaysInOrder",
       {"WithoutKeyOrderOneKeyIsHandedOutTogether"},
       {.options = [](SourceOptions& o) { o.keys_in_order = true; }}},
      {"NobodyAges",
       {"ALowPriorityWaitsLongButNotForEver", "AgeIsWorthAStepOfPriorityAfterTheAgeingTime"},
       {.options = [](SourceOptions& o) { o.ageing = 24h * 365; }}},
      {"PrioritiesMeanNothing",
       {"AHigherPriorityComesFirst"},
       {.options = [](SourceOptions& o) { o.ageing = 0ms; }}},
      {"DedupeIsOff",
       {"ConcurrentDuplicatesAreAcceptedOnce", "ADuplicateWithinTheWindowIsAcceptedAndDropped",
        "WhatWasDedupedMayBeLongDone", "ABatchMayHoldItsOwnDuplicate"},
       {.options = [](SourceOptions& o) { o.dedupe_window = 0ms; }}},
      {"TheDedupeWindowIsTooLong",
       {"TheDedupeWindowEnds", "TheDedupeWindowIsTimeThatPassesHoweverTheClockIsSet"},
       {.options = [](SourceOptions& o) { o.dedupe_window *= 2; }}},
      {"EverythingIsADuplicate",
       {"WithoutAnIdOrAWindowNothingIsADuplicate"},
       {.options = [](SourceOptions& o) { o.dedupe_window = 1h; },
        .publication = [](Publication& p) { p.dedupe_id = "same"; }}},
      {"LimitsAreIgnored",
       {"AFullSourceRefusesAndDropsNothing", "BytesAreLimitedToo",
        "ABatchThatCanNeverFitIsTheCallersMistake"},
       {.options =
            [](SourceOptions& o) {
              o.max_messages.reset();
              o.max_bytes.reset();
            }}},
      {"ExpiredOnesAreAlwaysDropped",
       {"AnExpiredMessageIsHandedOutAsExpired", "ADelayEndsWhenItsMessageExpires"},
       {.options = [](SourceOptions& o) { o.drop_expired = true; }}},
      {"ExpiredOnesAreNeverDropped",
       {"AnExpiredMessageIsDroppedAndCountedWhereThatIsAskedFor", "ADroppedHeadLetsItsKeyGoOn",
        "WhatIsToBeDroppedLeavesThoughNobodyReceives", "AFullSourceMakesRoomOfWhatIsToBeDropped"},
       {.options = [](SourceOptions& o) { o.drop_expired = false; }}},
      {"WhoeverIsFirstIsFetchedNotWhatHasExpired",
       {"WhatHasExpiredIsFetchedPastWhoeverIsAheadOfIt"},
       {.request = [](ReceiveRequest& r) { r.expired_only = false; }}},
      {"TheSourceHasNoTtl",
       {"ASourcesTtlIsForThoseWithoutTheirOwn"},
       {.options = [](SourceOptions& o) { o.ttl.reset(); }}},
      {"TimeRunsAMillisecondAhead",
       {"ALeasedMessageIsHiddenUntilItsLeaseEnds",
        "AFailedMessageComesBackAtItsTimeAsTheCoreDecided"},
       {.clock = [](TimePoint& now, TimePoint) { now += 1ms; }}},
      {"TimeStandsStillOnTheWayBack",
       {"AgesSurviveAClockThatJumpsBack", "AfterAJumpBackNewDeadlinesFollowTheNewClock",
        "SmallDisagreementsBetweenCallersMoveNoDeadline"},
       {.clock = [](TimePoint& now, TimePoint latest) { now = std::max(now, latest); }}},
      {"AJumpBackFreesEverything",
       {"AClockThatJumpsBackFreesNothingEarly", "AClockThatJumpsAheadAndBackLeavesNothingHidden"},
       {.clock =
            [](TimePoint& now, TimePoint latest) {
              if (latest != TimePoint::min() && latest - now > 1min) now = latest + 2h;
            }}},
      {"LeasesFollowTheWallClock",
       {"AClockThatIsSetForwardEndsNeitherDelaysNorLeases",
        "AClockThatIsSetForwardAndBackEndsNoDelayThoughTheMessageCanExpire",
        "ADelayIsExactToASecondWhileTheClockIsSlowedDown",
        "ADelayLastsAsLongAsItWasAskedForHoweverTheClockIsSet",
        "ALeaseLastsAsLongAsItWasPromisedHoweverTheClockIsSet",
        "ALongPollReturnsWhenALeaseEndsAlsoIfTheClockWasSet"},
       {.leases_follow_the_wall = true}},
      {"AJumpBackHidesEverything",
       {"WhatWasReadyStaysReadyWhenTheClockJumpsBack",
        "AClockThatJumpsAheadAndBackLeavesNothingHidden"},
       {.jump_back_hides = true}},
      {"OneMoreThanTheLimit",
       {"AReceiveTakesNoMoreThanItsLimit", "AFollowerIsReadySinceItsHeadLeft"},
       {.request = [](ReceiveRequest& r) { ++r.limit; }}},
      {"BytesAreNotCounted",
       {"AReceiveHandsOutNoMoreBytesThanWantedButAlwaysOneMessage"},
       {.request = [](ReceiveRequest& r) { r.bytes = UINT64_MAX; }}},
      {"LeasesAreTwiceAsLong",
       {"ALeasedMessageIsHiddenUntilItsLeaseEnds",
        "ALeaseIsOverAtItsEndEvenIfNobodyElseTookTheMessage"},
       {.request =
            [](ReceiveRequest& r) {
              if (r.lease_for < 1h) r.lease_for *= 2;
            }}},
      {"LeasesAreLongerThanAsked",
       {"ARenewalMayAlsoShortenALease", "ALeaseOfNoLengthIsRefused"},
       {.request = [](ReceiveRequest& r) { r.lease_for = std::max(r.lease_for, Millis{1}); },
        .renewal = [](Millis& lease_for) { lease_for = std::max(lease_for, Millis{10min}); }}},
      {"EveryLeaseEndsWithinADay",
       {"ALeaseWithoutEndNeverEnds"},
       {.request = [](ReceiveRequest& r) { r.lease_for = std::min(r.lease_for, Millis{24h}); }}},
      {"LongPollsDoNotWait",
       {"ALongPollEndsEmptyWhenItsWaitIsOver", "ALongPollReturnsWhenSomethingIsPublished",
        "ALongPollReturnsWhenADelayEnds", "ALongPollSeesADelayThatIsPublishedWhileItWaits",
        "ALongPollReturnsWhenALeaseEnds", "ALongPollReturnsWhenAnEndingFreesTheNextOfAKey",
        "CloseWakesThoseWhoWait"},
       {.request = [](ReceiveRequest& r) { r.wait = 0ms; }}},
      {"LongPollsAnswerNothing",
       {"ALongPollAnswersAtOnceIfSomethingIsThere", "EveryWaitingReceiverGetsItsMessage"},
       {.request =
            [](ReceiveRequest& r) {
              if (r.wait > 0ms) r.limit = 0;
            }}},
      {"AnEmptySourceIsAnError",
       {"AnEmptySourceAnswersEmpty"},
       {.receive_error =
            [](const std::vector<Delivery>& got) {
              return got.empty() ? std::optional<Error>({Code::not_found, "", ""}) : std::nullopt;
            }}},
      {"AnUndecodableItemFailsTheBatch",
       {"AnUndecodableItemIsDeliveredAsBytesAndCounted", "UndecodableItemsBlockNobody"},
       {.receive_error =
            [](const std::vector<Delivery>& got) {
              return std::any_of(got.begin(), got.end(),
                                 [](const auto& each) { return each.undecodable != nullptr; })
                         ? std::optional<Error>({Code::corrupt, "", ""})
                         : std::nullopt;
            }}},
      {"UndecodableItemsLookGood",
       {"AnUndecodableItemIsDeliveredAsBytesAndCounted"},
       {.delivery = [](Delivery& d) { d.undecodable.reset(); }}},
      {"NoPayloadBecomesEmpty",
       {"NoPayloadAndAnEmptyPayloadAreDifferentThings"},
       {.delivery =
            [](Delivery& d) {
              change(d, [](Message& m) {
                if (!m.payload) m.payload = "";
              });
            }}},
      {"PayloadsAreCut",
       {"HugeAndAbsurdMessagesPassUnchanged"},
       {.delivery =
            [](Delivery& d) {
              change(d, [](Message& m) {
                if (m.payload && m.payload->size() > 1'000'000) m.payload->resize(1'000'000);
              });
            }}},
      {"HeadersAreMerged",
       {"AMessageArrivesAsItWasSent"},
       {.delivery =
            [](Delivery& d) {
              change(d, [](Message& m) {
                if (!m.headers.empty()) m.headers.resize(1);
              });
            }}},
      {"MessagesCarryNoTime",
       {"AMessageWithoutATimeCarriesThatOfItsPublication"},
       {.delivery = [](Delivery& d) { change(d, [](Message& m) { m.enqueued_at = {}; }); }}},
      {"PositionsAreAllTheSame",
       {"PositionsAreStableAndGrow", "AMessageSentAgainStandsInANewPlace"},
       {.delivery = [](Delivery& d) { change(d, [](Message& m) { m.position = Position{}; }); },
        .published = [](PublishAnswer& a) { a.position = Position{}; }}},
      {"FetchesAreNotCounted",
       {"AClaimIsCountedWhenItIsMade"},
       {.delivery = [](Delivery& d) { d.counters.fetch = 0; }}},
      {"AttemptsAreNotCounted",
       {"AStartIsCountedOnceForEachLease"},
       {.delivery = [](Delivery& d) { d.counters.attempt = 0; }}},
      {"CountersRunOver",
       {"CountersDoNotRunOver"},
       {.delivery =
            [](Delivery& d) {
              if (d.counters.fetch == UINT32_MAX) d.counters.fetch = 0;
            }}},
      {"NothingWasInterrupted",
       {"AStartedMessageWhoseLeaseEndsComesBackAsInterrupted", "OneThatWasReleasedIsStillASuspect"},
       {.delivery = [](Delivery& d) { d.interrupted = false; }}},
      {"NothingIsARepeat",
       {"OneThatWasReleasedIsStillASuspect"},
       {.delivery = [](Delivery& d) { d.may_be_repeat = false; }}},
      {"EverythingIsARepeat",
       {"OnlyWhatWasClaimedBeforeMayBeARepeat"},
       {.delivery = [](Delivery& d) { d.may_be_repeat = true; }}},
      {"FirstAttemptsAreForgotten",
       {"AReleaseAlsoTakesBackAStartThatNeverRan", "TheTimeOfTheFirstAttemptIsKept"},
       {.delivery = [](Delivery& d) { d.first_attempt_at.reset(); }}},
      {"ErrorsAreForgotten",
       {"AFailedMessageComesBackAtItsTimeAsTheCoreDecided"},
       {.delivery = [](Delivery& d) { d.last_error.clear(); }}},
      {"TrailsAreForgotten",
       {"AFailedMessageComesBackAtItsTimeAsTheCoreDecided",
        "AnAbandonWithoutAnErrorKeepsTheLastOne"},
       {.delivery = [](Delivery& d) { d.trail.clear(); }}},
      {"DelaysAreForgotten",
       {"AReleaseKeepsErrorAndDelay"},
       {.delivery = [](Delivery& d) { d.previous_delay = 0ms; }}},
      {"NothingEverExpires",
       {"ADelayEndsWhenItsMessageExpires"},
       {.delivery = [](Delivery& d) { d.expired = false; }}},
      {"LeasesAreMisstated",
       {"ALeasedMessageIsHiddenUntilItsLeaseEnds"},
       {.delivery = [](Delivery& d) { d.leased_until -= 1s; }}},
      {"DeliveriesComeBackwards",
       {"ABatchIsPublishedInItsOrder", "TheOldestComesFirst", "InterruptedOnesComeFirst"},
       {.deliveries = [](std::vector<Delivery>& all) { std::reverse(all.begin(), all.end()); }}},
      {"DeliveriesComeTwice",
       {"UnderEightThreadsNoMessageIsInTwoHands"},
       {.deliveries =
            [](std::vector<Delivery>& all) {
              auto copy = all;
              all.insert(all.end(), copy.begin(), copy.end());
            }}},
      {"TheOldestPublicationAlwaysComesFirst",
       {"ThoseThatComeBackLetTheOthersPass", "ThoseWhoseClaimRanOutLetTheOthersPass",
        "KeysTakeTurns", "KeysTakeTurnsAfterARestart", "AFollowerIsReadySinceItsHeadLeft"},
       {.first = [](const Message& a,
                    const Message& b) { return a.position->offset < b.position->offset; }}},
      {"TheNewestPublicationAlwaysComesFirst",
       {"TheOldestComesFirst", "AFollowerIsReadySinceItsHeadLeft"},
       {.first = [](const Message& a,
                    const Message& b) { return a.position->offset > b.position->offset; }}},
      {"StartsAreIgnored", {"AStartIsCountedOnceForEachLease"}, {.ignore_start = true}},
      {"RenewalsAreIgnored",
       {"ARenewedLeaseLastsFromItsRenewal", "ALostTokenInABatchHarmsNobodyElse"},
       {.ignore_renew = true}},
      {"CompletedOnesStay",
       {"ACompletedMessageIsGone"},
       {.settlement =
            when<Completed>([](Settlement& s, TimePoint) { s.ending = ReleasedUnrun{}; })}},
      {"DeathsAreCompletions",
       {"ADeadLetteredMessageIsGone"},
       {.settlement =
            when<DeadLettered>([](Settlement& s, TimePoint) { s.ending = Completed{}; })}},
      {"FailedOnesComeBackAtOnce",
       {"AFailedMessageComesBackAtItsTimeAsTheCoreDecided",
        "AHeadThatFailedStaysAheadOfItsFollowers"},
       {.settlement = when<Failed>(
            [](Settlement& s, TimePoint now) { std::get<Failed>(s.ending).again_at = now; })}},
      {"FailedOnesAlwaysWait",
       {"AFailedMessageWhoseTimeHasPassedComesBackAtOnce"},
       {.settlement = when<Failed>([](Settlement& s, TimePoint now) {
          auto& at = std::get<Failed>(s.ending).again_at;
          at = std::max(at, now + 1s);
        })}},
      {"FailedOnesAreDropped",
       {"WhatComesBackNeedsNoRoom"},
       {.settlement = when<Failed>([](Settlement& s, TimePoint) { s.ending = Completed{}; })}},
      {"AbandonsAreNeverCounted",
       {"OfEightThreadsThatSettleOneTokenOneWins", "AClaimIsCountedWhenItIsMade"},
       {.settlement = when<Abandoned>([](Settlement& s, TimePoint) {
          std::get<Abandoned>(s.ending).increment_count = false;
        })}},
      {"AbandonsAreAlwaysCounted",
       {"AnAbandonCountsWhatItWasAskedToCount", "AnAbandonThatDoesNotCountTakesBackTheStartToo"},
       {.settlement = when<Abandoned>([](Settlement& s, TimePoint) {
          std::get<Abandoned>(s.ending).increment_count = true;
        })}},
      {"AbandonsComeBackAtOnce",
       {"AnAbandonHidesTheMessageForItsDelay", "AHeadHoldsOnlyItsOwnKey"},
       {.settlement = when<Abandoned>(
            [](Settlement& s, TimePoint now) { std::get<Abandoned>(s.ending).again_at = now; })}},
      {"AbandonsWipeTheError",
       {"AnAbandonWithoutAnErrorKeepsTheLastOne"},
       {.settlement = when<Abandoned>([](Settlement& s, TimePoint) {
          auto& error = std::get<Abandoned>(s.ending).error;
          if (error.empty()) error = "?";
        })}},
      {"AbandonsCountForThemselves",
       {"AnAbandonThatCountsLeavesTheCountersItIsGiven"},
       {.settlement = when<Abandoned>(
            [](Settlement& s, TimePoint) { std::get<Abandoned>(s.ending).counters.reset(); })}},
      {"AbandonsForgetTheirTrail",
       {"AnAbandonLeavesTheTrailItIsGiven"},
       {.settlement = when<Abandoned>(
            [](Settlement& s, TimePoint) { std::get<Abandoned>(s.ending).trail.clear(); })}},
      {"ReleasesAreCounted",
       {"AReleasedMessageCostsNothing"},
       {.settlement = when<ReleasedUnrun>(
            [](Settlement& s, TimePoint now) { s.ending = Abandoned{true, now, ""}; })}},
      {"KeysAreNeverHeld",
       {"AHoldOutlivesAnEmptyKey"},
       {.settlement =
            when<DeadLettered>([](Settlement& s, TimePoint) { s.ending = DeadLettered{false}; })}},
      {"KeysAreAlwaysHeld",
       {"UnderEightThreadsTheBooksBalance", "ADeathWithoutHoldLetsItsKeyGoOn"},
       {.settlement =
            when<DeadLettered>([](Settlement& s, TimePoint) { s.ending = DeadLettered{true}; })}},
      {"LostLeasesSettle",
       {"ALeaseIsOverAtItsEndEvenIfNobodyElseTookTheMessage", "ATokenSettlesOnce",
        "ATokenOfAnotherSourceIsLostHere", "OfEightThreadsThatSettleOneTokenOneWins",
        "AWorkerThatLostItsLeaseCannotDoAnything", "InventedTokensAreAnswersNotCrashes"},
       {.settled = [](SettleAnswer& a) { a.settled = Settled::done; }}},
      {"CarriedCountersAreDropped",
       {"CountersCarriedOverArrive"},
       {.publication = [](Publication& p) { p.counters = {}; }}},
      {"PublicationsAreNotDelayed",
       {"TheDelayOfAFollowerRunsWhileItIsHeld", "ManyDelaysEndEachAtItsOwnMoment"},
       {.publication = [](Publication& p) { p.delay = 0ms; }}},
      {"EveryDelayEndsWithinAYear",
       {"DelaysAreExactToTheMillisecond", "ADelayWithoutEndNeverEnds"},
       {.publication = [](Publication& p) { p.delay = std::min(p.delay, Millis{24h * 365}); }}},
      {"EveryMessageHasAKey",
       {"MessagesWithoutAKeyDoNotWaitForEachOther"},
       {.publication =
            [](Publication& p) {
              if (p.message && p.message->key.empty()) {
                auto made = std::make_shared<Message>(*p.message);
                made->key = "k";
                p.message = made;
              }
            }}},
      {"BatchesAreTornApart", {"ABatchWithABadOneIsRefusedWhole"}, {.publish_one_by_one = true}},
      {"RatesStandStill",
       {"RatesAreOfTheLastTenSeconds", "RatesAreOfTheTimeThatPassesHoweverTheClockIsSet",
        "RatesAreRightWhileTheClockIsSlowedDown"},
       {.stats = [](SourceStats& s) { s.in_per_second = s.out_per_second = 1; }}},
      {"StatsMiscount", {"StatsEqualARecount"}, {.stats = [](SourceStats& s) { ++s.ready; }}},
      {"PauseDoesNothing", {"APausedSourceHandsOutNothingAndLosesNothing"}, {.ignore_pause = true}},
      {"PurgeDoesNothing", {"APurgeRemovesWhatNobodyHasLeased"}, {.ignore_purge = true}},
      {"PeekingClaims", {"APeekShowsTheOldestAndChangesNothing"}, {.peek_claims = true}},
      {"KeysAreNeverFreed",
       {"ADeathHoldsItsKeyUntilItIsFreed", "AHoldOutlivesAnEmptyKey"},
       {.ignore_free_key = true}},
      {"DeathsNeverHold",
       {"EveryDeathHoldsItsKeyWhereTheSourceSaysSo", "RandomHistoriesGoAsTheModelSays"},
       {.options = [](SourceOptions& o) { o.on_death = OnDeath::go_on; }}},
      {"NothingGoesPastAHold",
       {"WhatIsSentAgainGoesPastTheHoldOfItsKey", "ARestartKeepsWhatWentPastAHold"},
       {.publication = [](Publication& p) { p.past_hold = false; }}},
      {"WhatIsSentAgainPassesEverybody",
       {"WhatIsSentAgainStandsInLineWhereNothingIsHeld"},
       {.publication =
            [](Publication& p) {
              if (!p.past_hold) return;
              auto made = std::make_shared<Message>(*p.message);
              made->key.clear();
              p.message = made;
            }}},
      {"HeldKeysAreHidden",
       {"HeldKeysAreToldOfWhileSomebodyWaitsBehindThem"},
       {.hide_held_keys = true}},
      {"CloseDoesNothing", {"AClosedSourceAnswersUnavailable"}, {.ignore_close = true}},
      {"ARestartForgetsWhatWaits",
       {"ARestartKeepsWhatWaits", "ARestartKeepsHoldsAndTheDedupeWindow"},
       {.restart_purges = true}},
      {"ARestartKeepsLeases",
       {"ARestartEndsLeasesAndTellsTheStartedFromTheRest"},
       {.ignore_restart = true}},
  };
  return rows;
}

}  // namespace dlo::testing
