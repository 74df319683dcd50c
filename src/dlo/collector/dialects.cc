#include "dlo/collector/dialects.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "dlo/core/encoding.h"

namespace dlo::collector {
namespace {

constexpr std::string_view cut_mark = " [cut]";
constexpr TimePoint oldest{Millis{946'684'800'000}};  // 2000-01-01

/// What one program tells of a failure.
struct Told {
  std::string type;
  std::string text;
  std::string stack;
  std::string queue;
  std::string event_type;
  std::uint64_t attempts = 0;
  std::optional<TimePoint> at;
};

void take(std::string& into, std::string text) {
  if (into.empty()) into = std::move(text);
}

void put(Dialect dialect, Told told, Letter& letter) {
  if (letter.dialect == Dialect::none) letter.dialect = dialect;
  Failure& failure = letter.failure;
  if (failure.type.empty() && failure.text.empty()) {
    failure.type = std::move(told.type);
    failure.text = std::move(told.text);
    failure.stack = std::move(told.stack);
  }
  take(letter.queue, std::move(told.queue));
  take(letter.event_type, std::move(told.event_type));
  letter.attempts = std::max(letter.attempts, at_most(told.attempts));
  if (!letter.last_failed_at) letter.last_failed_at = told.at;
}

/// `Shop.Orders.OrderPlaced, Shop, Version=1.0.0.0; Shop.IEvent, …`: the first, by its name.
std::string first_type(const std::string& types) {
  return types.substr(0, types.find_first_of(",;"));
}

/// `2026-03-01 12:00:00:123456 Z` is how NServiceBus writes a moment.
std::optional<TimePoint> nservicebus_time(std::string text) {
  constexpr std::size_t day_end = 10;
  constexpr std::size_t second_end = 19;
  if (text.size() < second_end + 2 || text[day_end] != ' ') return std::nullopt;
  text[day_end] = 'T';
  if (text[second_end] == ':') text[second_end] = '.';
  if (const auto blank = text.find(' '); blank != std::string::npos) text.erase(blank, 1);
  return parse_iso8601(text);
}

char hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<char>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<char>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<char>(c - 'A' + 10);
  return -1;
}

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char high = i + 2 < text.size() && text[i] == '%' ? hex_digit(text[i + 1]) : char{-1};
    const char low = high >= 0 ? hex_digit(text[i + 2]) : char{-1};
    if (low < 0) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

/// `rabbitmq://host/vhost/orders?durable=true` and `queue:orders` name the queue last.
std::string queue_in_address(const std::string& address) {
  std::string_view rest = address;
  rest = rest.substr(0, rest.find('?'));
  const auto last = rest.find_last_of("/:");
  if (last == std::string_view::npos || last + 1 == rest.size()) return {};
  return for_people(unescaped(rest.substr(last + 1)), longest_name);
}

bool has_any(const Headers& headers, std::string_view prefix) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const Header& each) { return each.name.starts_with(prefix); });
}

}  // namespace

std::string for_people(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return to_utf8(text);
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return to_utf8(text.substr(0, end)) + std::string(cut_mark);
}

std::string text_of(const Headers& headers, std::string_view name, std::size_t longest) {
  const Header* header = find_header(headers, name);
  if (header == nullptr) return {};
  const bool readable = header->type == HeaderType::text || header->type == HeaderType::bytes ||
                        header->type == HeaderType::integer || header->type == HeaderType::real;
  return readable ? for_people(header->value, longest) : std::string();
}

std::uint32_t count_of(const Headers& headers, std::string_view name) {
  const Header* header = find_header(headers, name);
  if (header == nullptr ||
      (header->type != HeaderType::integer && header->type != HeaderType::text)) {
    return 0;
  }
  std::uint64_t count = 0;
  const char* end = header->value.data() + header->value.size();
  const auto [stop, error] = std::from_chars(header->value.data(), end, count);
  return error == std::errc{} && stop == end ? at_most(count) : 0;
}

std::uint32_t at_most(std::uint64_t attempts) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(attempts, most_attempts));
}

std::optional<TimePoint> credible(std::optional<TimePoint> at, TimePoint now) {
  if (!at || *at < oldest || *at > now) return std::nullopt;
  return at;
}

std::optional<TimePoint> credible(std::int64_t seconds, TimePoint now) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (seconds < 0 || seconds > most) return std::nullopt;
  return credible(std::optional(TimePoint{std::chrono::seconds{seconds}}), now);
}

void read_own(const Headers& headers, TimePoint now, Letter& letter) {
  if (!has_any(headers, "dlo-error") && !has_any(headers, "dlo-failed-")) return;
  Told told;
  told.type = text_of(headers, "dlo-error-type", longest_name);
  told.text = text_of(headers, "dlo-error", longest_text);
  told.stack = text_of(headers, "dlo-error-stack", longest_stack);
  told.queue = text_of(headers, "dlo-failed-queue", longest_name);
  told.at = credible(parse_iso8601(text_of(headers, "dlo-failed-at", longest_name)), now);
  told.attempts = count_of(headers, "dlo-failed-attempts");
  put(Dialect::own, std::move(told), letter);
  letter.first_failed_at =
      credible(parse_iso8601(text_of(headers, "dlo-failed-first-at", longest_name)), now);
}

