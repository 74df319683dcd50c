#include "dlo/postgres/row_arrays.h"

#include "dlo/postgres/wire.h"

namespace dlo::postgres {

void ColumnArray::begin(bool is_bytes) {
  is_bytes_ = is_bytes;
  if (bytes_.empty()) bytes_.resize(wire::array_head_size);
}

void ColumnArray::add_number(std::int64_t value) {
  begin(false);
  wire::put<std::int32_t>(bytes_, 8);
  wire::put(bytes_, value);
}

void ColumnArray::add_null(bool is_bytes) {
  begin(is_bytes);
  has_null_ = true;
  wire::put<std::int32_t>(bytes_, -1);
}

void ColumnArray::add_bytes(std::string_view value) {
  begin(true);
  wire::put(bytes_, static_cast<std::int32_t>(value.size()));
  bytes_.append(value);
}

void ColumnArray::add_id(const Id128& value) {
  begin(true);
  wire::put<std::int32_t>(bytes_, 16);
  wire::put(bytes_, value.high);
  wire::put(bytes_, value.low);
}

void ColumnArray::add_to(Params& params, std::size_t rows) {
  const std::string head = wire::array_head(is_bytes_ ? wire::bytea : wire::int8, rows, has_null_);
  bytes_.replace(0, head.size(), head);
  params.add_borrowed(is_bytes_ ? wire::bytea_array : wire::int8_array, bytes_);
}

void ColumnArray::clear() noexcept {
  bytes_.clear();
  has_null_ = false;
}

std::size_t RowArrays::bytes() const noexcept {
  std::size_t sum = 0;
  for (const ColumnArray& each : columns_) sum += each.bytes();
  return sum;
}

void RowArrays::add_to(Params& params) {
  for (ColumnArray& each : columns_) each.add_to(params, rows_);
}

void RowArrays::clear() noexcept {
  for (ColumnArray& each : columns_) each.clear();
  rows_ = 0;
}

std::string unnest_of(int first, int count) {
  std::string out = "unnest(";
  for (int i = 0; i < count; ++i) out += (i == 0 ? "$" : ", $") + std::to_string(first + i);
  return out + ")";
}

}  // namespace dlo::postgres
