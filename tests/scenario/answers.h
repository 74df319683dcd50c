#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/http_client.h"

namespace dlo::testing {

/// The first value called `name` in JSON text, a string without its quotes; empty if there is none.
inline std::string member(const std::string& text, const std::string& name) {
  const auto at = text.find("\"" + name + "\":");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 3;
  if (text[from] == '"') return text.substr(from + 1, text.find('"', from + 1) - from - 1);
  return text.substr(from, text.find_first_of(",}]", from) - from);
}

/// The same as a number; -1 if there is none.
inline int number(const std::string& text, const std::string& name) {
  const std::string value = member(text, name);
  return value.empty() ? -1 : std::stoi(value);
}

/// Every value that follows `mark`, up to the next quote.
inline std::vector<std::string> all_after(const std::string& text, const std::string& mark) {
  std::vector<std::string> found;
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const auto from = at + mark.size();
    found.push_back(text.substr(from, text.find('"', from) - from));
  }
  return found;
}

/// Reports `count` dead letters, 500 in a request; `line` writes the JSON object of one.
inline void report_many(HttpClient& client, int count,
                        const std::function<std::string(const std::string& id)>& line) {
  constexpr int at_once = 500;
  for (int i = 0; i < count;) {
    std::string lines;
    for (int n = 0; n < at_once && i < count; ++n, ++i) lines += line(std::to_string(i)) + "\n";
    const auto answer =
        client.ask("POST", "/v1/dead-letters", lines, "Content-Type: application/x-ndjson\r\n");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
}

}  // namespace dlo::testing
