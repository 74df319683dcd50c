#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/repair/json_tree.h"

namespace dlo {

/// A part of JSON Schema (2020-12) that is quick to check and easy to read:
///   type · enum · const · properties · required · additionalProperties (true, false or a schema) ·
///   items · minItems · maxItems · minLength · maxLength · minimum · maximum · and the notes
///   $schema, $id, title, description, examples, default, which mean nothing to it.
/// A schema with any other word is refused when it is given, so that nobody believes a rule is
/// checked which is not.
class JsonSchema {
 public:
  [[nodiscard]] static Result<JsonSchema> parse(std::string_view text);
  /// What is wrong with a payload, each with its place; at most `most_complaints`. Empty: nothing.
  [[nodiscard]] std::vector<std::string> check(std::string_view payload) const;
  static constexpr std::size_t most_complaints = 20;

 private:
  explicit JsonSchema(JsonTree tree) : tree_(std::move(tree)) {}
  JsonTree tree_;
};

}  // namespace dlo
