#pragma once

#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/context.h"
#include "dlo/cli/output.h"

namespace dlo::cli {

/// Collects what was found and the worst of it.
class Findings {
 public:
  explicit Findings(Context& context);

  void ok(const std::string& what, const std::string& found);
  void warn(const std::string& what, const std::string& found, const std::string& todo);
  void fail(const std::string& what, const std::string& found, const std::string& todo);
  /// Nothing more is added. What the program ends with.
  [[nodiscard]] int end();

 private:
  void add(const std::string& mark, const std::string& what, const std::string& found,
           const std::string& todo);

  Context& context_;
  Rows rows_;
  int worst_;
};

/// Brokers and databases of others that the server works with: whether each can be reached, and
/// lets it do what it is there for. `only`: of these sources, if the token is for single ones.
void check_brokers(Findings& findings, Client& client, const std::vector<std::string>& only);

}  // namespace dlo::cli
