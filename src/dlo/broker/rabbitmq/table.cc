#include "dlo/broker/rabbitmq/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace dlo::rabbitmq {
namespace {

// A table of one entry without a name: its size, the length of the name, then kind and value.
constexpr std::size_t before_value = 5;
constexpr std::size_t largest_frame = std::size_t{1} << 28U;
/// rabbitmq-c reads tables by calling itself, with a hundred bytes of stack a level.
constexpr std::size_t deepest = 40'000;

template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

template <typename Number>
std::string print(Number number) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return {text, end};
}

Header structured(std::string_view name, const amqp_field_value_t& value) {
  amqp_table_entry_t entry{amqp_empty_bytes, value};
  amqp_table_t table{1, &entry};
  for (std::size_t room = 256; room < largest_frame; room *= 4) {
    std::string raw(room, '\0');
    std::size_t used = 0;
    if (amqp_encode_table(bytes_of(raw), &table, &used) != AMQP_STATUS_OK) continue;
    return {std::string(name), raw.substr(before_value, used - before_value),
            HeaderType::structured};
  }
  return {std::string(name), "", HeaderType::structured};  // cannot be: it came in a frame
}

Header real(std::string_view name, double number, const amqp_field_value_t& value) {
  if (!std::isfinite(number)) return structured(name, value);
  return {std::string(name), print(number), HeaderType::real};
}

template <typename Number>
bool set_integer(Number& place, const std::string& text) {
  const auto number = parse<Number>(text);
  if (number) place = *number;
  return number.has_value();
}

bool integer_as(char kind, const std::string& text, amqp_field_value_t& value) {
  value.kind = static_cast<std::uint8_t>(kind);
  auto& to = value.value;
  switch (kind) {
    case AMQP_FIELD_KIND_I8: {
      const auto number = parse<std::int16_t>(text);  // from_chars reads int8_t as a character
      if (!number || *number < INT8_MIN || *number > INT8_MAX) return false;
      to.i8 = static_cast<std::int8_t>(*number);
      return true;
    }
    case AMQP_FIELD_KIND_U8: {
      const auto number = parse<std::uint16_t>(text);
      if (!number || *number > UINT8_MAX) return false;
      to.u8 = static_cast<std::uint8_t>(*number);
      return true;
    }
    case AMQP_FIELD_KIND_I16:
      return set_integer(to.i16, text);
    case AMQP_FIELD_KIND_U16:
      return set_integer(to.u16, text);
    case AMQP_FIELD_KIND_I32:
      return set_integer(to.i32, text);
    case AMQP_FIELD_KIND_U32:
      return set_integer(to.u32, text);
    case AMQP_FIELD_KIND_I64:
      return set_integer(to.i64, text);
    default:
      return false;
  }
}

bool real_as(char kind, const std::string& text, amqp_field_value_t& value) {
  const auto number = parse<double>(text);
  if (!number) return false;
  value.kind = static_cast<std::uint8_t>(kind);
  if (kind == AMQP_FIELD_KIND_F64) {
    value.value.f64 = *number;
    return true;
  }
  const auto narrow = static_cast<float>(*number);
  if (kind != AMQP_FIELD_KIND_F32 || static_cast<double>(narrow) != *number) return false;
  value.value.f32 = narrow;
  return true;
}

/// Every level begins with one of these, so there are no more levels than that.
bool may_be_too_deep(const std::string& raw) {
  const auto levels = std::count_if(raw.begin(), raw.end(), [](char c) {
    return c == AMQP_FIELD_KIND_ARRAY || c == AMQP_FIELD_KIND_TABLE;
  });
  return static_cast<std::size_t>(levels) > deepest;
}

}  // namespace

Header header_of(std::string_view name, const amqp_field_value_t& value) {
  const auto& from = value.value;
  const auto integer = [&](auto number) {
    return Header{std::string(name), print(number), HeaderType::integer};
  };
  switch (value.kind) {
    case AMQP_FIELD_KIND_UTF8:
      return {std::string(name), std::string(view(from.bytes)), HeaderType::text};
    case AMQP_FIELD_KIND_BYTES:
      return {std::string(name), std::string(view(from.bytes)), HeaderType::bytes};
    case AMQP_FIELD_KIND_BOOLEAN:
      return {std::string(name), from.boolean != 0 ? "true" : "false", HeaderType::boolean};
    case AMQP_FIELD_KIND_VOID:
      return {std::string(name), "", HeaderType::null};
    case AMQP_FIELD_KIND_I8:
      return integer(static_cast<int>(from.i8));
    case AMQP_FIELD_KIND_U8:
      return integer(static_cast<unsigned>(from.u8));
    case AMQP_FIELD_KIND_I16:
      return integer(from.i16);
    case AMQP_FIELD_KIND_U16:
      return integer(from.u16);
    case AMQP_FIELD_KIND_I32:
      return integer(from.i32);
    case AMQP_FIELD_KIND_U32:
      return integer(from.u32);
    case AMQP_FIELD_KIND_I64:
      return integer(from.i64);
    case AMQP_FIELD_KIND_F32:
      return real(name, static_cast<double>(from.f32), value);
    case AMQP_FIELD_KIND_F64:
      return real(name, from.f64, value);
    case AMQP_FIELD_KIND_TIMESTAMP: {
      const auto seconds = static_cast<std::int64_t>(from.u64);
      if (std::abs(seconds / 2) >= INT64_MAX / 2000) return structured(name, value);
      return {std::string(name), print(seconds * 1000), HeaderType::timestamp};
    }
    default:
      return structured(name, value);
  }
}

