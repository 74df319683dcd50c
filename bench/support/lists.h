#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "dlo/store/office.h"

namespace dlo::bench {

[[noreturn]] inline void fail(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", error.where.c_str(), error.detail.c_str());
  std::abort();
}

template <typename T>
T must(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}

/// Samples 0, 1, 2, …, in lists of 1000.
void fill(Office& office, std::uint64_t records);
/// Payload words are indexed behind the office's back: a list of them is measured when all are.
void wait_for_index(Office& office);

struct Timing {
  double first = 0;  // in ms
  double deep = 0;
  std::size_t rows = 0;
  bool partial = false;
};
/// Medians of the first page and of the page behind `pages` pages of 1000.
[[nodiscard]] Timing time_list(Office& office, Query query, int pages);

struct Asked {
  std::string what;
  Query query;
  bool led = true;  // by an indexed field
};
/// What people ask of an office that was filled with so many samples.
[[nodiscard]] std::vector<Asked> questions(std::uint64_t records);

/// Asks them all and prints what they took, beside the goal for those that are led.
void print_lists(Office& office, std::uint64_t records, double goal);

}  // namespace dlo::bench
