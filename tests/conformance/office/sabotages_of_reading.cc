// Broken rules about listing, searching, counting, the audit trail and the poison book.

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "conformance/office/saboteur.h"

#include "dlo/store/row_text.h"
#include "dlo/store/rules.h"

namespace dlo::testing {
namespace {

Hooks on_query(std::function<void(Query&)> spoil) {
  Hooks hooks;
  hooks.query = std::move(spoil);
  return hooks;
}

Hooks on_page(std::function<void(const Query&, Page&)> spoil) {
  Hooks hooks;
  hooks.page = std::move(spoil);
  return hooks;
}

Hooks on_numbers(std::function<void(Aggregate&)> spoil) {
  Hooks hooks;
  hooks.numbers = std::move(spoil);
  return hooks;
}

Hooks on_groups(std::function<void(GroupSummary&)> spoil) {
  return on_numbers([spoil = std::move(spoil)](Aggregate& numbers) {
    for (GroupSummary& group : numbers.groups) spoil(group);
  });
}

Hooks on_notes(std::function<void(std::vector<ChangeNote>&)> spoil) {
  Hooks hooks;
  hooks.notes = std::move(spoil);
  return hooks;
}

Hooks on_audit(std::function<void(std::vector<AuditEntry>&)> spoil) {
  Hooks hooks;
  hooks.audit = std::move(spoil);
  return hooks;
}

Hooks on_poison(std::function<void(PoisonQuery&)> spoil) {
  Hooks hooks;
  hooks.poison = std::move(spoil);
  return hooks;
}

std::string first_word(const std::string& text) {
  const auto words = words_of(text);
  return words.empty() ? text : words.front();
}

/// Each filter of a query, not looked at.
std::vector<Sabotage> blind_filters() {
  const std::vector<std::pair<std::string, std::function<void(Query&)>>> filters = {
      {"statuses", [](Query& q) { q.statuses.clear(); }},
      {"source", [](Query& q) { q.source.reset(); }},
      {"category", [](Query& q) { q.category.reset(); }},
      {"group", [](Query& q) { q.group.reset(); }},
      {"event type", [](Query& q) { q.event_type.reset(); }},
      {"key", [](Query& q) { q.key.reset(); }},
      {"message id", [](Query& q) { q.message_id.reset(); }},
      {"error type", [](Query& q) { q.error_type.reset(); }},
      {"reason", [](Query& q) { q.reason.reset(); }},
      {"instance", [](Query& q) { q.instance.reset(); }},
      {"unsettled mark", [](Query& q) { q.source_unsettled.reset(); }},
      {"beginning", [](Query& q) { q.from.reset(); }},
      {"end", [](Query& q) { q.until.reset(); }},
      {"error words", [](Query& q) { q.error_words.clear(); }},
      {"payload words", [](Query& q) { q.payload_words.clear(); }},
      {"attempts", [](Query& q) { q.attempts_over.reset(); }},
      {"change", [](Query& q) { q.changed_up_to.reset(); }},
      {"ids", [](Query& q) { q.ids.clear(); }},
      {"fewer attempts", [](Query& q) { q.attempts_below.reset(); }},
      {"more replays", [](Query& q) { q.replays_over.reset(); }},
      {"fewer replays", [](Query& q) { q.replays_below.reset(); }},
      {"a later retry", [](Query& q) { q.next_retry_from.reset(); }},
      {"an earlier retry", [](Query& q) { q.next_retry_until.reset(); }},
      {"a later resolution", [](Query& q) { q.resolved_from.reset(); }},
      {"an earlier resolution", [](Query& q) { q.resolved_until.reset(); }},
  };
  const std::multimap<std::string, std::string> others = {
      {"error words", "AWordSearchKeepsThePageOrder"},
      {"error words", "WordsFollowTheErrorWhenItChanges"},
      {"group", "AGroupHoldsSoManyFingerprintsAndNoMore"},
      {"payload words", "WordsFollowTheMessageOfTheNextOccurrence"},
      {"source", "NamesThatDifferOnlyBehindANulAreDifferent"},
  };
  std::vector<Sabotage> rows;
  for (const auto& [name, forget] : filters) {
    Sabotage row{"the filter on " + name + " is not looked at",
                 {"EveryFilterLetsThroughWhatItShouldInBothOrders"},
                 on_query(forget)};
    for (auto [each, end] = others.equal_range(name); each != end; ++each) {
      row.noticed_by.push_back(each->second);
    }
    rows.push_back(std::move(row));
  }
  const std::vector<std::pair<std::string, Field>> fields = {
      {"id", Field::id},
      {"source", Field::source},
      {"category", Field::category},
      {"group", Field::group},
      {"event type", Field::event_type},
      {"key", Field::key},
      {"message id", Field::message_id},
      {"error type", Field::error_type},
      {"reason", Field::reason},
      {"instance", Field::instance},
      {"handler", Field::handler},
      {"node", Field::node},
      {"build", Field::build},
      {"tag", Field::tag},
      {"header", Field::header},
      {"body", Field::body},
      {"error", Field::error},
      {"payload", Field::payload},
  };
  for (const auto& [name, field] : fields) {
    const auto forget = [which = field](Query& query) {
      std::erase_if(query.tests, [which](const FieldTest& test) { return test.field == which; });
    };
    rows.push_back({"the test of " + name + " is not carried out",
                    {"EveryFilterLetsThroughWhatItShouldInBothOrders"},
                    on_query(forget)});
  }
  return rows;
}

void deny_nothing(Query& query) {
  std::erase_if(query.tests, [](const FieldTest& test) { return test.negated; });
}
void look_at_the_first_value(Query& query) {
  for (FieldTest& test : query.tests)
    test.values.resize(std::min<std::size_t>(1, test.values.size()));
}

void exclude_the_edge(Query& query) {
  if (query.from) *query.from += Millis{1};
}
void include_the_edge(Query& query) {
  if (query.until) *query.until += Millis{1};
}
void list_live_ones(Query& query) {
  if (query.statuses.empty()) query.statuses.assign(all_statuses().begin(), all_statuses().end());
}

/// The page ends, but the place to go on from is one row too far or too early.
Hooks with_cursor_off_by(std::int64_t rows) {
  return on_page([rows](const Query& query, Page& page) {
    const std::int64_t onward = query.order == Order::newest_first ? -rows : rows;
    if (page.next && !page.partial) page.next->number += onward;
  });
}

/// Spoils the first page that is asked for with a cursor after records have left the matches.
Hooks once_after_leaving(std::function<void(Query&)> spoil_query,
                         std::function<void(const Query&, Page&)> spoil_page) {
  auto left = std::make_shared<bool>(false);
  Hooks hooks;
  hooks.changes = [left](std::vector<Change>& changes) {
    const bool leaves = !changes.empty() && std::holds_alternative<Transition>(changes.front());
    *left = *left || leaves;
  };
  if (spoil_query) {
    hooks.query = [left, spoil_query](Query& query) {
      if (query.after && std::exchange(*left, false)) spoil_query(query);
    };
  }
  if (spoil_page) {
    hooks.page = [left, spoil_page](const Query& query, Page& page) {
      if (query.after && std::exchange(*left, false)) spoil_page(query, page);
    };
  }
  return hooks;
}

std::vector<Sabotage> listing() {
  return {
      {"a listing whose matches become few ends early",
       {"AWordSearchGoesOnAsItBeganWhateverHappensBetweenPages"},
       once_after_leaving(nullptr, [](const Query&, Page& page) { page = {}; })},
      {"a listing whose matches become few starts over",
       {"AWordSearchGoesOnAsItBeganWhateverHappensBetweenPages"},
       once_after_leaving([](Query& query) { query.after.reset(); }, nullptr)},
      {"messages that wait are listed",
       {"MessagesThatWaitAreNotListedAsDeadLetters"},
       on_query(list_live_ones)},
      {"what a test denies is let through",
       {"EveryFilterLetsThroughWhatItShouldInBothOrders"},
       on_query(deny_nothing)},
      {"only the first value of a test counts",
       {"EveryFilterLetsThroughWhatItShouldInBothOrders"},
       on_query(look_at_the_first_value)},
      {"a test that means nothing is passed over",
       {"ATestThatCannotBeCarriedOutIsRefused"},
       on_query([](Query& q) {
         std::erase_if(q.tests, [](const FieldTest& t) { return !check({t}); });
       })},
      {"the first instant is left out",
       {"EveryFilterLetsThroughWhatItShouldInBothOrders"},
       on_query(exclude_the_edge)},
      {"the last instant is let in",
       {"EveryFilterLetsThroughWhatItShouldInBothOrders"},
       on_query(include_the_edge)},
      {"the oldest cannot come first",
       {"TheEndsOfTimeAreTimes", "EveryFilterLetsThroughWhatItShouldInBothOrders",
        "APlaceWhereNothingStandsIsStillAPlace"},
       on_query([](Query& q) { q.order = Order::newest_first; })},
      {"a page skips a row",
       {"RecordsThatDiedInOneInstantComeInOrderOfArrival", "ACursorSurvivesBeingPrinted"},
       with_cursor_off_by(1)},
      {"a page repeats a row",
       {"DeepPagesReturnEachRecordOnceWhileOthersArrive"},
       with_cursor_off_by(-1)},
      {"a row carries all of a long error text",
       {"ARowShowsTheBeginningOfALongErrorTextAndSaysSo"},
       on_page([](const Query&, Page& page) {
         for (RecordHead& row : page.rows) {
           if (row.error_text.size() > row_text_limit) row.error_text.append(5000, 'x');
         }
       })},
      {"a row does not say that its error text was cut",
       {"ARowShowsTheBeginningOfALongErrorTextAndSaysSo",
        "ALongErrorTextIsCutBetweenTwoCharacters"},
       on_page([](const Query&, Page& page) {
         for (RecordHead& row : page.rows) {
           if (row.error_text.size() > row_text_limit) row.error_text.resize(row_text_limit);
         }
       })},
      {"the listing stops after a page",
       {"DeepPagesReturnEachRecordOnceWhileOthersArrive"},
       on_page([](const Query&, Page& page) { page.next.reset(); })},
      {"a time box that ends loses the rest",
       {"ATimeBoxOfZeroStillGetsThrough"},
       on_page([](const Query&, Page& page) {
         if (page.partial) page.next.reset();
       })},
      {"a time box that ends starts over",
       {"ATimeBoxOfZeroStillGetsThrough"},
       on_page([](const Query& query, Page& page) {
         if (page.partial) page.next = query.after.value_or(Cursor{TimePoint::max(), 0});
       })},
      {"a cursor of another listing starts over",
       {"ThePlaceOfAWordSearchIsRefusedWhereNoWordsAreSearched"},
       on_query([](Query& q) {
         if (q.after && q.after->walk == Walk::by_arrival) q.after.reset();
       })},
      {"a frozen set grows", {"AFrozenSetDoesNotGrow"}, on_query([](Query& q) {
         q.changed_up_to.reset();
       })},
      {"a row shows no payload size",
       {"AListRowShowsTheHeadOfItsRecord"},
       on_page([](const Query&, Page& page) {
         for (RecordHead& row : page.rows) row.payload_size = 0;
       })},
      {"one of the words is enough", {"ErrorWordsAreFoundAsWords"}, on_query([](Query& q) {
         q.error_words = first_word(q.error_words);
       })},
      {"one of the words in a payload is enough",
       {"PayloadWordsAreFoundAsWords"},
       on_query([](Query& q) { q.payload_words = first_word(q.payload_words); })},
      {"a search without a word finds everything",
       {"ASearchWithoutAWordIsRefusedInsteadOfFindingEverything"},
       on_query([](Query& q) {
         if (words_of(q.error_words).empty()) q.error_words.clear();
         if (words_of(q.payload_words).empty()) q.payload_words.clear();
       })},
      {"OR is an operator", {"ErrorWordsAreFoundAsWords"}, on_query([](Query& q) {
         if (const auto at = q.error_words.find(" OR "); at != std::string::npos) {
           q.error_words.resize(at);
         }
       })},
      {"changes come newest first",
       {"ChangesAreToldOldestFirstAndEachRecordOnce"},
       on_notes([](auto& notes) { std::reverse(notes.begin(), notes.end()); })},
      {"some changes are not told", {"AFollowerOfChangesMissesNone"}, on_notes([](auto& notes) {
         if (notes.size() > 1) notes.erase(notes.begin());
       })},
  };
}

std::vector<Sabotage> numbers() {
  return {
      {"zero counts are given",
       {"TalliesAreSortedAndLeaveZerosOut", "AnEmptyOfficeCountsNothing",
        "AskedForNoTalliesNoneAreGiven"},
       on_numbers([](Aggregate& a) { a.tallies.push_back({"orders", Status::expired, "", 0}); })},
      {"tallies are not sorted", {"TalliesAreSortedAndLeaveZerosOut"}, on_numbers([](Aggregate& a) {
         std::reverse(a.tallies.begin(), a.tallies.end());
       })},
      {"tallies drift",
       {"RandomOperationsDoWhatTheModelPredicts", "AReaderNeverSeesHalfAList",
        "EightThreadsAppendingTheSameDeathsLeaveOneOfEach"},
       on_numbers([](Aggregate& a) {
         for (Tally& tally : a.tallies) tally.count += tally.count > 3 ? 1 : 0;
       })},
      {"open counts drift",
       {"RandomOperationsDoWhatTheModelPredicts", "AfterEightThreadsOfEverythingTheBooksBalance"},
       on_groups([](GroupSummary& g) { g.open += g.open > 3 ? 1 : 0; })},
      {"a group counts only what is open",
       {"AGroupCountsWhatIsOpen", "EveryOccurrenceIsADeath"},
       on_groups([](GroupSummary& g) { g.total = g.open; })},
      {"a resolved group stays resolved",
       {"AResolvedGroupIsOpenAgainWhenItComesBack", "ASnoozedGroupWakesWhenItsTimeIsUp",
        "OnlyAResolvedGroupIsOpenedByANewDeath"},
       on_groups([](GroupSummary& g) {
         if (g.total > 1) g.status = GroupStatus::resolved;
       })},
      {"a group forgets when it was first seen",
       {"AGroupKnowsItsDeaths"},
       on_groups([](GroupSummary& g) { g.first_seen = g.last_seen; })},
      {"a sample is any record of the group",
       {"AGroupKnowsItsDeaths", "ARecordTakesItsDeathAlongToAnotherGroup"},
       on_groups([](GroupSummary& g) { g.sample = id_of(3); })},
      {"groups come in one order only",
       {"GroupsComeByLastSeenOrBySize"},
       on_numbers([](Aggregate& a) {
         std::sort(a.groups.begin(), a.groups.end(),
                   [](const auto& x, const auto& y) { return x.fingerprint < y.fingerprint; });
       })},
      {"an entry of the audit trail was changed",
       {"TheAuditTrailKeepsActsInOrderAndChained"},
       on_audit([](auto& entries) {
         for (AuditEntry& entry : entries) entry.act.subject += entry.number == 3 ? "x" : "";
       })},
      {"the audit trail is not chained",
       {"TheAuditTrailKeepsActsInOrderAndChained"},
       on_audit([](auto& entries) {
         for (AuditEntry& entry : entries) {
           entry.previous.clear();
           entry.hash = audit_hash("", entry.number, entry.act);
         }
       })},
      {"kinds of poison are not told apart",
       {"PoisonedItemsAreListedByKindAndInstance", "APoisonedItemTellsWhatDocumentThreeWantsToKnow",
        "ATakenOutItemIsGoneFromTheBookAndBackWhenItPoisonsAgain",
        "OnlyOpenRecordsThatWereNotSentBackArePoison"},
       on_poison([](PoisonQuery& q) { q.kind = PoisonKind::activity; })},
      {"instances are not told apart",
       {"PoisonedItemsAreListedByKindAndInstance"},
       on_poison([](PoisonQuery& q) { q.instance.reset(); })},
      {"a page of the poison book is all of it",
       {"ThePoisonBookIsReadByPages"},
       on_poison([](PoisonQuery& q) { q.limit = 1'000; })},
      {"poison without an error has an empty one",
       {"AnItemWithoutErrorTextHasNoLastError"},
       [] {
         Hooks hooks;
         hooks.poisoned = [](std::vector<PoisonItem>& items) {
           for (PoisonItem& item : items) item.last_error = item.last_error.value_or("");
         };
         return hooks;
       }()},
      {"documents come in no order",
       {"DocumentsAreListedByKeyInByteOrder"},
       [] {
         Hooks hooks;
         hooks.documents = [](std::vector<Document>& documents) {
           std::reverse(documents.begin(), documents.end());
         };
         return hooks;
       }()},
  };
}

}  // namespace

std::vector<Sabotage> sabotages_of_reading() {
  std::vector<Sabotage> all = blind_filters();
  for (auto table : {listing(), numbers()}) {
    for (Sabotage& row : table) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace dlo::testing
