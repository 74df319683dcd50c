#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dlo::testing {

/// A server that a test needs cannot be had. The test is skipped with a loud notice; under
/// DLO_REQUIRE=postgres,… it fails, so that CI never takes an absent server for success.
class MissingServer : public std::runtime_error {
 public:
  MissingServer(std::string name, const std::string& why)
      : std::runtime_error("*** " + name + " CANNOT BE HAD, NOTHING WAS TESTED: " + why),
        name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

/// Whether `name` is in a list of names with commas between them.
[[nodiscard]] inline bool is_named(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

[[nodiscard]] inline bool is_required(std::string_view name) {
  const char* list = std::getenv("DLO_REQUIRE");
  return list != nullptr && is_named(list, name);
}

}  // namespace dlo::testing

/// In a test or SetUp: carries out `statement`; skips or fails where a server is missing.
#define SKIP_WITHOUT_SERVER(statement)                                         \
  try {                                                                        \
    statement;                                                                 \
  } catch (const ::dlo::testing::MissingServer& missing) {                     \
    if (::dlo::testing::is_required(missing.name())) FAIL() << missing.what(); \
    GTEST_SKIP() << missing.what();                                            \
  }
