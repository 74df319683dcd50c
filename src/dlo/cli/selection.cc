#include "dlo/cli/selection.h"

#include "dlo/core/duration.h"
#include "dlo/query/quoting.h"

namespace dlo::cli {
namespace {

/// `died:` knows moments and ages alike, but an age counts backwards: since 2d is younger than 2d.
std::string bound(const std::string& value, const char* since, const char* age) {
  return (parse_duration(value) ? std::string(age) : std::string(since)) +
         query::quoted_if_needed(value);
}

}  // namespace

std::string query_of(const Selection& selection) {
  std::string text;
  const auto append = [&text](const std::string& term) {
    text += (text.empty() ? "" : " ") + term;
  };
  const auto add = [&append](const char* name, const std::string& value) {
    if (!value.empty()) append(std::string(name) + ":" + query::quoted_if_needed(value));
  };
  // Blanks alone are mostly variables that were not set: they ask for nothing.
  for (const std::string& word : selection.query) {
    if (word.find_first_not_of(" \t\r\n") != std::string::npos) append(word);
  }
  std::string statuses;
  for (const std::string& each : selection.statuses) {
    statuses += (statuses.empty() ? "status:" : ",") + query::quoted_if_needed(each);
  }
  if (!statuses.empty()) append(statuses);
  add("source", selection.source);
  add("category", selection.category);
  add("group", selection.group);
  add("type", selection.type);
  add("key", selection.key);
  add("error", selection.words);
  if (!selection.since.empty()) append(bound(selection.since, "died:>=", "age:<="));
  if (!selection.until.empty()) append(bound(selection.until, "died:<=", "age:>="));
  return text;
}

}  // namespace dlo::cli
