#include "dlo/consumer/dead_letter_copy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/core/id.h"

namespace dlo::consumer {
namespace {

constexpr std::size_t longest_stack = 32U << 10U;
constexpr std::size_t longest_text = 8U << 10U;
constexpr std::size_t brief_text = 512;
constexpr std::string_view expiration = "amqp-expiration";

constexpr std::array<std::string_view, 6> of_document = {"x-retry-count",    "x-first-attempt",
                                                         "x-error-message",  "x-stack-trace",
                                                         "x-original-queue", "x-failed-at"};

bool tells_of_a_death(std::string_view name, bool booking_names) {
  if (name.starts_with("dlo-error") || name.starts_with("dlo-failed-")) return true;
  return booking_names && std::ranges::find(of_document, name) != of_document.end();
}

/// At a whole character, so that others can read it.
std::string cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (text[limit] & '\xC0') == '\x80') --limit;
  return std::string(text.substr(0, limit)) + " [cut]";
}

class Teller {
 public:
  Teller(Headers& headers, bool booking_names) : headers_(headers), booking_(booking_names) {}

  void text(std::string_view ours, std::string_view theirs, const std::string& value) {
    if (value.empty()) return;
    headers_.push_back({std::string(ours), value});
    if (booking_ && !theirs.empty()) headers_.push_back({std::string(theirs), value});
  }
  void number(std::string_view ours, std::string_view theirs, std::uint32_t value) {
    headers_.push_back({std::string(ours), std::to_string(value), HeaderType::integer});
    if (!booking_) return;
    headers_.push_back({std::string(theirs), std::to_string(value), HeaderType::integer});
  }

 private:
  Headers& headers_;
  const bool booking_;
};

}  // namespace

MessagePtr copy_of(const DeadLetter& record, const CopyForm& form, Telling telling) {
  auto copy = std::make_shared<Message>(*record.message);
  copy->expires_at.reset();
  copy->enqueued_at =
      std::chrono::floor<std::chrono::seconds>(copy->enqueued_at);  // AMQP has these
  std::erase_if(copy->headers, [&](const Header& each) {
    return each.name == expiration || tells_of_a_death(each.name, form.booking_names);
  });
  if (telling == Telling::nothing) return copy;
  const bool all = telling == Telling::all;
  Teller tell(copy->headers, form.booking_names);
  const std::string& said = record.failure.text.empty() ? record.description : record.failure.text;
  tell.text("dlo-error", "x-error-message", cut(said, all ? longest_text : brief_text));
  tell.text("dlo-error-type", "", cut(record.failure.type, brief_text));
  if (all) tell.text("dlo-error-stack", "x-stack-trace", cut(record.failure.stack, longest_stack));
  tell.text("dlo-failed-queue", "x-original-queue", form.queue);
  tell.text("dlo-failed-at", "x-failed-at", to_iso8601(record.died_at));
  if (record.first_attempt_at) {
    tell.text("dlo-failed-first-at", "x-first-attempt", to_iso8601(*record.first_attempt_at));
  }
  tell.text("dlo-failed-reason", "", cut(record.reason, brief_text));
  tell.text("dlo-failed-id", "", to_string(record.id));
  tell.number("dlo-failed-attempts", "x-retry-count", record.counters.attempt);
  return copy;
}

}  // namespace dlo::consumer
