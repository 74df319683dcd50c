#pragma once

#include <string>
#include <vector>

namespace dlo::cli {

/// Which dead letters a verb is about: a query (docs/query.md) and options that are short for terms
/// of one. All must hold.
struct Selection {
  std::vector<std::string> query;  // words, joined by blanks
  std::vector<std::string> statuses;
  std::string source;
  std::string category;
  std::string group;
  std::string type;
  std::string key;
  std::string words;
  std::string since;  // a date or an age: 2026-03-01, 2d
  std::string until;
};

/// The whole query. The API says what is wrong with it.
[[nodiscard]] std::string query_of(const Selection& selection);

}  // namespace dlo::cli
