#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/repair/json_tree.h"

namespace dlo {

/// Something that does not fit, in words that name its place.
struct SchemaComplaint {
  std::string text;
  std::vector<std::string> steps;  // to its place
  bool of_value = false;           // it tells what the whole of the value there is not
};

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
  [[nodiscard]] std::vector<SchemaComplaint> check(std::string_view payload) const;
  /// Whether what stands at `steps`, or within, can make a difference, so that whoever sees
  /// complaints learns something of it. That it is there is not meant.
  [[nodiscard]] bool looks_at(const std::vector<std::string>& steps) const;
  static constexpr std::size_t most_complaints = 20;

 private:
  explicit JsonSchema(JsonTree tree) : tree_(std::move(tree)) {}
  JsonTree tree_;
};

}  // namespace dlo
