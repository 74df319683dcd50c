#include "dlo/cli/findings.h"

#include <ostream>

#include "dlo/cli/table.h"

namespace dlo::cli {

Findings::Findings(Context& context)
    : context_(context), rows_(context, {"check", "state", "found", "todo"}), worst_(exit_ok) {}

void Findings::ok(const std::string& what, const std::string& found) {
  add("ok", what, found, "");
}

void Findings::warn(const std::string& what, const std::string& found, const std::string& todo) {
  add("warn", what, found, todo);
  if (worst_ == exit_ok) worst_ = exit_partial;
}

void Findings::fail(const std::string& what, const std::string& found, const std::string& todo) {
  add("fail", what, found, todo);
  worst_ = exit_error;
}

int Findings::end() {
  rows_.end();
  return worst_;
}

void Findings::add(const std::string& mark, const std::string& what, const std::string& found,
                   const std::string& todo) {
  if (!is_for_people(context_)) return rows_.add({what, mark, found, todo});
  const std::string_view colour = context_.colour ? colour_of_status(mark) : "";
  context_.out << colour << mark << std::string(6 - mark.size(), ' ')
               << (colour.empty() ? "" : paint::plain) << what
               << std::string(what.size() < 10 ? 10 - what.size() : 1, ' ') << printable(found)
               << "\n";
  if (!todo.empty()) context_.out << "                → " << printable(todo) << "\n";
}

}  // namespace dlo::cli
