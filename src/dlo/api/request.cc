#include "dlo/api/request.h"

#include <charconv>

#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

std::optional<std::uint64_t> whole_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void Request::note_refused(const std::string& why) const {
  const bool looks = http.method == "GET" || http.method == "HEAD";
  if (!looks) note_refused_look(why);
}

void Request::note_refused_look(const std::string& why) const {
  if (refused) refused(*this, why);
}

const std::string* Request::find(std::string_view name) const noexcept {
  for (auto each = query.rbegin(); each != query.rend(); ++each) {
    if (each->first == name) return &each->second;
  }
  return nullptr;
}

std::string Request::text(std::string_view name) const {
  const std::string* found = find(name);
  return found == nullptr ? std::string() : *found;
}

Result<std::uint64_t> Request::number(std::string_view name, std::uint64_t otherwise,
                                      std::uint64_t least, std::uint64_t most) const {
  const std::string* found = find(name);
  if (found == nullptr) return otherwise;
  const auto value = whole_number(*found);
  if (value && *value >= least && *value <= most) return *value;
  return Error{Code::invalid_argument, "api.query",
               std::string(name) + " must be a whole number from " + std::to_string(least) +
                   " to " + std::to_string(most) + ", not " + in_quotes(*found)};
}

Result<bool> Request::flag(std::string_view name) const {
  const std::string* found = find(name);
  if (found == nullptr || *found == "false") return false;
  if (*found == "true" || found->empty()) return true;
  return Error{Code::invalid_argument, "api.query",
               std::string(name) + " must be true or false, not " + in_quotes(*found)};
}

Result<std::optional<std::uint64_t>> Request::if_match() const {
  std::string_view text = http.header("If-Match");
  if (text.empty() || text == "*") return std::optional<std::uint64_t>();
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.size() > 2 && text.front() == '"' && text.back() == '"') {
    if (auto version = whole_number(text.substr(1, text.size() - 2))) return version;
  }
  return Error{Code::invalid_argument, "api.if_match",
               "If-Match must be the ETag of an earlier answer, such as \"3\", or *"};
}

}  // namespace dlo::api