char usual_kind(HeaderType type) noexcept {
  return type == HeaderType::integer ? AMQP_FIELD_KIND_I64 : AMQP_FIELD_KIND_F64;
}

void Table::put(std::string_view name, amqp_field_value_t value) {
  entries_.push_back({bytes_of(name), value});
}

void Table::text(std::string_view name, std::string_view value) {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_UTF8;
  field.value.bytes = bytes_of(value);
  put(name, field);
}

void Table::bytes(std::string_view name, std::string_view value) {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_BYTES;
  field.value.bytes = bytes_of(value);
  put(name, field);
}

void Table::number(std::string_view name, std::int64_t value) {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_I64;
  field.value.i64 = value;
  put(name, field);
}

void Table::table(std::string_view name, Table& value) {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_TABLE;
  field.value.table = value.get();
  put(name, field);
}

amqp_table_t Table::get() noexcept {
  return {static_cast<int>(entries_.size()), entries_.data()};
}

bool Table::put_number(const Header& header, char kind) {
  const auto as = header.type == HeaderType::integer ? integer_as : real_as;
  for (const char each : {kind, usual_kind(header.type)}) {
    amqp_field_value_t field{};
    if (each == 0 || !as(each, header.value, field)) continue;
    put(header.name, field);
    return true;
  }
  return false;
}

bool Table::put_structured(const Header& header) {
  if (may_be_too_deep(header.value)) return false;
  std::string raw(before_value, '\0');
  raw += header.value;
  const auto size = static_cast<std::uint32_t>(header.value.size() + 1);
  for (std::size_t i = 0; i < 4; ++i) raw[i] = static_cast<char>(size >> (24 - 8 * i));
  amqp_bytes_t kept{};
  amqp_pool_alloc_bytes(pool_.get(), raw.size(), &kept);  // what is decoded points into it
  std::memcpy(kept.bytes, raw.data(), raw.size());
  amqp_table_t table{};
  std::size_t used = 0;
  if (amqp_decode_table(kept, pool_.get(), &table, &used) != AMQP_STATUS_OK || used != raw.size() ||
      table.num_entries != 1) {
    return false;
  }
  put(header.name, table.entries[0].value);
  return true;
}

void Table::add(const Header& header, char kind) {
  amqp_field_value_t field{};
  switch (header.type) {
    case HeaderType::text:
      return text(header.name, header.value);
    case HeaderType::bytes:
      return bytes(header.name, header.value);
    case HeaderType::boolean:
      field.kind = AMQP_FIELD_KIND_BOOLEAN;
      field.value.boolean = header.value == "true" ? 1 : 0;
      return put(header.name, field);
    case HeaderType::null:
      field.kind = AMQP_FIELD_KIND_VOID;
      return put(header.name, field);
    case HeaderType::integer:
    case HeaderType::real:
      return put_number(header, kind) ? void() : text(header.name, header.value);
    case HeaderType::timestamp:
      if (const auto millis = parse<std::int64_t>(header.value)) {
        field.kind = AMQP_FIELD_KIND_TIMESTAMP;
        const auto seconds = *millis / 1000 - (*millis % 1000 < 0 ? 1 : 0);
        field.value.u64 = static_cast<std::uint64_t>(seconds);
        return put(header.name, field);
      }
      return text(header.name, header.value);
    case HeaderType::structured:
      return put_structured(header) ? void() : bytes(header.name, header.value);
  }
}

std::size_t encoded_size(amqp_table_t table, std::size_t limit) {
  std::string scratch(limit, '\0');
  std::size_t used = 0;
  return amqp_encode_table(bytes_of(scratch), &table, &used) == AMQP_STATUS_OK ? used : limit;
}

}  // namespace dlo::rabbitmq
