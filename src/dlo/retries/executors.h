#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlo/engine/handler_table.h"

namespace dlo {

/// Who runs tasks, by name. A task names its executor in the member `adapter` of its JSON payload,
/// or in the header `dlo-adapter` if it is no JSON; the default runs the others (S2-35). A name
/// that nobody has is a failure which says who there is.
class Executors {
 public:
  /// `fallback`: the name of the default.
  explicit Executors(std::string fallback);

  void set(const std::string& name, std::shared_ptr<Handler> handler, HandlerOptions options = {});

  /// Which executor a task asks for.
  [[nodiscard]] const HandlerTable& table() const noexcept { return table_; }
  [[nodiscard]] bool empty() const noexcept { return table_.empty(); }

 private:
  HandlerTable table_;
};

/// The executor that a task names; empty: none.
[[nodiscard]] std::string adapter_of(const Message& task);

/// Where a task was to act, as it was reported (S2-17): strings by what they say, anything else as
/// JSON. Empty: nowhere in particular.
[[nodiscard]] std::vector<std::string> targets_of(const Message& task);

inline constexpr const char* adapter_header = "dlo-adapter";

}  // namespace dlo
