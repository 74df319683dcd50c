// Groups that people merge and split.

#include <algorithm>

#include "dlo/store/rules.h"

namespace dlo {
namespace {

Error refused(Code code, std::string detail) {
  return {code, "office.group", std::move(detail)};
}

Error no_group(const Id128& id) {
  return refused(Code::not_found, "there is no group " + to_string(id) +
                                      ": nothing ever died of it, or it is part of another group");
}

Result<void> check_group_version(const GroupSummary& group,
                                 const std::optional<std::uint64_t>& expected) {
  if (!expected || *expected == group.version) return {};
  return refused(Code::conflict, "the group is at version " + std::to_string(group.version) +
                                     ", not " + std::to_string(*expected) +
                                     ": somebody changed it meanwhile");
}

/// The strands of a group, also of one that was never merged. The one it is named after carries
/// what people say of it now.
std::vector<Strand> strands_with_words(const GroupSummary& group, std::vector<Strand> strands) {
  if (strands.empty()) return {{group.fingerprint, 0, group}};
  for (Strand& strand : strands) {
    if (strand.own.fingerprint != group.fingerprint) continue;
    GroupSummary words = group;
    words.open = strand.own.open;
    words.total = strand.own.total;
    words.repeats = strand.own.repeats;
    words.first_seen = strand.own.first_seen;
    words.last_seen = strand.own.last_seen;
    words.sample = strand.own.sample;
    words.title = strand.own.title;
    words.category = strand.own.category;
    words.source = strand.own.source;
    words.trend = strand.own.trend;
    words.strands = 0;
    strand.own = std::move(words);
  }
  return strands;
}

/// `words` with the numbers of all strands together.
GroupSummary sum_of(GroupSummary words, const std::vector<Strand>& strands) {
  words.open = words.total = words.repeats = 0;
  words.trend = {};
  const GroupSummary* newest = nullptr;
  words.first_seen = TimePoint::max();
  for (const Strand& strand : strands) {
    const GroupSummary& own = strand.own;
    words.open += own.open;
    words.total += own.total;
    words.repeats += own.repeats;
    words.first_seen = std::min(words.first_seen, own.first_seen);
    if (newest == nullptr || own.last_seen > newest->last_seen) newest = &own;
    add_trend(words.trend, own.trend);
  }
  words.last_seen = newest->last_seen;
  words.sample = newest->sample;
  words.title = newest->title;
  words.category = newest->category;
  words.source = newest->source;
  words.strands = strands.size() > 1 ? static_cast<std::uint32_t>(strands.size()) : 0;
  return words;
}

}  // namespace

Result<Regrouping> merge_groups(const MergeGroups& merge, const GroupSummary* from,
                                std::vector<Strand> strands_from, const GroupSummary* into,
                                std::vector<Strand> strands_into, std::uint64_t change) {
  if (from == nullptr) return no_group(merge.from);
  if (into == nullptr) return no_group(merge.into);
  if (auto fine = check_group_version(*into, merge.expected_version); !fine) return fine.error();
  Regrouping out;
  out.strands = strands_with_words(*into, std::move(strands_into));
  for (Strand& strand : strands_with_words(*from, std::move(strands_from))) {
    strand.into = into->fingerprint;
    strand.since = change;
    out.strands.push_back(std::move(strand));
  }
  if (out.strands.size() > most_strands) {
    return refused(Code::full, "a group holds at most " + std::to_string(most_strands) +
                                   " fingerprints, and these would be " +
                                   std::to_string(out.strands.size()));
  }
  out.whole = sum_of(*into, out.strands);
  ++out.whole.version;
  return out;
}

Result<Regrouping> split_group(const SplitGroup& split, const GroupSummary* whole,
                               std::vector<Strand> strands) {
  if (whole == nullptr) return no_group(split.fingerprint);
  if (strands.empty() || split.fingerprint == whole->fingerprint) {
    return refused(Code::not_found,
                   strands.empty()
                       ? "nothing was ever merged into this group, so nothing can be split off"
                       : "the group is named after this fingerprint: split the others off instead");
  }
  if (auto fine = check_group_version(*whole, split.expected_version); !fine) return fine.error();
  Regrouping out;
  for (Strand& strand : strands) {
    if (strand.own.fingerprint == split.fingerprint) {
      out.out = std::move(strand.own);
    } else {
      out.strands.push_back(std::move(strand));
    }
  }
  if (!out.out) return no_group(split.fingerprint);
  ++out.out->version;
  out.out->strands = 0;
  out.whole = sum_of(*whole, out.strands);
  ++out.whole.version;
  if (out.strands.size() == 1) out.strands.clear();
  return out;
}

Query with_strands(Query query,
                   const std::function<std::vector<Strand>(const Id128&)>& strands_of) {
  const auto fingerprints = [&](const Id128& id) {
    std::vector<Id128> found;
    for (const Strand& strand : strands_of(id)) {
      const bool later = query.changed_up_to && strand.since > *query.changed_up_to;
      if (later) continue;
      found.push_back(strand.own.fingerprint);
      if (strand.own.fingerprint == strand.into) std::swap(found.front(), found.back());
    }
    // Before it was merged the group was itself.
    if (std::find(found.begin(), found.end(), id) == found.end()) found = {id};
    return found;
  };
  if (query.group) {
    query.fingerprints = fingerprints(*query.group);
    if (query.fingerprints.size() == 1) query.fingerprints.clear();
  }
  for (FieldTest& test : query.tests) {
    if (test.field != Field::group) continue;
    const std::vector<std::string> named = test.values;
    for (const std::string& value : named) {
      const auto id = parse_id(value);
      if (!id) continue;
      for (const Id128& each : fingerprints(*id)) {
        if (each != *id) test.values.push_back(to_string(each));
      }
    }
  }
  return query;
}

bool is_in_group(const Query& query, const Id128& fingerprint) noexcept {
  if (!query.group) return true;
  if (query.fingerprints.empty()) return fingerprint == *query.group;
  return std::find(query.fingerprints.begin(), query.fingerprints.end(), fingerprint) !=
         query.fingerprints.end();
}

}  // namespace dlo
