// Broken rules about what is large, empty, extreme or seldom: nothing else in the tables trips
// their tests.

#include <algorithm>

#include "conformance/office/spoiling.h"

namespace dlo::testing {
namespace {

Hooks on_documents(std::function<void(Document&)> spoil) {
  Hooks hooks;
  hooks.documents = [spoil](std::vector<Document>& documents) {
    for (Document& each : documents) spoil(each);
  };
  return hooks;
}

Hooks on_query(std::function<void(Query&)> spoil) {
  Hooks hooks;
  hooks.query = std::move(spoil);
  return hooks;
}

Hooks on_applied(std::function<void(std::vector<Applied>&)> spoil) {
  Hooks hooks;
  hooks.applied = std::move(spoil);
  return hooks;
}

Hooks on_numbers(std::function<void(Aggregate&)> spoil) {
  Hooks hooks;
  hooks.numbers = std::move(spoil);
  return hooks;
}

Hooks with_another_first_entry() {
  Hooks hooks;
  hooks.audit = [](std::vector<AuditEntry>& entries) {
    if (!entries.empty()) entries.front().act.actor += "?";
  };
  return hooks;
}

/// A record as it arrives, with something missing.
Hooks appending(std::function<void(DeadLetter&)> spoil) {
  return spoiling<Append>([spoil](Append& append) {
    if (!append.record) return;
    DeadLetter copy = *append.record;
    spoil(copy);
    append.record = std::make_shared<const DeadLetter>(std::move(copy));
  });
}

Hooks adding_a_version_to_whatever_comes_back() {
  return on_detail([](RecordDetail& detail) {
    if (detail.record.occurrence > 1) detail.versions.emplace_back();
  });
}

Hooks never_ending_at_nothing() {
  Hooks hooks;
  hooks.page = [](const Query& query, Page& page) {
    if (query.limit == 0) page.next = query.after.value_or(Cursor{});
  };
  return hooks;
}

void name_nameless_documents(std::vector<Change>& changes) {
  for (Change& change : changes) {
    if (auto* put = std::get_if<PutDocument>(&change)) {
      if (put->kind.empty()) put->kind = "none";
      if (put->key.empty()) put->key = "none";
    } else if (auto* progress = std::get_if<JobCheckpoint>(&change)) {
      if (progress->job.empty()) progress->job = "none";
    }
  }
}

Hooks without_names() {
  Hooks hooks;
  hooks.changes = name_nameless_documents;
  return hooks;
}

void look_for_the_first_byte_only(Query& query) {
  if (!query.payload_words.empty()) query.payload_words.insert(0, "unprintable ");
}

std::vector<Sabotage> of_records() {
  return {
      {"a corrected category counts nowhere",
       {"ACountFollowsItsRecordToAnotherCategory"},
       spoiling<Transition>([](Transition& t) { t.category.reset(); })},
      {"a failure that is added has no time",
       {"AFailureThatIsAddedSaysWhenItLastFailed"},
       spoiling<Transition>([](Transition& t) { t.failure.reset(); })},
      {"a death that moves stays where it was in lists",
       {"ARecordMovesInTheListWhenItsDeathDoes"},
       spoiling<Transition>([](Transition& t) { t.died_at.reset(); })},
      {"whatever comes back is a version of its own",
       {"AnUnchangedMessageAddsNoVersionWhenItComesBack"},
       adding_a_version_to_whatever_comes_back()},
      {"the answer to a change tells the version before it",
       {"EveryChangeOfARecordRaisesItsVersionByOneAndItsChangeNumber"},
       on_applied([](std::vector<Applied>& answers) {
         for (Applied& each : answers) --each.version;
       })},
      {"the highest id is taken for none", {"ExtremeIdsAreIds"}, appending([](DeadLetter& record) {
         if (~record.id.high == 0) record.id = {};
       })},
      {"a long stack is cut", {"HugeTextsAreKept"}, appending([](DeadLetter& record) {
         record.failure.stack.resize(std::min<std::size_t>(record.failure.stack.size(), 1U << 16U));
       })},
      {"a number is a time of death",
       {"NumbersGrowWithArrivalWhateverTheTimeOfDeath"},
       on_detail([](RecordDetail& detail) {
         detail.record.number = detail.record.died_at.time_since_epoch().count();
       })},
      {"an empty list has an answer",
       {"AnEmptyListIsAnsweredWithAnEmptyList"},
       on_applied([](std::vector<Applied>& answers) {
         if (answers.empty()) answers.emplace_back();
       })},
  };
}

std::vector<Sabotage> of_reading() {
  return {
      {"a payload is never indexed",
       {"NoPayloadIsLeftUnindexedForGood"},
       on_numbers([](Aggregate& numbers) { numbers.unindexed_payloads = 1; })},
      {"a page of nothing has a next one", {"OddLimitsAreServed"}, never_ending_at_nothing()},
      {"words of causes are not kept",
       {"TheWordsOfCausesAreFoundToo"},
       appending([](DeadLetter& record) { record.failure.causes.clear(); })},
      {"words end at the first odd byte",
       {"WordsAmongUnprintableBytesAreFound"},
       on_query(look_for_the_first_byte_only)},
  };
}

std::vector<Sabotage> of_the_ledger() {
  return {
      {"a big document is cut", {"ABigDocumentIsKept"}, on_documents([](Document& document) {
         document.body.resize(std::min<std::size_t>(document.body.size(), 1U << 20U));
       })},
      {"a document ends at a NUL",
       {"ADocumentComesBackAsItWasPut"},
       on_documents([](Document& document) {
         document.body.resize(std::min(document.body.size(), document.body.find('\0')));
       })},
      {"documents without a name are kept", {"DocumentsNeedAKindAndAKey"}, without_names()},
      {"the first entry of the audit trail was changed",
       {"AFlippedByteInTheAuditTrailShows"},
       with_another_first_entry()},
      {"an audit entry does not tell its number",
       {"AnAuditEntryTellsItsNumber"},
       on_applied([](std::vector<Applied>& answers) {
         for (Applied& each : answers) each.number = 0;
       })},
  };
}

}  // namespace

std::vector<Sabotage> sabotages_of_odd_cases() {
  std::vector<Sabotage> all = of_records();
  for (auto table : {of_reading(), of_the_ledger()}) {
    for (Sabotage& row : table) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace dlo::testing
