#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlo/engine/breaker_guard.h"
#include "dlo/engine/handler.h"

namespace dlo {

/// Settings of one handler.
struct HandlerOptions {
  std::string name;                      // in records; empty: the event type, or "default"
  std::optional<Millis> timeout;         // instead of the processor's
  std::optional<BreakerPolicy> breaker;  // none: no circuit
  std::uint32_t at_once = 0;             // runs at the same time; 0: as many as the processor has
};

struct HandlerEntry {
  std::string name;
  std::shared_ptr<Handler> handler;
  std::optional<Millis> timeout;
  BreakerGuard breaker;
};

/// Who runs which event type. Filled before a processor starts, read-only afterwards.
class HandlerTable {
 public:
  /// Everything that has no handler of its own.
  void set_default(std::shared_ptr<Handler> handler, HandlerOptions options = {}) {
    default_ = entry(std::move(handler), std::move(options), "default");
  }
  void set(const std::string& event_type, std::shared_ptr<Handler> handler,
           HandlerOptions options = {}) {
    by_type_[event_type] = entry(std::move(handler), std::move(options), event_type);
  }

  /// Which of them runs a message, by the name it was set under; instead of the event type.
  using Choose = std::function<std::string(const Message&)>;
  void choose_by(Choose choose) { choose_ = std::move(choose); }
  [[nodiscard]] bool chooses() const noexcept { return choose_ != nullptr; }
  [[nodiscard]] std::string choice(const Message& message) const {
    return choose_ ? choose_(message) : message.event_type;
  }
  /// Null: nobody is registered for it.
  [[nodiscard]] HandlerEntry* find(const Message& message) const {
    return choose_ ? find(choose_(message)) : find(message.event_type);
  }

  /// Null: nobody is registered for this type.
  [[nodiscard]] HandlerEntry* find(std::string_view event_type) const {
    if (by_type_.empty()) return default_.get();
    const auto found = by_type_.find(event_type);
    return found == by_type_.end() ? default_.get() : found->second.get();
  }
  [[nodiscard]] bool has_default() const noexcept { return default_ != nullptr; }
  /// The only handler there is, or null: then its circuit is the circuit of the whole source.
  [[nodiscard]] HandlerEntry* only() const {
    if (by_type_.empty()) return default_.get();
    return by_type_.size() == 1 && !default_ ? by_type_.begin()->second.get() : nullptr;
  }
  /// Every handler with a name of its own, in order of these.
  [[nodiscard]] std::vector<std::pair<std::string, HandlerEntry*>> named() const {
    std::vector<std::pair<std::string, HandlerEntry*>> all;
    for (const auto& [name, entry] : by_type_) all.emplace_back(name, entry.get());
    std::sort(all.begin(), all.end());
    return all;
  }
  [[nodiscard]] bool empty() const noexcept { return !default_ && by_type_.empty(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  static std::shared_ptr<HandlerEntry> entry(std::shared_ptr<Handler> handler,
                                             HandlerOptions options, std::string_view fallback) {
    if (options.name.empty()) options.name = fallback;
    return std::shared_ptr<HandlerEntry>(
        new HandlerEntry{std::move(options.name), std::move(handler), options.timeout,
                         BreakerGuard(options.breaker, options.at_once)});
  }

  Choose choose_;
  std::shared_ptr<HandlerEntry> default_;
  std::unordered_map<std::string, std::shared_ptr<HandlerEntry>, TextHash, std::equal_to<>>
      by_type_;
};

}  // namespace dlo
