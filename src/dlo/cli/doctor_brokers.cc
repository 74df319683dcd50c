#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/findings.h"

namespace dlo::cli {
namespace {

/// Messages wait for it, and nobody runs them any more.
bool is_unserved(const JsonValue& source) {
  return text_of(source, "kind") == "unserved";
}

bool is_of_others(const JsonValue& source) {
  return is_unserved(source) || !member(source, "collectors").items.empty() ||
         !member(source, "relays").items.empty() ||
         member(source, "consumer").kind == JsonKind::object;
}

/// A broker that is there and says no needs something else than one that is not there.
std::string todo_for(const std::string& trouble, const std::string& name) {
  const bool refused = trouble.find("set_permissions") != std::string::npos;
  return (refused ? "give its user the rights that docs/rabbitmq.md lists; then dlo source test "
                  : "does it run, and is its address right? Then dlo source test ") +
         name;
}

/// True: nothing is wrong with it.
bool check_source(Findings& findings, Client& client, const JsonValue& source) {
  const std::string name = text_of(source, "source");
  if (is_unserved(source)) {
    findings.warn("source", name + ": " + text_of(source, "trouble"),
                  "dlo source give-up " + name + ", or configure it again");
    return false;
  }
  if (is_true(source, "paused")) {
    findings.warn("broker", name + " is paused", "dlo source resume " + name);
    return false;
  }
  const std::string path = Address("/v1/sources").step(name).step("test").text();
  const auto tested = ask_for(client, {"POST", path, "{}"});
  if (!tested) {
    findings.warn("broker", name + ": " + tested.error().detail, "look at the server's output");
    return false;
  }
  bool fine = true;
  for (const JsonValue& each : member(tested->value, "checks").items) {
    if (is_true(each, "ok")) continue;
    const std::string trouble = text_of(each, "text");
    findings.fail("broker", trouble, todo_for(trouble, name));
    fine = false;
  }
  return fine;
}

}  // namespace

void check_brokers(Findings& findings, Client& client, const std::vector<std::string>& only) {
  std::size_t fine = 0;
  const auto look = [&](const JsonValue& source) {
    if (is_of_others(source) && check_source(findings, client, source)) ++fine;
  };
  for (const std::string& name : only) {
    // A source that nothing came from yet is none of the server's.
    const auto one = ask_for(client, {"GET", Address("/v1/sources").step(name).text()});
    if (one) look(one->value);
  }
  if (only.empty()) {
    const auto all = ask_for(client, {"GET", "/v1/sources"});
    if (!all) findings.warn("brokers", all.error().detail, "dlo source list");
    if (all) {
      for (const JsonValue& source : member(all->value, "sources").items) look(source);
    }
  }
  if (fine > 0) findings.ok("brokers", "sources without trouble: " + std::to_string(fine));
}

}  // namespace dlo::cli
