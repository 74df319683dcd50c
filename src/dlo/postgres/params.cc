#include "dlo/postgres/params.h"

#include "dlo/postgres/wire.h"

namespace dlo::postgres {
namespace {

using namespace wire;  // NOLINT: this file is about it

template <typename Number>
std::string array_of(std::uint32_t element, const std::vector<Number>& values) {
  std::string out = array_head(element, values.size());
  for (const Number value : values) {
    put(out, static_cast<std::int32_t>(sizeof(Number)));
    put(out, value);
  }
  return out;
}

}  // namespace

std::string bytes_of(const Id128& id) {
  std::string out;
  put(out, id.high);
  put(out, id.low);
  return out;
}

void Params::add_kept(std::uint32_t type, std::string_view bytes) {
  places_.push_back({nullptr, kept_.size(), bytes.size(), false});
  kept_.append(bytes);
  types_.push_back(type);
}

void Params::add_number(std::int64_t value) {
  std::string bytes;
  put(bytes, value);
  add_kept(int8, bytes);
}

void Params::add_null(bool is_bytes) {
  places_.push_back({nullptr, 0, 0, true});
  types_.push_back(is_bytes ? bytea : int8);
}

void Params::add_bytes(std::string_view value) {
  add_borrowed(bytea, value);
}

void Params::add_borrowed(std::uint32_t type, std::string_view bytes) {
  // libpq takes a null pointer for NULL, also where the length is zero.
  static const char* const nothing = "";
  places_.push_back({bytes.data() == nullptr ? nothing : bytes.data(), 0, bytes.size(), false});
  types_.push_back(type);
}

void Params::add_id(const Id128& value) {
  add_kept(bytea, bytes_of(value));
}

void Params::add(const std::vector<std::int64_t>& values) {
  add_kept(int8_array, array_of(int8, values));
}

void Params::add(const std::vector<std::int32_t>& values) {
  add_kept(int4_array, array_of(int4, values));
}

void Params::add(const std::optional<std::vector<std::int32_t>>& values) {
  if (values) return add(*values);
  places_.push_back({nullptr, 0, 0, true});
  types_.push_back(int4_array);
}

void Params::add(const std::vector<std::string>& values) {
  std::string out = array_head(bytea, values.size());
  for (const std::string& value : values) {
    put(out, static_cast<std::int32_t>(value.size()));
    out += value;
  }
  add_kept(bytea_array, out);
}

void Params::add(const std::vector<Id128>& values) {
  std::string out = array_head(bytea, values.size());
  for (const Id128& value : values) {
    put<std::int32_t>(out, 16);
    out += bytes_of(value);
  }
  add_kept(bytea_array, out);
}

void Params::lay_out(std::vector<const char*>& values, std::vector<int>& lengths) const {
  values.clear();
  lengths.clear();
  for (const Place& place : places_) {
    const char* at = place.borrowed != nullptr ? place.borrowed : kept_.data() + place.offset;
    values.push_back(place.null ? nullptr : at);
    lengths.push_back(static_cast<int>(place.size));
  }
}

std::size_t Params::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Place& place : places_) sum += place.size;
  return sum;
}

}  // namespace dlo::postgres
