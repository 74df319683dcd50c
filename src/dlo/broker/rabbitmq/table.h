#pragma once

#include <amqp.h>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/result.h"

namespace dlo::rabbitmq {

[[nodiscard]] inline std::string_view view(amqp_bytes_t bytes) noexcept {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}
/// rabbitmq-c takes no pointer to const, and changes nothing.
[[nodiscard]] inline amqp_bytes_t bytes_of(std::string_view text) noexcept {
  return {text.size(), const_cast<char*>(text.data())};
}

/// Memory of rabbitmq-c's decoder.
class Pool {
 public:
  Pool() { init_amqp_pool(&pool_, 4096); }
  ~Pool() { empty_amqp_pool(&pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  [[nodiscard]] amqp_pool_t* get() noexcept { return &pool_; }

 private:
  amqp_pool_t pool_{};
};

/// One value of a field table as a header. Every width of number is an `integer` or a `real`;
/// what HeaderType has no word for is `structured`: the value as the wire has it, kind first.
[[nodiscard]] Header header_of(std::string_view name, const amqp_field_value_t& value);

/// The kind under which a number is sent if nothing else is known.
[[nodiscard]] char usual_kind(HeaderType type) noexcept;

/// A field table under construction. What is put in must outlive it.
class Table {
 public:
  /// A number goes out as `kind` where it fits, else as usual. Text that is no number is sent as
  /// text: nothing is lost.
  void add(const Header& header, char kind = 0);
  void text(std::string_view name, std::string_view value);
  void bytes(std::string_view name, std::string_view value);
  void number(std::string_view name, std::int64_t value);
  void table(std::string_view name, Table& value);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] amqp_table_t get() noexcept;

 private:
  void put(std::string_view name, amqp_field_value_t value);
  bool put_number(const Header& header, char kind);
  bool put_structured(const Header& header);

  std::vector<amqp_table_entry_t> entries_;
  Pool pool_;
};

/// How many bytes `table` takes on the wire; `limit` or more means too many.
[[nodiscard]] std::size_t encoded_size(amqp_table_t table, std::size_t limit);

}  // namespace dlo::rabbitmq
