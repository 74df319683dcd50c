#include <algorithm>
#include <array>
#include <map>

#include "dlo/broker/embedded/depot.h"
#include "dlo/broker/moments.h"
#include "dlo/journal/crc32c.h"

namespace dlo::embedded {

/// One publication on its way in.
struct Depot::Incoming {
  std::size_t fields_at = 0;  // in the batch's own text
  std::string_view fields;
  std::string_view payload;  // the caller's
  std::array<char, longest_tail> tail_bytes;
  std::uint32_t crc = 0;
  KeyDigest key = 0;
  Expiry expiry = never_expires;
  PublishTail tail;
  DedupeBook::Whose whose = DedupeBook::Whose::sender;
  bool past_hold = false;
  std::optional<std::uint64_t> repeats;   // position of what it repeats
  std::optional<std::size_t> repeats_in;  // ... or which of this batch
  [[nodiscard]] std::size_t weight() const noexcept { return fields.size() + payload.size(); }
  [[nodiscard]] bool accepted() const noexcept { return !repeats && !repeats_in; }
};

// Everything that needs no lock: most of the work of a publication.
void Depot::encode(const QueueRecord& queue, std::span<const Publication> messages,
                   const Failure* undecodable, TimePoint now, std::string& text,
                   std::vector<Incoming>& incoming) {
  const SourceOptions& options = queue.options;
  incoming.resize(messages.size());
  text.reserve(messages.size() * 64);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = *messages[i].message;
    Incoming& in = incoming[i];
    in.fields_at = text.size();
    encode_fields(
        {message, now, options.ttl, options.source.empty(), messages[i].counters, undecodable},
        text);
    PublishTail& tail = in.tail;
    tail.queue = queue.number;
    tail.priority = message.priority;
    tail.keyed = options.keys_in_order && !message.key.empty();
    if (tail.keyed) in.key = digest_of_key(message.key);
    in.past_hold = tail.keyed && messages[i].past_hold;
    tail.can_expire = message.expires_at.has_value() || options.ttl.has_value();
    tail.carries = messages[i].counters != Counters{} || undecodable != nullptr;
    tail.now = now;
    tail.due = later(now, messages[i].delay);
    // Waiting longer than a message lives helps nobody.
    if (tail.can_expire) {
      const auto expires_at = message.expires_at ? *message.expires_at : later(now, *options.ttl);
      tail.due = std::max(now, std::min(tail.due, expires_at));
      in.expiry = expiry_of(expires_at);
    }
    if (options.dedupe_window > Millis{0} && !messages[i].dedupe_id.empty()) {
      tail.dedupe = digest_of(messages[i].dedupe_id);
      in.whose = messages[i].replay ? DedupeBook::Whose::replay : DedupeBook::Whose::sender;
    }
  }
  // The text has stopped growing: views of it hold.
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Incoming& in = incoming[i];
    const auto end = i + 1 < messages.size() ? incoming[i + 1].fields_at : text.size();
    in.fields = std::string_view(text).substr(in.fields_at, end - in.fields_at);
    in.tail.meta_size = static_cast<std::uint32_t>(in.fields.size());
    if (messages[i].message->payload) in.payload = *messages[i].message->payload;
    in.crc = crc32c(crc32c(0, in.fields), in.payload);
  }
}

void Depot::find_duplicates(QueueState& queue, std::vector<Incoming>& incoming,
                            TimePoint now) const {
  std::map<IdDigest, std::size_t> in_batch;
  for (std::size_t i = 0; i < incoming.size(); ++i) {
    Incoming& in = incoming[i];
    if (!in.tail.dedupe) continue;
    in.repeats = holdings_.accepted_as(queue, *in.tail.dedupe, now, in.whose);
    if (in.repeats) continue;
    const auto [first, added] = in_batch.emplace(*in.tail.dedupe, i);
    if (!added) in.repeats_in = first->second;
  }
}

Result<void> Depot::check_room(QueueState& queue, const std::vector<Incoming>& incoming) {
  Load more;
  for (const Incoming& in : incoming) {
    if (!in.accepted()) continue;
    ++more.messages;
    more.bytes += in.weight();
  }
  const Load here{queue.messages() + queue.promised.messages, queue.bytes() + queue.promised.bytes};
  return dlo::check_room(queue.options(), here, more, "embedded.publish");
}

// Takes slots, writes, and remembers who arrives when the write is synced. All or none.
Result<Placed> Depot::place(std::vector<Incoming>& incoming) {
  RecordList records;
  records.reserve(incoming.size());
  for (Incoming& in : incoming) {
    if (!in.accepted()) continue;
    in.tail.slot = holdings_.take_slot(in.tail.keyed);
    const auto size = embedded::encode(in.tail, in.tail_bytes.data());
    records.add({static_cast<std::uint8_t>(RecordType::published), in.fields, in.payload,
                 std::string_view(in.tail_bytes.data(), size), in.crc});
  }
  if (records.empty()) return Placed{};
  // Consumers may write on for a while: they make room.
  constexpr std::uint32_t for_consumers = 64;
  const bool used = segment_ + for_consumers >= options_.last_segment;
  auto placed = used ? Result<Placed>(used_up("embedded.publish")) : append(records);
  std::size_t index = 0;
  for (const Incoming& in : incoming) {
    if (!in.accepted()) continue;
    if (!placed) {
      holdings_.untake(in.tail.slot);
      continue;
    }
    const Address at = placed->at(index++);
    holdings_.put(in.tail, at, static_cast<std::uint32_t>(in.weight()), in.key, in.expiry);
    arrivals_.push_back({at.sequence, in.tail.slot});
  }
  return placed;
}

