#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/broker/embedded/records.h"
#include "dlo/broker/embedded/slot_pack.h"

namespace {

using namespace dlo::embedded;

/// What was understood must come back the same when it is written and read again.
void expect(bool holds) {
  if (!holds) std::abort();
}

void try_state(std::string_view bytes) {
  const auto state = decode_state(bytes);
  if (!state) return;
  std::string once;
  encode(*state, once);
  const auto again = decode_state(once);
  std::string twice;
  if (again) encode(*again, twice);
  expect(again && once == twice);
}

void try_message(std::string_view bytes) {
  const auto stored = decode_published(bytes);
  if (!stored) return;
  (void)key_of(*stored);
  (void)carried_state(*stored);
  const auto message = decode_message(*stored);
  if (!message) return;
  std::string fields;
  encode_fields({*message, stored->tail.now, {}, true, {}, nullptr}, fields);
  StoredMessage copy = *stored;
  copy.meta = fields;
  const auto again = decode_message(copy);
  expect(again && *again == *message);
}

void try_lists(std::string_view bytes) {
  if (const auto removals = decode_removals(bytes)) {
    std::string out;
    encode(removals->all, removals->now, out);
    expect(out == bytes);
  }
  if (const auto returns = decode_returns(bytes)) {
    std::string out;
    encode(*returns, out);
    expect(out.size() == bytes.size());
  }
  if (const auto queue = decode_queue(bytes)) {
    std::string out;
    encode(*queue, out);
    expect(decode_queue(out).has_value());
  }
  ByteReader in(bytes);
  (void)decode_slots(in);
}

void try_slots(std::string_view bytes) {
  std::vector<Slot> block(Slots::block_size);
  if (!unpack_slots(bytes, block.data())) return;
  std::string out;
  pack_slots(block.data(), out);
  std::vector<Slot> again(Slots::block_size);
  const auto size = block.size() * sizeof(Slot);
  expect(unpack_slots(out, again.data()));
  expect(std::memcmp(static_cast<const void*>(block.data()), again.data(), size) == 0);
}

}  // namespace

/// Any bytes, read as every kind of record a journal of queues may hold.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_state(bytes);
  try_message(bytes);
  try_lists(bytes);
  try_slots(bytes);
  return 0;
}
