#include "dlo/broker/embedded/message_check.h"

#include <string>

#include "dlo/broker/embedded/records.h"

namespace dlo::embedded {
namespace {

class MessageCheck {
 public:
  MessageCheck(Holdings& holdings, Inspection& journal, const BrokenList& told, QueueCheck& check)
      : holdings_(holdings), journal_(journal), told_(told), check_(check) {}

  std::vector<Unreadable> run() {
    constexpr std::size_t at_once = 4096;
    for (SlotNumber at = 0; at < holdings_.slots().size(); ++at) {
      const Place place = holdings_.slots()[at].place;
      if (place == Place::free) continue;
      QueueCheck::Queue& queue = check_.queues[holdings_.slots()[at].queue];
      ++(place == Place::dead ? queue.dead : queue.waiting);
      slots_.push_back(at);
      if (slots_.size() == at_once) verify();
    }
    verify();
    return std::move(unreadable_);
  }

 private:
  void verify() {
    std::vector<Address> addresses;
    for (const auto slot : slots_) addresses.push_back(holdings_.address_of(slot));
    std::vector<Address> bodies;
    std::vector<SlotNumber> owners;
    journal_.read(addresses, [&](std::size_t i, const Result<std::string_view>& record) {
      if (!record) return complain(slots_[i], addresses[i], record.error().detail);
      if (!holdings_.slots()[slots_[i]].has_state) return judge(slots_[i], addresses[i], *record);
      const auto state = decode_state(*record);
      if (!state) return complain(slots_[i], addresses[i], "The state of a message is no state.");
      bodies.push_back(state->body);
      owners.push_back(slots_[i]);
    });
    journal_.read(bodies, [&](std::size_t i, const Result<std::string_view>& record) {
      if (!record) return complain(owners[i], bodies[i], record.error().detail);
      judge(owners[i], bodies[i], *record);
    });
    slots_.clear();
  }

  void judge(SlotNumber slot, const Address& at, std::string_view record) {
    const auto stored = decode_published(record);
    if (!stored || decode_message(*stored) == nullptr) {
      return complain(slot, at, "The body of a message is no message.");
    }
    ++check_.verified;
  }

  void complain(SlotNumber slot, const Address& at, const std::string& what) {
    QueueCheck::Queue& queue = check_.queues[holdings_.slots()[slot].queue];
    ++queue.unreadable;
    const bool known = journal_.is_set_aside(at.location) || told_.contains(at);
    unreadable_.push_back({slot, at, known});
    if (known) return;
    check_.damages.push_back(
        {"queue \"" + queue.name + "\", segment " + std::to_string(at.location.segment),
         at.location.offset, 0, "A message cannot be read: " + what});
  }

  Holdings& holdings_;
  Inspection& journal_;
  const BrokenList& told_;
  QueueCheck& check_;
  std::vector<SlotNumber> slots_;
  std::vector<Unreadable> unreadable_;
};

}  // namespace

std::vector<Unreadable> check_messages(Holdings& holdings, Inspection& journal,
                                       const BrokenList& told, QueueCheck& check) {
  for (std::size_t i = 0; i < holdings.queue_count(); ++i) {
    const QueueState* queue = holdings.queue(static_cast<std::uint16_t>(i));
    check.queues.push_back({queue != nullptr ? queue->options().source : "", 0, 0, 0});
  }
  return MessageCheck(holdings, journal, told, check).run();
}

Error not_given(const Error& why) {
  return Error{why.code, why.where,
               why.detail +
                   " The disk does not give what is there, so nobody can say whether it is whole. "
                   "Nothing was changed. Try again, or copy the directory to another disk first."};
}

}  // namespace dlo::embedded
