#pragma once

#include <memory>
#include <string>
#include <utility>

#include "dlo/engine/handler.h"

namespace dlo {

/// A task with everything that was reported beside it, as one JSON object:
/// `{"task_id","task","targets","metadata","attempt"}`. A payload that is no JSON is text, or
/// base64 beside `task_encoding`. Targets stand by themselves and not in the metadata too.
[[nodiscard]] std::string envelope_of(const Message& task, const RunContext& context);

/// Hands tasks to another handler in their envelopes: for targets and metadata of any size, where
/// headers and variables have limits.
class EnvelopeHandler final : public Handler {
 public:
  explicit EnvelopeHandler(std::shared_ptr<Handler> inner) : inner_(std::move(inner)) {}
  Outcome run(const Message& message, const RunContext& context) override;

 private:
  std::shared_ptr<Handler> inner_;
};

}  // namespace dlo
