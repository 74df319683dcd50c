#include "dlo/core/explain_replay.h"

namespace dlo {

void explain_replay(Explanation& answer, std::span<const RedirectRule> rules,
                    const Inquiry& inquiry, const CaseFile& file) {
  const Message* const message = file.record == nullptr ? nullptr : file.record->message.get();
  std::string source = inquiry.source;
  std::string type = inquiry.event_type;
  if (message != nullptr && source.empty()) source = message->source;
  if (message != nullptr && type.empty()) type = message->event_type;
  if (rules.empty() || source.empty()) return;
  answer.steps.push_back(
      {"replay", "sent back it goes " + describe(direction_of("", rules, source, type), rules)});
}

}  // namespace dlo
