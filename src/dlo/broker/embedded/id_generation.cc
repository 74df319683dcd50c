#include "dlo/broker/embedded/id_generation.h"

#include <algorithm>
#include <cstring>

#include "dlo/core/sha256.h"

namespace dlo::embedded {
namespace {

constexpr std::uint32_t smallest_page = 16;
constexpr std::size_t page_share = 16;             // of what is there already
constexpr std::uint64_t most = (1U << 24U) - 1;    // a position or moment within a page
constexpr std::uint64_t earlier_by = 1U << 16U;    // callers' clocks disagree by a little
constexpr std::uint64_t longest = UINT32_MAX - 1;  // within a generation, as it is written

}  // namespace

IdDigest digest_of(std::string_view dedupe_id) {
  Sha256 hash;
  hash.update(dedupe_id);
  const auto digest = hash.finish();
  IdDigest id;
  for (int i = 0; i < 8; ++i) id.high = id.high << 8 | digest[static_cast<std::size_t>(i)];
  for (int i = 8; i < 12; ++i) id.low = id.low << 8 | digest[static_cast<std::size_t>(i)];
  return id;
}

IdDigest IdPage::digest(std::uint32_t index) const noexcept {
  IdDigest id;
  std::memcpy(&id.high, ids[index].bytes, 8);
  std::memcpy(&id.low, ids[index].bytes + 8, 4);
  return id;
}

RememberedId IdPage::at(std::uint32_t index) const noexcept {
  std::uint32_t position = 0;
  std::uint32_t moment = 0;
  std::memcpy(&position, ids[index].bytes + 12, 3);
  std::memcpy(&moment, ids[index].bytes + 15, 3);
  return {digest(index), first_position + position, unpack(began + moment)};
}

bool IdPage::add(const RememberedId& id) noexcept {
  const auto position = id.position - first_position;
  const auto moment = pack(id.at) - began;
  if (count == capacity || position > most || moment > most) return false;
  std::uint8_t* bytes = ids[count].bytes;
  std::memcpy(bytes, &id.id.high, 8);
  std::memcpy(bytes + 8, &id.id.low, 4);
  std::memcpy(bytes + 12, &position, 3);
  std::memcpy(bytes + 15, &moment, 3);
  ++count;
  return true;
}

std::size_t IdGeneration::bytes() const noexcept {
  std::size_t total = index_.bytes() + pages_.capacity() * sizeof(pages_[0]);
  for (const auto& page : pages_) {
    total += sizeof(IdPage) + page->capacity * sizeof(IdPage::Packed);
  }
  return total;
}

bool IdGeneration::takes(std::uint64_t position, TimePoint now, Millis share) const noexcept {
  const auto age = (now - began_).count();
  return age >= 0 && age <= share.count() && static_cast<std::uint64_t>(age) <= longest &&
         position - first_position_ <= longest && pages_.size() < most_pages;
}

// The first pages are small: most queues remember a few ids.
void IdGeneration::begin_page(const RememberedId& id) {
  auto page = std::make_shared<IdPage>();
  page->first_position = id.position;
  page->began = pack(id.at) - std::min(pack(id.at), earlier_by);
  page->capacity = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(count_ / page_share, smallest_page, largest_page));
  page->ids = std::make_unique_for_overwrite<IdPage::Packed[]>(page->capacity);
  pages_.push_back(std::move(page));
}

void IdGeneration::add(const RememberedId& id) {
  if (pages_.empty() || !pages_.back()->add(id)) {
    begin_page(id);
    (void)pages_.back()->add(id);
  }
  ++count_;
  newest_ = std::max(newest_, id.at);
  const auto number =
      static_cast<std::uint32_t>((pages_.size() - 1) << page_bits) | (pages_.back()->count - 1);
  index_.add(id.id.high, number, [this](std::uint32_t each) { return digest(each).high; });
}

std::optional<RememberedId> IdGeneration::find(const IdDigest& id) const noexcept {
  const auto found =
      index_.find(id.high, [&](std::uint32_t number) { return digest(number) == id; });
  if (!found) return std::nullopt;
  return pages_[*found >> page_bits]->at(*found & (largest_page - 1));
}

IdSnapshot IdGeneration::snapshot() const {
  IdSnapshot snapshot{began_, newest_, first_position_, {}};
  snapshot.parts.reserve(pages_.size());
  for (const auto& page : pages_) snapshot.parts.push_back({page, page->count});
  return snapshot;
}

bool IdGeneration::dissolve() noexcept {
  count_ = 0;
  if (index_.shrink()) return true;
  if (pages_.empty()) return false;
  pages_.pop_back();
  return true;
}

}  // namespace dlo::embedded
