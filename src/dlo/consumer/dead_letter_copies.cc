#include "dlo/consumer/dead_letter_copies.h"

#include <utility>

namespace dlo {

using consumer::Telling;

DeadLetterCopies::DeadLetterCopies(SendCopies send, consumer::CopyForm form, std::string source,
                                   Told told)
    : send_(std::move(send)),
      form_(std::move(form)),
      kind_("copy_owed/" + std::move(source)),
      told_(std::move(told)) {}

/// Those that are too large are sent again with less.
std::optional<Error> DeadLetterCopies::send(std::span<const DeadLetter* const> records,
                                            Telling telling,
                                            std::vector<std::optional<Error>>& outcomes) {
  std::vector<MessagePtr> copies;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool again = outcomes[i] && outcomes[i]->code == Code::invalid_argument;
    if (telling != Telling::all && !again) continue;
    copies.push_back(consumer::copy_of(*records[i], form_, telling));
    places.push_back(i);
  }
  if (copies.empty()) return std::nullopt;
  auto sent = send_(copies);
  if (!sent) return sent.error();
  for (std::size_t i = 0; i < places.size(); ++i) outcomes[places[i]] = std::move((*sent)[i]);
  return std::nullopt;
}

std::vector<Result<void>> DeadLetterCopies::send(std::span<const DeadLetter* const> records) {
  std::vector<std::optional<Error>> outcomes(records.size());
  std::optional<Error> failed;
  for (const Telling telling : {Telling::all, Telling::briefly, Telling::nothing}) {
    if (!failed) failed = send(records, telling, outcomes);
  }
  std::optional<Error> trouble = failed;
  std::vector<Result<void>> answers;
  answers.reserve(records.size());
  for (const auto& outcome : outcomes) {
    if (outcome && !trouble) trouble = outcome;
    if (failed) {
      answers.emplace_back(*failed);
    } else {
      answers.push_back(outcome ? Result<void>(*outcome) : Result<void>());
    }
  }
  became(trouble);
  return answers;
}

void DeadLetterCopies::became(const std::optional<Error>& trouble) {
  {
    const std::lock_guard lock(mutex_);
    std::string now = trouble ? trouble->detail : std::string();
    if (now == trouble_) return;
    trouble_ = std::move(now);  // what is wrong may become clearer
  }
  if (told_) told_(trouble);
}

std::string DeadLetterCopies::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

PutDocument DeadLetterCopies::owed(const RecordId& id) const {
  return {kind_, to_string(id), "{}", std::nullopt};
}

PutDocument DeadLetterCopies::sent(const RecordId& id) const {
  return {kind_, to_string(id), std::nullopt, std::nullopt};
}

Result<std::vector<RecordId>> DeadLetterCopies::find_owed(Office& office, const std::string& after,
                                                          std::size_t limit) const {
  std::vector<RecordId> ids;
  Ledger* const ledger = office.extras().ledger;
  if (ledger == nullptr) return ids;
  const auto found = ledger->documents(kind_, after, limit);
  if (!found) return found.error();
  for (const Document& each : *found) {
    if (const auto id = parse_id(each.key)) ids.push_back(RecordId{*id});
  }
  return ids;
}

Result<void> CopyAtDeath::on_death(const DeadLetter& record, OwnerEffect effect) {
  const DeadLetter* const one = &record;
  return on_deaths({&one, 1}, effect).front();
}

std::vector<Result<void>> CopyAtDeath::on_deaths(std::span<const DeadLetter* const> records,
                                                 OwnerEffect /*effect*/) {
  return copies_.send(records);
}

Result<void> CopyOwed::on_death(const DeadLetter& record, OwnerEffect effect) {
  const DeadLetter* const one = &record;
  return on_deaths({&one, 1}, effect).front();
}

std::vector<Result<void>> CopyOwed::on_deaths(std::span<const DeadLetter* const> records,
                                              OwnerEffect /*effect*/) {
  auto answers = copies_.send(records);
  std::vector<Change> changes;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (answers[i]) changes.emplace_back(copies_.sent(records[i]->id));
  }
  // If that is not written the copy is sent once more at the next start: it has the same id.
  if (!changes.empty()) (void)office_.apply(changes);
  return answers;
}

}  // namespace dlo
