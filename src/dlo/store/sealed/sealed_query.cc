#include "dlo/store/sealed/sealed_query.h"

#include <algorithm>
#include <utility>

namespace dlo {
namespace {

Error refused(std::string detail) {
  return {Code::invalid_argument, "office.list", std::move(detail)};
}

Error not_declared(const FieldTest& test, const FieldPath& path) {
  const std::string shown = (test.field == Field::header ? "header." : "body.") + test.path;
  return refused("`" + shown +
                 "` cannot be searched: payloads and headers are encrypted in this office, and "
                 "the path is not declared. Declare it under `vault.indexed` in the configuration "
                 "(`" +
                 path.name() + "`); records that come from then on are found by equality.");
}

}  // namespace

Result<Query> sealed_query(const Sealing& sealing, Query query) {
  const auto no_words = refused(
      "words of payloads cannot be searched: payloads are encrypted in this office and in no text "
      "index. Search by error text, source, type, key, tag or a declared path instead.");
  if (!query.payload_words.empty()) return no_words;
  for (FieldTest& test : query.tests) {
    if (test.field == Field::payload) return no_words;
    const auto path = path_of(test);
    if (!path) continue;
    const bool declared =
        std::any_of(sealing.indexed.begin(), sealing.indexed.end(),
                    [name = path->name()](const FieldPath& each) { return each.name() == name; });
    if (!declared) return not_declared(test, *path);
    std::vector<std::string> tokens;
    for (const std::string& value : test.values) {
      auto more = sealing.sealer.tokens(path->name(), value);
      tokens.insert(tokens.end(), more.begin(), more.end());
    }
    test.field = Field::header;
    test.path = index_header(*path);
    test.values = std::move(tokens);
  }
  return query;
}

}  // namespace dlo
