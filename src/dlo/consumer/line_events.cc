#include "dlo/consumer/line_events.h"

#include <algorithm>
#include <variant>

#include "dlo/core/parking.h"

namespace dlo::consumer {
namespace {

constexpr std::size_t longest = 500;

/// In one line, and not all of a long one.
std::string line_of(std::string_view text) {
  std::string line(text.substr(0, longest));
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

std::string name_of_message(const Message& message) {
  return message.id.empty() ? "a message without an id" : "message " + line_of(message.id);
}

}  // namespace

void LineEvents::succeeded(const Message& message, const Counters& counters, Millis /*took*/) {
  if (!log_ || !done_) return;
  log_("info: Message processed. MessageId: " + line_of(message.id) + line_of(done_(message)) +
       ", Attempt: " + std::to_string(counters.attempt));
}

void LineEvents::failed(const Message& message, const Failure& failure, const Decision& decision,
                        Millis /*took*/) {
  if (!log_) return;
  log_("error: " + name_of_message(message) +
       " failed: " + line_of(failure.text.empty() ? failure.type : failure.text));
  const auto* again = std::get_if<RetryAt>(&decision.verdict);
  if (again == nullptr) return;
  const bool waits = at_office_ || waits_in_office(*again, false);
  log_(std::string("warning: ") + (waits ? "Message waits in the office." : "Requeuing message.") +
       " Attempt " + std::to_string(decision.counters.failure) + "/" +
       std::to_string(rules_()->profile().limit));
}

void LineEvents::dead_lettered(const DeadLetter& record) {
  if (!log_) return;
  const bool is_invalid = record.category == rules_()->profile().invalid_category;
  if (is_invalid) log_("warning: Invalid event format - not requeuing");
  if (!is_invalid && !record.description.empty()) log_("error: " + line_of(record.description));
  log_("info: Dead letter message created with Id: " + to_string(record.id));
  const std::string& said = record.failure.text.empty() ? record.description : record.failure.text;
  log_("error: Message moved to DLQ. DLQId: " + to_string(record.id) +
       ", SourceQueue: " + line_of(record.message->source) + ", Error: " + line_of(said));
}

void LineEvents::dropped(const Message& message, std::string_view reason) {
  if (!log_) return;
  log_("warning: Invalid event format - not requeuing: " + name_of_message(message) + ", " +
       line_of(reason));
}

void LineEvents::source_down(const Error& error) {
  at_office_ ? troubles_.office(error) : troubles_.broker(error);
}

void LineEvents::source_up() {
  at_office_ ? troubles_.office(std::nullopt) : troubles_.broker(std::nullopt);
}

}  // namespace dlo::consumer
