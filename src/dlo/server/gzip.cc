#include "dlo/server/gzip.h"

#include <array>
#include <zlib.h>

#include "dlo/server/http.h"

namespace dlo {
namespace {

constexpr std::size_t worthwhile = 1024;  // below it headers outweigh what is saved
constexpr int level = 3;  // lists shrink to an eighth; more costs more than it saves
constexpr int gzip_window = 15 + 16;
constexpr int memory_level = 8;

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_refusal(std::string_view parameter) noexcept {
  parameter = trimmed(parameter);
  if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) return false;
  return parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) noexcept {
  bool any = false;
  while (!accept_encoding.empty()) {
    const auto comma = accept_encoding.find(',');
    std::string_view item = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(comma == std::string_view::npos ? accept_encoding.size()
                                                                  : comma + 1);
    const auto semicolon = item.find(';');
    const bool refused =
        semicolon != std::string_view::npos && is_refusal(item.substr(semicolon + 1));
    const std::string_view name = trimmed(item.substr(0, semicolon));
    if (same_ignoring_case(name, "gzip") || same_ignoring_case(name, "x-gzip")) return !refused;
    if (name == "*") any = !refused;
  }
  return any;
}

bool is_worth_packing(std::size_t size, std::string_view content_type) noexcept {
  if (size < worthwhile) return false;
  constexpr std::array<std::string_view, 5> kinds{"json", "text/", "yaml", "xml", "javascript"};
  for (const auto kind : kinds) {
    if (content_type.find(kind) != std::string_view::npos) return true;
  }
  return false;
}

std::optional<std::string> gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return std::nullopt;
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = text.size() > UINT32_MAX / 2 ? Z_BUF_ERROR : deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) return std::nullopt;
  return out;
}

}  // namespace dlo
