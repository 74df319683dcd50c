#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/context.h"
#include "dlo/cli/table.h"

namespace dlo::cli {

/// Items of an answer in the format that was asked for: the whole answer (json), a line each
/// (ndjson), the member `id_name` of each (id), or what `table` makes of them.
void print_items(Context& context, const Reply& reply, const std::vector<JsonValue>& items,
                 const char* id_name, const std::function<Table()>& table);

/// One thing, such as what an act answers: itself (json, ndjson), its `id_name`, its members that
/// are no lists under their names (csv), or what `people` says of it.
void print_one(Context& context, const JsonValue& value, const char* id_name,
               const std::function<void()>& people);

/// The same for an answer that does not name what it is about.
void print_done(Context& context, const JsonValue& value, const std::string& id,
                const std::function<void()>& people);

/// Several things that no single answer holds: an array (json), a line each (ndjson), and so on.
void print_all(Context& context, const std::vector<JsonValue>& items, const char* id_name,
               const std::function<void()>& people);

/// Rows that come one after another, and may be many: printed as they come (ndjson, id, and for
/// people), or as one array (json) or table (csv) that `end` closes. The first member is the id.
class Rows {
 public:
  Rows(Context& context, std::vector<std::string> names);
  /// One cell for each name; in JSON empty ones are left out.
  void add(const std::vector<std::string>& cells);
  void end();
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  Context& context_;
  std::vector<std::string> names_;
  std::size_t count_ = 0;
};

/// For people: sentences and columns. The other formats are for programs.
[[nodiscard]] bool is_for_people(const Context& context) noexcept;

/// "3m ago" for people, the moment itself for programs; empty if there is none.
[[nodiscard]] std::string when(const Context& context, const std::optional<TimePoint>& time);

/// What cannot be printed as ids.
int refuse_ids(Context& context, const std::string& what);

/// A text as JSON has it, in quotes.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace dlo::cli
