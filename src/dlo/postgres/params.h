#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/postgres/adds_values.h"

namespace dlo::postgres {

/// The values of one statement in the server's binary form. Every integer and enumeration is a
/// bigint, every text and id a bytea: all bytes are kept as they are, and compared as bytes. Views
/// are not copied: they must live until the statement has been sent.
class Params : public AddsValues<Params> {
 public:
  template <typename... Values>
  explicit Params(const Values&... values) {
    (add(values), ...);
  }

  using AddsValues<Params>::add;
  void add(const std::vector<std::int64_t>& values);  // bigint[]
  void add(const std::vector<std::int32_t>& values);  // integer[]
  void add(const std::optional<std::vector<std::int32_t>>& values);
  void add(const std::vector<std::string>& values);  // bytea[]
  void add(const std::vector<Id128>& values);        // bytea[]

  /// What is in the binary form of `type` already.
  void add_borrowed(std::uint32_t type, std::string_view bytes);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(types_.size()); }
  [[nodiscard]] const std::vector<std::uint32_t>& types() const noexcept { return types_; }
  /// As libpq wants them: pointers (null for NULL) and lengths.
  void lay_out(std::vector<const char*>& values, std::vector<int>& lengths) const;
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Place {
    const char* borrowed = nullptr;  // else inside `kept_`
    std::size_t offset = 0;
    std::size_t size = 0;
    bool null = false;
  };
  friend AddsValues<Params>;
  void add_number(std::int64_t value);
  void add_bytes(std::string_view value);
  void add_id(const Id128& value);
  void add_null(bool is_bytes);
  void add_kept(std::uint32_t type, std::string_view bytes);

  std::string kept_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> types_;
};

/// 16 bytes, the most significant first.
[[nodiscard]] std::string bytes_of(const Id128& id);

}  // namespace dlo::postgres
