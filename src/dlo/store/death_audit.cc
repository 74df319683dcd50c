#include "dlo/store/death_audit.h"

#include <algorithm>
#include <variant>

#include "dlo/core/sha256.h"
#include "dlo/core/states.h"

namespace dlo {

void DeathToll::add(const Change& change) {
  if (const auto* append = std::get_if<Append>(&change)) {
    if (is_live(append->record->status)) return;  // it waits for its retry
    ids_.push_back(append->record->id);
    sources_.insert(append->record->message->source);
  } else if (const auto* again = std::get_if<Transition>(&change)) {
    const bool dies = again->to == Status::pending || again->to == Status::exhausted ||
                      again->to == Status::quarantined;
    if (dies) ids_.push_back(again->id);
  }
}

std::optional<AddAudit> DeathToll::entry(const std::string& actor, TimePoint now) const {
  if (ids_.empty()) return std::nullopt;
  const std::string count = std::to_string(ids_.size());
  std::string subject = ids_.size() == 1 ? to_string(ids_.front()) : count + " deaths";
  if (sources_.size() == 1) subject += " of " + *sources_.begin();
  if (sources_.size() > 1) subject += " of " + std::to_string(sources_.size()) + " sources";
  return AddAudit{now, actor, std::string(death_act), std::move(subject),
                  "{\"count\":" + count + ",\"ids_sha256\":\"" + digest_of_ids(ids_) + "\"}"};
}

void add_death_audit(std::vector<Change>& changes, const std::string& actor, TimePoint now) {
  DeathToll toll;
  for (const Change& change : changes) toll.add(change);
  if (auto entry = toll.entry(actor, now)) changes.emplace_back(std::move(*entry));
}

std::string digest_of_ids(std::vector<RecordId> ids) {
  std::sort(ids.begin(), ids.end());
  Sha256 hash;
  for (const RecordId& id : ids) hash.update(to_string(id));
  return to_hex(hash.finish());
}

}  // namespace dlo