/// As the consumers of document 001 write them (R1-4). Others count retries under that name too, so
/// a count alone is nobody's.
void read_booking(const Headers& headers, TimePoint now, Letter& letter) {
  const bool told_by_them = std::ranges::any_of(booking_death_headers, [&](std::string_view name) {
    return name != "x-retry-count" && find_header(headers, name) != nullptr;
  });
  if (!told_by_them) return;
  Told told;
  told.text = text_of(headers, "x-error-message", longest_text);
  told.stack = text_of(headers, "x-stack-trace", longest_stack);
  told.queue = text_of(headers, "x-original-queue", longest_name);
  told.at = credible(parse_iso8601(text_of(headers, "x-failed-at", longest_name)), now);
  told.attempts = count_of(headers, "x-retry-count");
  put(Dialect::booking, std::move(told), letter);
  if (letter.first_failed_at) return;
  letter.first_failed_at =
      credible(parse_iso8601(text_of(headers, "x-first-attempt", longest_name)), now);
}

void read_nservicebus(const Headers& headers, TimePoint now, Letter& letter) {
  if (find_header(headers, "NServiceBus.FailedQ") == nullptr &&
      !has_any(headers, "NServiceBus.ExceptionInfo.")) {
    return;
  }
  Told told;
  told.type = text_of(headers, "NServiceBus.ExceptionInfo.ExceptionType", longest_name);
  told.text = text_of(headers, "NServiceBus.ExceptionInfo.Message", longest_text);
  told.stack = text_of(headers, "NServiceBus.ExceptionInfo.StackTrace", longest_stack);
  told.queue = text_of(headers, "NServiceBus.FailedQ", longest_name);
  told.event_type = first_type(text_of(headers, "NServiceBus.EnclosedMessageTypes", longest_name));
  told.at =
      credible(nservicebus_time(text_of(headers, "NServiceBus.TimeOfFailure", longest_name)), now);
  const std::uint64_t at_once = count_of(headers, "NServiceBus.FLRetries");
  const std::uint64_t delayed = count_of(headers, "NServiceBus.Retries");
  told.attempts = (at_once + 1) * (delayed + 1);
  const std::string inner =
      text_of(headers, "NServiceBus.ExceptionInfo.InnerExceptionType", longest_name);
  const bool news = letter.failure.type.empty() && letter.failure.text.empty();
  put(Dialect::nservicebus, std::move(told), letter);
  if (news && !inner.empty()) letter.failure.causes.push_back({inner, {}});
}

void read_masstransit(const Headers& headers, TimePoint now, Letter& letter) {
  if (!has_any(headers, "MT-Fault-") && find_header(headers, "MT-Reason") == nullptr) return;
  Told told;
  told.type = text_of(headers, "MT-Fault-ExceptionType", longest_name);
  told.text = text_of(headers, "MT-Fault-Message", longest_text);
  told.stack = text_of(headers, "MT-Fault-StackTrace", longest_stack);
  told.queue = queue_in_address(text_of(headers, "MT-Fault-InputAddress", longest_text));
  told.event_type = text_of(headers, "MT-Fault-MessageType", longest_name);
  told.at = credible(parse_iso8601(text_of(headers, "MT-Fault-Timestamp", longest_name)), now);
  if (told.type.empty() && told.text.empty() &&
      text_of(headers, "MT-Reason", longest_name) == "dead-letter") {
    told.type = "Skipped";
    told.text = "MassTransit skipped it: no consumer of its queue takes this type of message";
  }
  const std::uint64_t retries = count_of(headers, "MT-Fault-RetryCount");
  const std::uint64_t redelivered = std::max(count_of(headers, "MT-Fault-RedeliveryCount"),
                                             count_of(headers, "MT-Redelivery-Count"));
  told.attempts = (retries + 1) * (redelivered + 1);
  put(Dialect::masstransit, std::move(told), letter);
}

void read_spring(const Headers& headers, Letter& letter) {
  if (!has_any(headers, "x-exception-") && !has_any(headers, "x-original-exchange") &&
      !has_any(headers, "x-original-routingKey")) {
    return;
  }
  Told told;
  told.text = text_of(headers, "x-exception-message", longest_text);
  told.stack = text_of(headers, "x-exception-stacktrace", longest_stack);
  // `com.example.CardExpired: card 4711 …` is how a Java stack trace begins.
  const std::string_view head = std::string_view(told.stack).substr(0, told.stack.find('\n'));
  const std::string_view type = head.substr(0, head.find(':'));
  if (!type.empty() && type.size() <= longest_name &&
      type.find_first_of(" \t") == std::string_view::npos) {
    told.type = type;
  }
  told.event_type = text_of(headers, "__TypeId__", longest_name);
  if (find_header(headers, "retry-count") != nullptr) {
    told.attempts = std::uint64_t{count_of(headers, "retry-count")} + 1;
  }
  put(Dialect::spring, std::move(told), letter);
  take(letter.exchange, text_of(headers, "x-original-exchange", longest_name));
  take(letter.routing_key, text_of(headers, "x-original-routingKey", longest_name));
}

}  // namespace dlo::collector
