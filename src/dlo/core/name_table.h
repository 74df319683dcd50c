#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlo {

/// A small map from names to the numbers filed under them, made for being asked mostly about names
/// it does not have: a name of a length nobody filed is answered by one bit.
class NameTable {
 public:
  explicit NameTable(bool ignore_case) : ignore_case_(ignore_case) {}

  void add(std::string_view name, std::uint32_t number);
  [[nodiscard]] std::span<const std::uint32_t> find(std::string_view name) const noexcept;

 private:
  struct Entry {
    std::string name;
    std::uint64_t hash = 0;
    std::vector<std::uint32_t> numbers;
  };
  [[nodiscard]] std::uint64_t hash_of(std::string_view name) const noexcept;
  [[nodiscard]] bool same(std::string_view a, std::string_view b) const noexcept;
  void grow();

  bool ignore_case_;
  std::uint64_t lengths_ = 0;  // bit n: some name has length n (mod 64)
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // open addressing; 0: free, else entry + 1
};

}  // namespace dlo