std::vector<PublishAnswer> Depot::answers_to(const std::vector<Incoming>& incoming,
                                             const Placed& placed) const {
  std::vector<PublishAnswer> answers;
  answers.reserve(incoming.size());
  std::uint64_t next = placed.first;
  const auto at = [&](std::uint64_t position) {
    return Position{partition_, static_cast<std::int64_t>(position)};
  };
  for (const Incoming& in : incoming) {
    if (in.repeats_in) {
      answers.push_back({true, answers[*in.repeats_in].position});
    } else if (in.repeats) {
      answers.push_back({true, at(*in.repeats)});
    } else {
      answers.push_back({false, at(next++)});
    }
  }
  return answers;
}

Result<std::vector<PublishAnswer>> Depot::publish(std::uint16_t number,
                                                  std::span<const Publication> messages,
                                                  const Failure* undecodable, Instant now) {
  auto published = take_in(number, messages, undecodable, now);
  if (!published) return published.error();
  return made_durable(std::move(*published));
}

Result<std::vector<PublishAnswer>> Depot::made_durable(Published published) {
  const auto durable = journal_->durable(published.awaited);
  if (!durable) return durable.error();
  if (admitted_ < published.placed) {
    const Lock lock(mutex_);
    admit(*durable, published.now);
  }
  return std::move(published.answers);
}

/// While very many delays end, callers take long turns; where expired messages are dropped to make
/// room, bodies are read.
bool Depot::places_at_once(std::uint16_t number) {
  if (!journal_->has_room_now() || mutex_.is_orderly()) return false;
  const Lock lock(mutex_);
  const QueueState* queue = holdings_.queue(number);
  return queue != nullptr && !queue->options().drop_expired && housekeeping_keeps_up();
}

void Depot::flush() {
  // Why it failed is told to whoever waits for his own.
  if (const std::uint64_t newest = newest_; newest != 0) (void)journal_->durable(newest);
}

Result<Depot::Published> Depot::take_in(std::uint16_t number, std::span<const Publication> messages,
                                        const Failure* undecodable, Instant now) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].message != nullptr) continue;
    return refuse("embedded.publish", "publication " + std::to_string(i) + " of " +
                                          std::to_string(messages.size()) +
                                          " holds no message; nothing of the batch was taken");
  }
  std::vector<Incoming> incoming;
  QueueState* queue = nullptr;
  QueueRecord settings;
  {
    const Lock lock(mutex_);
    auto found = usable(number, "embedded.publish");
    if (!found) return found.error();
    queue = *found;
    settings = queue->record;
  }
  std::string text;
  encode(settings, messages, undecodable, now.wall, text, incoming);
  for (const Incoming& in : incoming) {
    if (in.fields.size() <= max_meta_size) continue;
    return refuse(
        "embedded.publish",
        "the fields of a message (headers, key, id and others, without the payload) take " +
            std::to_string(in.fields.size()) + " bytes; at most " + std::to_string(max_meta_size) +
            " are possible; nothing of the batch was taken; move large values into the "
            "payload");
  }
  if (const auto room = wait_for_room(false); !room) return room.error();
  Placed placed;
  {
    Lock lock(mutex_);
    wait_for_housekeeping(lock);
    if (const auto still = usable(number, "embedded.publish"); !still) return still.error();
    advance(now);
    find_duplicates(*queue, incoming, now.wall);
    auto room = check_room(*queue, incoming);
    if (!room) holdings_.look_at_once(*queue, now.wall);
    // Or another does so just now: then there is room when that is over.
    if (!room && (may_drop(*queue, now.wall) || doorbells_[number].dropping > 0)) {
      lock.unlock();
      if (const auto dropped = drop_overdue(number, now); !dropped) return dropped.error();
      lock.lock();
      if (const auto still = usable(number, "embedded.publish"); !still) return still.error();
      advance(now);  // somebody may have set the clock meanwhile
      for (Incoming& in : incoming) in.repeats = in.repeats_in = {};
      find_duplicates(*queue, incoming, now.wall);
      room = check_room(*queue, incoming);
    }
    if (!room) return room.error();
    for (Incoming& in : incoming) {
      if (!in.past_hold || !queue->keys.on_hold(holdings_.slots(), in.key)) continue;
      in.tail.keyed = false;
      in.key = 0;
    }
    auto done = place(incoming);
    if (!done) return done.error();
    placed = std::move(*done);
  }
  // A repeat is as good as what it repeats: that has to be durable too.
  auto last = placed.last;
  for (const Incoming& in : incoming) last = std::max(last, in.repeats.value_or(0));
  return Published{answers_to(incoming, placed), placed.last, last, now.wall};
}

}  // namespace dlo::embedded
