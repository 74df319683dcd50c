// Reading messages where they lie. That a record is damaged is one thing, that the disk did not
// give it another: what is damaged stays so, and is handed out as undecodable; the other may be
// whole.
#include <utility>

#include "dlo/broker/embedded/claim.h"
#include "dlo/broker/embedded/depot.h"
#include "dlo/broker/moments.h"
#include "dlo/journal/says_damage.h"

namespace dlo::embedded {
namespace {

constexpr Millis until_next_look{1000};  // at what the disk did not give

Failure damaged(const Error& error) {
  Failure failure;
  failure.type = "DamagedRecord";
  failure.text = error.detail;
  return failure;
}

}  // namespace

void Depot::load_body(const Result<std::string_view>& record, const Address& at, Loaded& into) {
  into.body = at;
  const auto stored = record ? decode_published(*record) : std::nullopt;
  if (stored) into.message = decode_message(*stored);
  auto position = at.sequence;
  if (stored && stored->tail.position) position = *stored->tail.position;
  if (stored && stored->tail.carries && into.state.is_fresh()) into.state = carried_state(*stored);
  if (into.message == nullptr) {
    into.message = std::make_shared<Message>();
    if (record) into.message->payload.emplace(*record);
    const Error unreadable{Code::corrupt, "embedded.receive",
                           "the record of this message is not one this program can read"};
    into.state.undecodable =
        std::make_shared<const Failure>(damaged(record ? unreadable : record.error()));
    if (!record && !says_damage(record.error())) into.unread = record.error();
  }
  into.message->position = Position{partition_, static_cast<std::int64_t>(position)};
}

std::vector<Depot::Loaded> Depot::load(const std::vector<Claim>& claims) {
  std::vector<Loaded> loaded(claims.size());
  std::vector<Address> addresses;
  std::uint64_t newest = 0;
  for (const Claim& each : claims) {
    addresses.push_back(each.at);
    newest = std::max(newest, each.at.sequence);
  }
  if (!claims.empty()) (void)journal_->written(newest);  // a state may not have left yet
  std::vector<std::size_t> stateful;
  std::vector<Address> bodies;
  journal_->read(addresses, [&](std::size_t i, const Result<std::string_view>& record) {
    auto state = record && claims[i].has_state ? decode_state(*record) : std::nullopt;
    if (!state) return load_body(record, claims[i].at, loaded[i]);
    loaded[i].state = std::move(state->state);
    if (claims[i].redriven) loaded[i].state.begin_anew();
    stateful.push_back(i);
    bodies.push_back(state->body);
  });
  if (bodies.empty()) return loaded;
  journal_->read(bodies, [&](std::size_t i, const Result<std::string_view>& record) {
    load_body(record, bodies[i], loaded[stateful[i]]);
  });
  return loaded;
}

/// What the disk did not give goes back as it was and is tried again a little later. Answers why.
Result<void> Depot::give_back_unread(const std::vector<Claim>& claims, std::vector<Loaded>& loaded,
                                     const Instant& now) {
  std::optional<Error> why;
  for (const Loaded& each : loaded) {
    if (each.unread) why = each.unread;
  }
  if (!why) return {};
  Lock lock(mutex_);
  advance(now);
  std::vector<Return> returns;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!loaded[i].unread) continue;
    loaded[i].left_out = true;
    if (holdings_.find(claims[i].slot, claims[i].number) == nullptr) continue;
    returns.push_back({claims[i].slot, claims[i].repeat, later(now.wall, until_next_look)});
  }
  if (returns.empty()) return *why;
  std::string record;
  embedded::encode(returns, record);
  RecordList records;
  records.add(RecordType::returned, std::move(record));
  const auto placed = append(records);
  if (!placed) return placed.error();
  for (const Return& each : returns) holdings_.return_unchanged(each, now.wall);
  if (std::exchange(unread_, why->detail) != why->detail) {
    untold_ = "the disk does not give a message that is there; it is tried again: " + why->detail;
    housekeeping_.notify_one();
  }
  lock.unlock();
  const auto written = journal_->written(placed->last);
  return written ? Result<void>(*why) : written;
}

/// Copies, for the few who keep them.
std::vector<Result<std::string>> Depot::read_each(std::span<const Address> addresses) {
  std::vector<Result<std::string>> out(addresses.size(), std::string());
  journal_->read(addresses, [&](std::size_t i, const Result<std::string_view>& record) {
    out[i] = record ? Result<std::string>(std::string(*record)) : record.error();
  });
  return out;
}

}  // namespace dlo::embedded
