#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/must.h"
#include "unit/handlers/loopback_server.h"
#include "unit/handlers/world.h"

#include "dlo/engine/handlers/http_handler.h"

namespace dlo::testing {

inline Message message_with(std::optional<std::string> payload) {
  Message message;
  message.id = "m-1";
  message.source = "orders";
  message.event_type = "OrderPlaced";
  message.content_type = "application/json";
  message.payload = std::move(payload);
  return message;
}

inline HttpPushOptions options_for(const std::string& url) {
  HttpPushOptions options;
  options.url = url;
  options.clock = [] { return noon; };
  options.timeout = 20s;
  return options;
}

inline std::unique_ptr<HttpHandler> handler_for(const std::string& url) {
  return must(HttpHandler::make(options_for(url)));
}

inline Outcome push(const std::string& url, const std::string& payload = "{}") {
  return handler_for(url)->run(message_with(payload), context_of_first_attempt());
}

/// The outcome of one push to a server that always answers this.
inline Outcome push_to(const Reply& reply) {
  const LoopbackServer server([&](const Request&) { return reply; });
  return push(server.url());
}

}  // namespace dlo::testing
