#include "dlo/api/target.h"

#include <algorithm>
#include <optional>

#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

Error refusal(const std::string& what) {
  return {Code::invalid_argument, "api.target", what};
}

int hex(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  c = ascii_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Empty if it is not well-formed.
std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  const bool as_it_is = text.find('%') == std::string_view::npos &&
                        (!plus_is_blank || text.find('+') == std::string_view::npos);
  if (as_it_is) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

bool is_harmless(std::string_view step) noexcept {
  if (step.empty() || step == "." || step == "..") return false;
  for (const char c : step) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return false;
  }
  return is_utf8(step);
}

Result<void> parse_path(std::string_view path, Target& target) {
  path.remove_prefix(1);
  while (!path.empty()) {
    const auto slash = path.find('/');
    auto step = decode(path.substr(0, slash), false);
    if (!step || !is_harmless(*step)) {
      return refusal(
          "The path has a step that is empty, '.', '..', or not valid text. Write the path as it "
          "is documented, names percent-encoded once.");
    }
    target.steps.push_back(std::move(*step));
    if (slash == std::string_view::npos) return {};
    path.remove_prefix(slash + 1);
    if (path.empty()) return refusal("The path ends in a slash. Leave it away.");
  }
  return {};
}

std::optional<std::string_view> repeated_name(const Target& target) {
  if (target.query.size() < 2) return std::nullopt;
  std::vector<std::string_view> names;
  names.reserve(target.query.size());
  for (const auto& [name, value] : target.query) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return std::nullopt;
  return *twice;
}

Result<void> parse_query_part(std::string_view text, Target& target) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    auto name = decode(pair.substr(0, equals), true);
    auto value = decode(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value || !is_utf8(*name) || !is_utf8(*value)) {
      return refusal("The query of the address is not valid percent-encoded UTF-8.");
    }
    target.query.emplace_back(std::move(*name), std::move(*value));
  }
  if (const auto twice = repeated_name(target)) {  // which of the two was meant nobody knows
    return refusal("The parameter " + in_quotes(*twice) + " stands twice. Write it once.");
  }
  return {};
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  if (text.empty() || text.front() != '/') {
    return refusal("The address must begin with '/'.");
  }
  if (text.find('#') != std::string_view::npos) {
    return refusal("The address must not have a fragment ('#').");
  }
  Target target;
  target.steps.reserve(6);
  const auto question = text.find('?');
  if (auto path = parse_path(text.substr(0, question), target); !path) return path.error();
  if (question != std::string_view::npos) {
    if (auto query = parse_query_part(text.substr(question + 1), target); !query) {
      return query.error();
    }
  }
  return target;
}

}  // namespace dlo::api
