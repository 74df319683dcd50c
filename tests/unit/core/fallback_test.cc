#include "dlo/core/fallback.h"

#include <gtest/gtest.h>

#include "dlo/core/retention.h"

namespace dlo {
namespace {

TEST(Fallback, OnlyWhatMayPassIsKeptInMemoryAndOnlyWhereAProfileSaysSo) {  // S2-2, R2-10
  for (const Code code : {Code::unavailable, Code::timed_out, Code::full, Code::disk_full}) {
    EXPECT_TRUE(falls_back(StoreFailure::memory_fallback, code)) << name_of(code);
    EXPECT_FALSE(falls_back(StoreFailure::reject, code)) << name_of(code);
    EXPECT_FALSE(falls_back(StoreFailure::keep_source, code)) << name_of(code);
  }
  for (const Code code : {Code::invalid_argument, Code::corrupt, Code::refused, Code::conflict}) {
    EXPECT_FALSE(falls_back(StoreFailure::memory_fallback, code)) << name_of(code);
  }
}

TEST(Fallback, WhatIsInMemoryTakesPlacesOfTheCapacity) {  // S2-10
  const Capacity ten{10, std::nullopt};
  EXPECT_TRUE(fits_in_memory(ten, 0, {9, 0}, 1));
  EXPECT_FALSE(fits_in_memory(ten, 0, {10, 0}, 1));
  EXPECT_TRUE(fits_in_memory(ten, 7, {2, 0}, 1));
  EXPECT_FALSE(fits_in_memory(ten, 7, {3, 0}, 1));
  EXPECT_FALSE(fits_in_memory(ten, 10, {}, 1));
  EXPECT_FALSE(fits_in_memory(ten, 99, {}, 1));
}

TEST(Fallback, MemoryIsBoundedWhateverAProfileAllows) {
  EXPECT_TRUE(fits_in_memory({}, 1'000'000, {most_in_memory - 1, 0}, 1));
  EXPECT_FALSE(fits_in_memory({}, 0, {most_in_memory, 0}, 1));
  EXPECT_TRUE(fits_in_memory({}, 0, {1, most_bytes_in_memory - 1}, 1));
  EXPECT_FALSE(fits_in_memory({}, 0, {1, most_bytes_in_memory}, 1));
  EXPECT_FALSE(fits_in_memory({}, 0, {}, UINT64_MAX));
}

}  // namespace
}  // namespace dlo
