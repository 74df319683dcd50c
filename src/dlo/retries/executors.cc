#include "dlo/retries/executors.h"

#include <utility>

#include "dlo/core/retry_request.h"
#include "dlo/json/text/value.h"

namespace dlo {
namespace {

std::string from_payload(const Message& task) {
  if (!task.payload || !task.payload->starts_with('{')) return {};
  static const std::vector<JsonPath> paths = {JsonPath{"adapter", {"adapter"}}};
  const auto found = find_paths(*task.payload, paths);
  if (found.empty() || found.front().kind != JsonKind::string) return {};
  const auto text = parse_json(found.front().raw);
  return text ? text->text() : std::string();
}

}  // namespace

std::string adapter_of(const Message& task) {
  if (const Header* named = find_header(task.headers, adapter_header)) return named->value;
  return from_payload(task);
}

std::vector<std::string> targets_of(const Message& task) {
  std::vector<std::string> targets;
  const Header* const carried = find_header(task.headers, targets_header);
  if (carried == nullptr) return targets;
  const auto list = parse_json(carried->value);
  if (!list) return targets;
  for (const JsonValue& each : list->items) {
    targets.push_back(each.kind == JsonKind::string ? each.text() : std::string(each.raw));
  }
  return targets;
}

Executors::Executors(std::string fallback) {
  table_.choose_by([fallback = std::move(fallback)](const Message& task) {
    std::string named = adapter_of(task);
    return named.empty() ? fallback : named;
  });
}

void Executors::set(const std::string& name, std::shared_ptr<Handler> handler,
                    HandlerOptions options) {
  if (options.name.empty()) options.name = name;
  table_.set(name, std::move(handler), std::move(options));
}

}  // namespace dlo
