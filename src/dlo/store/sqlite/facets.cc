#include "dlo/store/sqlite/facets.h"

#include <array>
#include <optional>
#include <sqlite3.h>

namespace dlo::sqlite {
namespace {

/// FNV-1a with a last stir: its low bits alone depend too little on the first bytes.
constexpr std::uint64_t hash_of(std::string_view bytes) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
  hash ^= hash >> 32U;
  hash *= 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29U);
}

std::uint64_t hash_of(const Id128& id) noexcept {
  std::array<char, 16> bytes{};
  for (unsigned i = 0; i < 8; ++i) {
    bytes.at(i) = static_cast<char>((id.high >> (56U - 8U * i)) & 0xFFU);
    bytes.at(8 + i) = static_cast<char>((id.low >> (56U - 8U * i)) & 0xFFU);
  }
  return hash_of(std::string_view(bytes.data(), bytes.size()));
}

/// Facets under way.
class Packing {
 public:
  template <typename Value>
  void put(FacetPlace place, const Value& value) noexcept {
    mask_.bits |= place.bits();
    mask_.wanted |= static_cast<Facets>(hash_of(value) << place.shift) & place.bits();
  }
  template <typename Value>
  void put(FacetPlace place, const std::optional<Value>& value) noexcept {
    if (value) put(place, *value);
  }
  [[nodiscard]] FacetMask mask() const noexcept { return mask_; }

 private:
  FacetMask mask_;
};

std::string_view view_of(sqlite3_value* value) {
  const void* data = sqlite3_value_blob(value);
  const int size = sqlite3_value_bytes(value);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

void facets_in_sql(sqlite3_context* context, int, sqlite3_value** values) {
  Packing packing;
  int next = 0;
  for (const FacetPlace place : {facet::source, facet::category, facet::group, facet::event_type,
                                 facet::error_type, facet::reason}) {
    packing.put(place, view_of(values[next++]));
  }
  sqlite3_result_int64(context, packing.mask().wanted);
}

}  // namespace

Facets facets_of(const DeadLetter& record) noexcept {
  Packing packing;
  packing.put(facet::source, std::string_view(record.message->source));
  packing.put(facet::category, std::string_view(record.category));
  packing.put(facet::group, record.fingerprint.hash);
  packing.put(facet::event_type, std::string_view(record.message->event_type));
  packing.put(facet::error_type, std::string_view(record.failure.type));
  packing.put(facet::reason, std::string_view(record.reason));
  return packing.mask().wanted;
}

FacetMask facets_of(const Query& query) noexcept {
  Packing packing;
  packing.put(facet::source, query.source);
  packing.put(facet::category, query.category);
  if (query.fingerprints.empty()) packing.put(facet::group, query.group);
  packing.put(facet::event_type, query.event_type);
  packing.put(facet::error_type, query.error_type);
  packing.put(facet::reason, query.reason);
  return packing.mask();
}

void define_facets(Connection& db) {
  const int result =
      sqlite3_create_function_v2(db.raw(), "facets", 6, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                 facets_in_sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw Failed{explain(db.raw(), result, "defining facets()")};
}

}  // namespace dlo::sqlite
