#include "dlo/store/postgres/words.h"

#include <algorithm>
#include <string>

#include "dlo/store/rules.h"

namespace dlo::postgres {
namespace {

/// FNV-1a of 64 bits, folded. What is in the database was made with it: it never changes.
std::int32_t hash_of(std::string_view word) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(hash ^ (hash >> 32U)));
}

}  // namespace

std::vector<std::int32_t> word_hashes(std::string_view text) {
  std::vector<std::int32_t> hashes;
  for (const std::string& word : words_of(text)) hashes.push_back(hash_of(word));
  std::ranges::sort(hashes);
  hashes.erase(std::ranges::unique(hashes).begin(), hashes.end());
  return hashes;
}

}  // namespace dlo::postgres
