#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "dlo/core/error.h"

namespace dlo {

/// A value or an `Error`, with the members of `std::expected` (which GCC 12 lacks).
/// Expected failures are returned, never thrown, and cannot be dropped unread.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return held_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T& value() & { return assert(has_value()), *std::get_if<0>(&held_); }
  [[nodiscard]] const T& value() const& { return assert(has_value()), *std::get_if<0>(&held_); }
  [[nodiscard]] T&& value() && { return assert(has_value()), std::move(*std::get_if<0>(&held_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& {
    return assert(!has_value()), *std::get_if<1>(&held_);
  }
  [[nodiscard]] Error&& error() && {
    return assert(!has_value()), std::move(*std::get_if<1>(&held_));
  }

 private:
  std::variant<T, Error> held_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return held_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] const Error& error() const& {
    return assert(!has_value()), *std::get_if<1>(&held_);
  }

 private:
  std::variant<std::monostate, Error> held_;
};

}  // namespace dlo
