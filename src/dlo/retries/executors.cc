#include "dlo/retries/executors.h"

#include <utility>

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
