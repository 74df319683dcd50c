#include "dlo/broker/embedded/slot_pack.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "dlo/broker/embedded/bytes.h"

namespace dlo::embedded {
namespace {

static_assert(std::is_trivially_copyable_v<Slot> && sizeof(Slot) % sizeof(std::uint32_t) == 0);
constexpr std::size_t word_count = sizeof(Slot) / sizeof(std::uint32_t);
using Words = std::array<std::uint32_t, word_count>;

// Small either way: 0, -1, 1, -2, ...
std::uint32_t folded(std::uint32_t value) noexcept {
  return value << 1 ^ (0U - (value >> 31));
}
std::uint32_t unfolded(std::uint32_t value) noexcept {
  return value >> 1 ^ (0U - (value & 1));
}

/// What the next slot is if nothing changes.
struct Course {
  Words last{};
  Words step{};
  void go_on() noexcept {
    for (std::size_t i = 0; i < word_count; ++i) last[i] += step[i];
  }
};

}  // namespace

void pack_slots(const Slot* block, std::string& out) {
  ByteWriter bytes(out);
  Course course;
  std::uint64_t same = 0;
  for (SlotNumber number = 0; number < Slots::block_size; ++number) {
    Words words;
    std::memcpy(words.data(), static_cast<const void*>(block + number), sizeof(Slot));
    std::uint64_t changed = 0;
    Words turns{};
    for (std::size_t i = 0; i < word_count; ++i) {
      const auto step = words[i] - course.last[i];
      turns[i] = step - course.step[i];
      if (turns[i] != 0) changed |= std::uint64_t{1} << i;
      course.step[i] = step;
    }
    course.last = words;
    if (changed == 0) {
      ++same;
      continue;
    }
    if (same > 0) bytes.number(same << 1);
    same = 0;
    bytes.number(changed << 1 | 1);
    for (const auto turn : turns) {
      if (turn != 0) bytes.number(folded(turn));
    }
  }
  if (same > 0) bytes.number(same << 1);
}

bool unpack_slots(std::string_view bytes, Slot* block) noexcept {
  ByteReader in(bytes);
  Course course;
  SlotNumber number = 0;
  const auto put = [&] {
    course.go_on();
    std::memcpy(static_cast<void*>(block + number++), course.last.data(), sizeof(Slot));
  };
  while (number < Slots::block_size && in.ok()) {
    const auto token = in.number();
    if ((token & 1) == 0) {
      auto same = token >> 1;
      if (same == 0 || same > Slots::block_size - number) return false;
      for (; same > 0; --same) put();
      continue;
    }
    if (token >> 1 >> word_count != 0) return false;
    for (std::size_t i = 0; i < word_count; ++i) {
      if ((token >> 1 >> i & 1) == 0) continue;
      const auto turn = in.number();
      if (turn > UINT32_MAX) return false;
      course.step[i] += unfolded(static_cast<std::uint32_t>(turn));
    }
    put();
  }
  return number == Slots::block_size && in.ok() && in.at_end();
}

}  // namespace dlo::embedded
