#include "dlo/retries/rule_shelf.h"

#include <utility>

#include "dlo/core/retry_request.h"

namespace dlo {
namespace {

/// Tasks may ask for anything, so there is no end to what could be kept here.
constexpr std::size_t most_books = 1'000;

std::string value_of(const Headers& headers, std::string_view name) {
  const Header* const found = find_header(headers, name);
  return found == nullptr ? std::string() : found->value;
}

}  // namespace

Result<std::shared_ptr<const RuleBook>> RuleShelf::find(const std::string& profile,
                                                        const Message& message) {
  const std::lock_guard lock(mutex_);
  std::string name = profile + '\0' + value_of(message.headers, retry_policy_header) + '\0' +
                     value_of(message.headers, max_retries_header);
  name += '\0' + profiles_.override_key(message);
  if (const auto found = books_.find(name); found != books_.end()) return found->second;
  auto settings = profiles_.find(profile, message);
  if (!settings) return settings.error();
  auto built = RuleBook::build(with_request(std::move(*settings), request_of(message.headers)),
                               regex_, custom_);
  if (!built) return built.error();
  if (books_.size() >= most_books) books_.clear();
  auto book = std::make_shared<const RuleBook>(std::move(*built));
  books_.emplace(std::move(name), book);
  return book;
}

void RuleShelf::use(ProfileBook profiles) {
  const std::lock_guard lock(mutex_);
  profiles_ = std::move(profiles);
  books_.clear();
}

}  // namespace dlo
