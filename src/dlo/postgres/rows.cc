#include "dlo/postgres/rows.h"

#include <cstdlib>
#include <libpq-fe.h>

namespace dlo::postgres {
namespace {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = (value << 8U) | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

void Rows::Clearer::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

int Rows::size() const {
  return PQntuples(result_.get());
}

std::int64_t Rows::written() const {
  return std::strtoll(PQcmdTuples(result_.get()), nullptr, 10);
}

std::string_view Row::view(int column) const {
  return {PQgetvalue(result_, row_, column),
          static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

std::int64_t Row::number(int column) const {
  const std::string_view bytes = view(column);
  const std::uint64_t bits = big_endian(bytes);
  if (bytes.size() == 4) return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  if (bytes.size() == 2) return static_cast<std::int16_t>(static_cast<std::uint16_t>(bits));
  return static_cast<std::int64_t>(bits);
}

bool Row::is_null(int column) const {
  return PQgetisnull(result_, row_, column) != 0;
}

std::optional<TimePoint> Row::maybe_time(int column) const {
  if (is_null(column)) return std::nullopt;
  return time(column);
}

Id128 Row::id(int column) const {
  const std::string_view bytes = view(column);
  Id128 id;
  if (bytes.size() != 16) return id;
  id.high = big_endian(bytes.substr(0, 8));
  id.low = big_endian(bytes.substr(8));
  return id;
}

}  // namespace dlo::postgres
