#include "dlo/broker/embedded/key_book.h"

#include <algorithm>
#include <utility>

#include "dlo/core/sha256.h"

namespace dlo::embedded {
namespace {

constexpr std::size_t smallest = 7;

std::size_t shelf_of(KeyDigest key, std::size_t shelves) noexcept {
  return key % shelves;
}
std::size_t home(KeyDigest key, std::size_t cells) noexcept {
  return (key >> 24U) * cells >> 32U;
}
std::size_t after(std::size_t at, std::size_t cells) noexcept {
  return at + 1 == cells ? 0 : at + 1;
}

}  // namespace

KeyDigest digest_of_key(std::string_view key) {
  const auto digest = sha256(key);
  KeyDigest out = 0;
  for (std::size_t i = 0; i < key_digest_size; ++i) out = out << 8U | digest[i];
  return std::max<KeyDigest>(out, 1);
}

void KeyBook::Shelf::resize(std::size_t cells) {
  pages.clear();
  for (std::size_t at = 0; at < cells; at += page_size) {
    // A small one is not rounded up: many queues have few keys.
    const auto room = cells < page_size ? cells : page_size;
    pages.push_back(std::make_unique_for_overwrite<Cell[]>(room));
    std::fill_n(pages.back().get(), room, none);
  }
  size = static_cast<std::uint32_t>(cells);
}

KeyDigest KeyBook::key_in(const Slots& slots, Cell cell) const noexcept {
  return is_note(cell) ? notes_[cell & ~note_bit].key : slots.key(cell & ~ring_bit);
}

KeyBook::Cell* KeyBook::find(const Slots& slots, KeyDigest key) const noexcept {
  if (!shelves_) return nullptr;
  Shelf& shelf = (*shelves_)[shelf_of(key, shelf_count)];
  if (shelf.size == 0) return nullptr;
  for (auto at = home(key, shelf.size); shelf.at(at) != none; at = after(at, shelf.size)) {
    if (key_in(slots, shelf.at(at)) == key) return &shelf.at(at);
  }
  return nullptr;
}

void KeyBook::grow(const Slots& slots, Shelf& shelf) {
  Shelf before = std::exchange(shelf, {});
  // By little: rarely more than a fifth of it is unused.
  shelf.resize(std::max(smallest, std::size_t{before.size} * 6 / 5));
  shelf.count = before.count;
  for (std::size_t i = 0; i < before.size; ++i) {
    const Cell cell = before.at(i);
    if (cell == none) continue;
    auto at = home(key_in(slots, cell), shelf.size);
    while (shelf.at(at) != none) at = after(at, shelf.size);
    shelf.at(at) = cell;
  }
}

void KeyBook::add(const Slots& slots, Cell cell) {
  if (!shelves_) shelves_ = std::make_unique<Shelves>();
  const auto key = key_in(slots, cell);
  Shelf& shelf = (*shelves_)[shelf_of(key, shelf_count)];
  if ((std::size_t{shelf.count} + 1) * 8 > std::size_t{shelf.size} * 7) grow(slots, shelf);
  auto at = home(key, shelf.size);
  while (shelf.at(at) != none) at = after(at, shelf.size);
  shelf.at(at) = cell;
  ++shelf.count;
  ++size_;
}

void KeyBook::remove(const Slots& slots, KeyDigest key) noexcept {
  Shelf& shelf = (*shelves_)[shelf_of(key, shelf_count)];
  auto hole = home(key, shelf.size);
  while (key_in(slots, shelf.at(hole)) != key) hole = after(hole, shelf.size);
  const Cell cell = shelf.at(hole);
  const auto distance = [&](std::size_t from, std::size_t to) {
    return to >= from ? to - from : to + shelf.size - from;
  };
  // Whoever stands further on because of this one moves up.
  for (auto at = after(hole, shelf.size); shelf.at(at) != none; at = after(at, shelf.size)) {
    if (distance(home(key_in(slots, shelf.at(at)), shelf.size), at) < distance(hole, at)) continue;
    shelf.at(hole) = shelf.at(at);
    hole = at;
  }
  shelf.at(hole) = none;
  if (is_note(cell)) drop_note(cell);
  if (--shelf.count == 0) shelf = {};  // after a peak
  if (--size_ > 0) return;
  shelves_.reset();
  notes_ = {};
  free_ = {};
}

KeyBook::Cell KeyBook::make_note(const KeyNote& note) {
  if (free_.empty()) {
    notes_.push_back(note);
    return static_cast<Cell>(notes_.size() - 1) | note_bit;
  }
  const auto index = free_.back();
  free_.pop_back();
  notes_[index] = note;
  return index | note_bit;
}

void KeyBook::drop_note(Cell cell) {
  note_in(cell) = {};
  free_.push_back(cell & ~note_bit);
}

void KeyBook::restore(const Slots& slots, const KeyNote& note) {
  add(slots, make_note(note));
}

bool KeyBook::join(Slots& slots, SlotNumber slot) {
  const auto key = slots.key(slot);
  Cell* cell = find(slots, key);
  if (cell == nullptr) {
    add(slots, slot);
    return true;
  }
  auto last = no_slot;
  if (is_ring(*cell)) last = *cell & ~ring_bit;
  if (is_note(*cell)) last = note_in(*cell).last;
  slots.set_next(slot, last == no_slot ? slot : slots.next(last));
  if (last != no_slot) slots.set_next(last, slot);
  if (is_note(*cell) && note_in(*cell).on_hold) {
    note_in(*cell).last = slot;
    return false;
  }
  if (is_note(*cell)) drop_note(*cell);
  *cell = slot | ring_bit;
  return false;
}

/// The first follower takes its place, unless they are kept back.
SlotNumber KeyBook::leave_as_head(Slots& slots, Cell& cell, KeyDigest key, bool hold) {
  if (hold || (is_note(cell) && note_in(cell).on_hold)) {
    const auto last = is_ring(cell) ? cell & ~ring_bit : no_slot;
    if (!is_note(cell)) cell = make_note({key, last, true});
    note_in(cell).on_hold = true;
    return no_slot;
  }
  if (!is_ring(cell)) {
    remove(slots, key);
    return no_slot;
  }
  const auto last = cell & ~ring_bit;
  const auto head = slots.next(last);
  if (head == last) {
    cell = head;
  } else {
    slots.set_next(last, slots.next(head));
  }
  slots.set_next(head, no_slot);
  return head;
}

/// Out of the ring: costs a look at everybody before it. Its head, if it has one, stays.
void KeyBook::leave_ring(Slots& slots, Cell& cell, KeyDigest key, SlotNumber slot) {
  const bool noted = is_note(cell);
  const auto last = noted ? note_in(cell).last : cell & ~ring_bit;
  if (last == no_slot) return;
  auto before = last;
  while (slots.next(before) != slot) {
    before = slots.next(before);
    if (before == last) return;  // it is not here
  }
  auto rest = slot == last ? before : last;
  if (before == slot) {
    rest = no_slot;
  } else {
    slots.set_next(before, slots.next(slot));
  }
  slots.set_next(slot, no_slot);
  if (noted) {
    note_in(cell).last = rest;
  } else {
    // Alone again, but nobody says who: the key needs a note of its own.
    cell = rest == no_slot ? make_note({key, no_slot, false}) : rest | ring_bit;
  }
}

SlotNumber KeyBook::leave(Slots& slots, SlotNumber slot, bool hold) {
  const auto key = slots.key(slot);
  Cell* cell = find(slots, key);
  if (cell == nullptr) return no_slot;
  if (slots[slot].place == Place::held) {
    if (is_ring(*cell) || is_note(*cell)) leave_ring(slots, *cell, key, slot);
    return no_slot;
  }
  return leave_as_head(slots, *cell, key, hold);
}

SlotNumber KeyBook::free(Slots& slots, KeyDigest key) {
  Cell* cell = find(slots, key);
  if (cell == nullptr || !is_note(*cell) || !note_in(*cell).on_hold) return no_slot;
  const auto last = note_in(*cell).last;
  if (last == no_slot) {
    remove(slots, key);
    return no_slot;
  }
  drop_note(*cell);
  *cell = last | ring_bit;
  return leave_as_head(slots, *cell, key, false);
}

bool KeyBook::on_hold(const Slots& slots, KeyDigest key) const noexcept {
  const Cell* cell = find(slots, key);
  return cell != nullptr && is_note(*cell) && notes_[*cell & ~note_bit].on_hold;
}

KeyHold KeyBook::hold_on(const Slots& slots, KeyDigest key) const noexcept {
  KeyHold hold;
  hold.held = on_hold(slots, key);
  const auto last = hold.held ? notes_[*find(slots, key) & ~note_bit].last : no_slot;
  if (last == no_slot) return hold;
  hold.waiting = 1;
  for (auto at = slots.next(last); at != last && hold.waiting < KeyHold::most_counted;
       at = slots.next(at)) {
    ++hold.waiting;
  }
  return hold;
}

std::vector<SlotNumber> KeyBook::held_back(const Slots& slots, std::size_t skip,
                                           std::size_t limit) const {
  std::vector<SlotNumber> first;
  for (const KeyNote& note : notes_) {
    if (first.size() == limit) break;
    if (note.key == 0 || !note.on_hold || note.last == no_slot) continue;
    if (skip > 0) {
      --skip;
      continue;
    }
    first.push_back(slots.next(note.last));
  }
  return first;
}

}  // namespace dlo::embedded
