#include "dlo/query/suggest.h"

#include <algorithm>
#include <map>

#include "dlo/core/spelling.h"
#include "dlo/query/qualifiers.h"
#include "dlo/query/quoting.h"
#include "dlo/query/terms.h"

namespace dlo {
namespace {

/// The value or the word that ends at the cursor.
struct Place {
  std::size_t from = 0;       // where it begins
  bool is_value = false;      // behind a colon
  std::string_view before;    // the term up to the colon, without minus
  std::string_view unquoted;  // what has been typed of it, without its opening quote
};

/// Walks the text up to the cursor: quotes hide blanks, colons and commas.
Place place_at(std::string_view text) {
  Place place;
  bool in_quotes = false;
  std::size_t term = 0;
  std::size_t colon = std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_quotes) {
      if (c == '\\') ++i;
      in_quotes = c != '"';
    } else if (c == '"') {
      in_quotes = true;
    } else if (query::is_blank(c)) {
      term = place.from = i + 1;
      colon = std::string_view::npos;
    } else if (c == ':' && colon == std::string_view::npos) {
      colon = i;
      place.from = i + 1;
    } else if (c == ',' && colon != std::string_view::npos) {
      place.from = i + 1;
    }
  }
  if (term < text.size() && text[term] == '-') {
    ++term;
    place.from = std::max(place.from, term);
  }
  place.is_value = colon != std::string_view::npos;
  if (place.is_value) place.before = text.substr(term, std::max(colon, term) - term);
  place.unquoted = text.substr(std::min(place.from, text.size()));
  if (place.unquoted.starts_with('"')) place.unquoted.remove_prefix(1);
  return place;
}

bool begins_like(std::string_view value, std::string_view typed) {
  return value.size() >= typed.size() &&
         std::equal(typed.begin(), typed.end(), value.begin(),
                    [](char a, char b) { return ascii_lower(a) == ascii_lower(b); });
}

std::vector<Suggestion> qualifiers_like(std::string_view typed) {
  std::vector<Suggestion> found;
  for (const query::Qualifier& each : query::qualifiers()) {
    if (!begins_like(each.name, typed)) continue;
    const bool has_path = each.name.ends_with('.');
    found.push_back({std::string(each.name) + (has_path ? "" : ":"), std::string(each.about), 0});
  }
  return found;
}

/// Counted values of the tallies, live messages left out.
template <typename Read>
std::vector<Suggestion> counted(const Aggregate& numbers, const Read& read) {
  std::map<std::string_view, std::uint64_t> counts;
  for (const Tally& tally : numbers.tallies) {
    if (!is_live(tally.status)) counts[read(tally)] += tally.count;
  }
  std::vector<Suggestion> values;
  for (const auto& [value, count] : counts) values.push_back({std::string(value), "", count});
  return values;
}

std::vector<Suggestion> statuses(const Aggregate& numbers) {
  std::map<std::string_view, std::uint64_t> counts;
  for (const Tally& tally : numbers.tallies) {
    counts[name_of(tally.status)] += tally.count;
    if (is_open(tally.status)) counts["open"] += tally.count;
  }
  std::vector<Suggestion> values;
  for (const std::string_view name : query::status_names()) {
    values.push_back({std::string(name), "", counts[name]});
  }
  return values;
}

std::vector<Suggestion> groups(const Aggregate& numbers) {
  std::vector<Suggestion> values;
  for (const GroupSummary& group : numbers.groups) {
    values.push_back({to_string(group.fingerprint), group.title, group.open});
  }
  return values;
}

std::vector<Suggestion> fixed(std::initializer_list<const char*> texts) {
  std::vector<Suggestion> values;
  for (const char* text : texts) values.push_back({text, "", 0});
  return values;
}

std::vector<Suggestion> values_of(const query::Qualifier& qualifier, const Aggregate& numbers) {
  using query::Kind;
  switch (qualifier.kind) {
    case Kind::status:
      return statuses(numbers);
    case Kind::group:
      return groups(numbers);
    case Kind::text:
      if (qualifier.field == Field::source) {
        return counted(numbers, [](const Tally& tally) { return std::string_view(tally.source); });
      }
      if (qualifier.field == Field::category) {
        return counted(numbers,
                       [](const Tally& tally) { return std::string_view(tally.category); });
      }
      return {};
    case Kind::age:
      return fixed({">1h", ">1d", ">7d", "<1h", "<1d", "<7d"});
    case Kind::died:
      return fixed({"<1h", "<24h", "<7d", ">7d"});
    case Kind::next_retry:
      return fixed({"<5m", "<1h", "<1d"});
    case Kind::resolved:
      return fixed({"no", "yes", "<24h", "<7d"});
    case Kind::attempts:
      return fixed({">1", ">3", ">5"});
    case Kind::replays:
      return fixed({"0", ">0", ">1"});
    case Kind::unsettled:
      return fixed({"yes", "no"});
    case Kind::order:
      return fixed({"newest", "oldest"});
    case Kind::id:
    case Kind::words:
    case Kind::tag:
    case Kind::header:
    case Kind::body:
    case Kind::change:
      break;
  }
  return {};
}

std::vector<Suggestion> values_like(std::string_view before, std::string_view typed,
                                    const Aggregate& numbers) {
  const query::Qualifier* qualifier = query::find_qualifier(before);
  if (qualifier == nullptr) return {};
  std::vector<Suggestion> values = values_of(*qualifier, numbers);
  const bool by_title = qualifier->kind == query::Kind::group;
  std::erase_if(values, [&](const Suggestion& each) {
    return !begins_like(each.text, typed) && !(by_title && begins_like(each.about, typed));
  });
  if (qualifier->kind == query::Kind::text) {
    for (Suggestion& each : values) each.text = query::quoted_if_needed(each.text);
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const Suggestion& a, const Suggestion& b) { return a.count > b.count; });
  return values;
}

}  // namespace

Suggestions suggest(std::string_view text, std::size_t cursor, const Aggregate& numbers) {
  const std::string_view typed = text.substr(0, cursor);
  const Place place = place_at(typed);
  Suggestions found{std::min(place.from, typed.size()), typed.size(), {}};
  if (place.is_value) {
    found.items = values_like(place.before, place.unquoted, numbers);
  } else if (place.unquoted.data() == typed.data() + found.from) {  // a quote begins no qualifier
    found.items = qualifiers_like(place.unquoted);
  }
  if (found.items.size() > most_suggestions && place.is_value) {
    found.items.resize(most_suggestions);
  }
  return found;
}

}  // namespace dlo
