#include <algorithm>
#include <unordered_set>
#include <utility>

#include "dlo/core/sealed.h"
#include "dlo/store/row_text.h"
#include "dlo/store/rules.h"

namespace dlo {
namespace {

bool is_word_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

template <typename Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  std::string word;
  for (const char c : text) {
    if (is_word_byte(c)) {
      word.push_back(lower(c));
    } else if (!word.empty()) {
      visit(word);
      word.clear();
    }
  }
  if (!word.empty()) visit(word);
}

template <typename T>
bool wanted(const std::optional<T>& filter, const T& value) {
  return !filter || *filter == value;
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for_each_word(text, [&](const std::string& word) { words.push_back(word); });
  return words;
}

bool has_words(std::string_view text, const std::vector<std::string>& words) {
  std::unordered_set<std::string_view> missing(words.begin(), words.end());
  if (missing.empty()) return true;
  for_each_word(text, [&](const std::string& word) { missing.erase(word); });
  return missing.empty();
}

std::string searched_error(const Failure& failure) {
  std::string text = failure.text.substr(0, searched_text_limit);
  for (const Cause& cause : failure.causes) {
    if (text.size() >= searched_text_limit) break;
    text += '\n';
    text += cause.text;
  }
  text.resize(std::min(text.size(), searched_text_limit));
  return text;
}

std::string_view searched_payload(const Message& message) noexcept {
  if (!message.payload || is_sealed(std::string_view(*message.payload))) return {};
  return std::string_view(*message.payload).substr(0, searched_text_limit);
}

std::uint64_t payload_size(const Message& message) noexcept {
  return message.payload ? unsealed_size(*message.payload) : 0;
}

RecordHead head_of(const DeadLetter& record) {
  const Message& message = *record.message;
  RecordHead head;
  head.id = record.id;
  head.occurrence = record.occurrence;
  head.number = record.number;
  head.version = record.version;
  head.change = record.change;
  head.status = record.status;
  head.source = message.source;
  head.event_type = message.event_type;
  head.key = message.key;
  head.message_id = message.id;
  head.reason = record.reason;
  head.category = record.category;
  head.error_type = record.failure.type;
  head.error_text = row_text(record.failure.text);
  head.group = record.fingerprint.hash;
  head.counters = record.counters;
  head.limit = record.limit;
  head.died_at = record.died_at;
  head.next_retry_at = record.next_retry_at;
  head.payload_size = payload_size(message);
  return head;
}

Cursor cursor_of(const DeadLetter& record) noexcept {
  return {record.died_at, record.number};
}

namespace {

/// `first <= value < end`, where they are given; nothing is in no range.
template <typename Value>
bool in_range(const std::optional<Value>& value, const std::optional<Value>& first,
              const std::optional<Value>& end) noexcept {
  if (!first && !end) return true;
  return value && (!first || *value >= *first) && (!end || *value < *end);
}
bool between(std::uint32_t value, const std::optional<std::uint32_t>& over,
             const std::optional<std::uint32_t>& below) noexcept {
  return (!over || value > *over) && (!below || value < *below);
}

}  // namespace

bool numbers_fit(const Query& query, const HeadNumbers& numbers) noexcept {
  return in_range(std::optional(numbers.died_at), query.from, query.until) &&
         in_range(numbers.next_retry_at, query.next_retry_from, query.next_retry_until) &&
         between(numbers.attempts, query.attempts_over, query.attempts_below) &&
         between(numbers.replays, query.replays_over, query.replays_below) &&
         (!query.changed_up_to || numbers.change <= *query.changed_up_to);
}

Filter::Filter(Query query)
    : query_(std::move(query)),
      error_words_(words_of(query_.error_words)),
      payload_words_(words_of(query_.payload_words)),
      tests_(query_) {}

bool Filter::matches_message(const Message& message) const {
  const bool instance_fits =
      !query_.instance || (message.owner && message.owner->instance == *query_.instance);
  return instance_fits && wanted(query_.source, message.source) &&
         wanted(query_.event_type, message.event_type) && wanted(query_.key, message.key) &&
         wanted(query_.message_id, message.id);
}

bool Filter::matches(const DeadLetter& record) const {
  const Query& q = query_;
  const bool status_fits = q.statuses.empty() ? !is_live(record.status)
                                              : std::find(q.statuses.begin(), q.statuses.end(),
                                                          record.status) != q.statuses.end();
  if (!status_fits || !matches_message(*record.message)) return false;
  if (!wanted(q.category, record.category) || !is_in_group(q, record.fingerprint.hash) ||
      !wanted(q.error_type, record.failure.type) || !wanted(q.reason, record.reason) ||
      !wanted(q.source_unsettled, record.source_unsettled)) {
    return false;
  }
  if (!q.ids.empty() && std::find(q.ids.begin(), q.ids.end(), record.id) == q.ids.end()) {
    return false;
  }
  const HeadNumbers numbers{record.died_at, record.next_retry_at, record.counters.attempt,
                            record.counters.replay, record.change};
  if (!numbers_fit(q, numbers)) return false;
  if (!error_words_.empty() && !has_words(searched_error(record.failure), error_words_)) {
    return false;
  }
  const bool has_payload_words =
      payload_words_.empty() || has_words(searched_payload(*record.message), payload_words_);
  return has_payload_words && tests_.fit(record);
}

bool matches(const Query& query, const DeadLetter& record) {
  return Filter(query).matches(record);
}

}  // namespace dlo
