#include "dlo/collector/wire_value.h"

#include <utility>

namespace dlo::collector {
namespace {

constexpr std::size_t deepest = 16;
constexpr std::size_t most_parts = 10'000;

/// Numbers are big-endian, texts preceded by their length.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool done() const noexcept { return left_.empty(); }

  std::optional<WireValue> value(std::size_t depth) {
    const auto kind = take(1);
    if (!kind || depth > deepest || ++parts_ > most_parts) return std::nullopt;
    switch (kind->front()) {
      case 't':
      case 'b':
        return skip(1, kind->front() == 'b');
      case 'B':
        return number(1, false);
      case 's':
        return number(2, true);
      case 'u':
        return number(2, false);
      case 'I':
        return number(4, true);
      case 'i':
        return number(4, false);
      case 'l':
      case 'L':
        return number(8, true);
      case 'T':
        return moment();
      case 'f':
        return other(4);
      case 'd':
        return other(8);
      case 'D':
        return other(5);
      case 'V':
        return other(0);
      case 'S':
      case 'x':
        return text();
      case 'F':
        return table(depth);
      case 'A':
        return list(depth);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::string_view> take(std::size_t size) {
    if (left_.size() < size) return std::nullopt;
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  std::optional<std::uint64_t> bits(std::size_t size) {
    const auto bytes = take(size);
    if (!bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : *bytes) value = (value << 8U) | static_cast<unsigned char>(c);
    return value;
  }

  std::optional<WireValue> number(std::size_t size, bool is_signed) {
    const auto read = bits(size);
    if (!read) return std::nullopt;
    WireValue value;
    value.kind = WireValue::Kind::number;
    std::uint64_t wide = *read;
    const std::size_t width = size * 8;
    if (is_signed && width < 64 && ((wide >> (width - 1)) & 1U) != 0)
      wide |= ~std::uint64_t{0} << width;
    value.number = static_cast<std::int64_t>(wide);
    return value;
  }
  std::optional<WireValue> skip(std::size_t size, bool is_number) {
    return is_number ? number(size, true) : other(size);
  }

  std::optional<WireValue> moment() {
    auto value = number(8, true);
    if (value) value->kind = WireValue::Kind::moment;
    return value;
  }

  std::optional<WireValue> other(std::size_t size) {
    if (!take(size)) return std::nullopt;
    return WireValue{};
  }

  std::optional<std::string_view> sized(std::size_t width) {
    const auto size = bits(width);
    return size ? take(static_cast<std::size_t>(*size)) : std::nullopt;
  }

  std::optional<WireValue> text() {
    const auto bytes = sized(4);
    if (!bytes) return std::nullopt;
    WireValue value;
    value.kind = WireValue::Kind::text;
    value.text = *bytes;
    return value;
  }

  /// Reads what is in the next so many bytes with `part`, which is to use them all.
  template <typename Part>
  std::optional<WireValue> group(WireValue::Kind kind, Part part) {
    const auto inside = sized(4);
    if (!inside) return std::nullopt;
    WireValue value;
    value.kind = kind;
    const std::string_view after = std::exchange(left_, *inside);
    while (!left_.empty()) {
      if (!part(value)) return std::nullopt;
    }
    left_ = after;
    return value;
  }

  std::optional<WireValue> table(std::size_t depth) {
    return group(WireValue::Kind::table, [&](WireValue& into) {
      const auto name = sized(1);
      if (!name) return false;
      std::string kept(*name);
      auto inner = value(depth + 1);
      if (inner) into.map.push_back({std::move(kept), std::move(*inner)});
      return inner.has_value();
    });
  }

  std::optional<WireValue> list(std::size_t depth) {
    return group(WireValue::Kind::list, [&](WireValue& into) {
      auto inner = value(depth + 1);
      if (inner) into.list.push_back(std::move(*inner));
      return inner.has_value();
    });
  }

  std::string_view left_;
  std::size_t parts_ = 0;
};

}  // namespace

const WireValue* WireValue::find(std::string_view name) const noexcept {
  for (const WireEntry& entry : map) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

std::optional<WireValue> read_wire_value(std::string_view bytes) {
  Reader reader(bytes);
  auto value = reader.value(0);
  if (!value || !reader.done()) return std::nullopt;
  return value;
}

}  // namespace dlo::collector
