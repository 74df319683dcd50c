#include "dlo/engine/handlers/http_handler.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/engine/handlers/failures.h"
#include "dlo/engine/handlers/returned.h"

namespace dlo {

namespace {

constexpr int most_redirects = 3;

TimePoint system_now() {
  return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
}

Error refuse(std::string detail) {
  return {Code::invalid_argument, "http.make", std::move(detail)};
}

Millis shorter(Millis a, Millis b) {
  if (a <= Millis{0}) return b;
  return b <= Millis{0} ? a : std::min(a, b);
}

/// Headers that only this handler can set right.
bool is_ours(const std::string& name) {
  return name == "content-length" || name == "transfer-encoding" || name == "connection" ||
         name.starts_with("dlo-") || name.starts_with("webhook-");
}

/// A configured header replaces the one we would send.
void add_configured(HttpHeaders& headers, const HttpHeaders& configured) {
  for (const auto& added : configured) {
    std::erase_if(headers,
                  [&added](const auto& own) { return own.first == ascii_lower(added.first); });
  }
  headers.insert(headers.end(), configured.begin(), configured.end());
}

Outcome outcome_of(const HttpTrouble& trouble, const std::string& to) {
  // The engine stops and nothing went out: the claim can be given back untouched.
  if (trouble.code == failure_code::stopped && !trouble.sent) {
    return {OutcomeKind::never_started, {}};
  }
  std::string_view type = failure_type::http_transport;
  if (trouble.code == failure_code::timed_out) type = failure_type::timeout;
  if (trouble.code == failure_code::stopped) type = failure_type::stopped;
  std::string text = "POST to " + to + " " + clean_text(trouble.text);
  text += trouble.sent ? ". The request went out, so the receiver may have processed it"
                       : ". Nothing was sent";
  return failed(type, std::string(trouble.code), std::move(text));
}

}  // namespace

HttpHandler::HttpHandler(HttpPushOptions options, Signer signer)
    : options_(std::move(options)), signer_(std::move(signer)), channels_(options_.transport) {}

Result<std::unique_ptr<HttpHandler>> HttpHandler::make(HttpPushOptions options) {
  if (const auto trouble = trouble_with_url(options.url); !trouble.empty()) {
    return refuse("the url '" + printable_url(options.url) + "' " + trouble);
  }
  for (const auto& [name, value] : options.headers) {
    if (!is_header_name(name)) return refuse("'" + clean_text(name) + "' is no header name");
    if (is_ours(ascii_lower(name)))
      return refuse("header " + name + " is set by the handler itself");
    if (!is_header_value(value)) {
      return refuse("the value of header " + name +
                    " must be printable ASCII without blanks at its ends");
    }
  }
  for (const auto& name : options.pass_headers) {
    if (!is_header_name(name)) return refuse("'" + clean_text(name) + "' is no header name");
  }
  if (options.timeout < Millis{0} || options.transport.connect_timeout <= Millis{0}) {
    return refuse("timeout must not be negative and connect_timeout must be above zero");
  }
  auto signer = Signer::make(options.secrets);
  if (!signer) return std::move(signer).error();
  options.secrets.clear();
  if (options.reads_result) {
    std::size_t& limit = options.transport.response_limit;
    limit = std::max(limit, result_limit);
  }
  if (!options.clock) options.clock = &system_now;
  return std::unique_ptr<HttpHandler>(new HttpHandler(std::move(options), std::move(*signer)));
}

Outcome HttpHandler::run(const Message& message, const RunContext& context) {
  if (context.stop.stop_requested()) return {OutcomeKind::never_started, {}};
  auto channel = channels_.take();
  Outcome outcome = push(*channel, message, context);
  channels_.give_back(std::move(channel));
  return outcome;
}

std::optional<Outcome> HttpHandler::result_of(const HttpAnswer& answer) const {
  if (!options_.reads_result) return std::nullopt;
  return returned_failure(answer.body, answer.body_was_cut);
}

Outcome HttpHandler::push(HttpChannel& channel, const Message& message,
                          const RunContext& context) const {
  const Millis timeout = shorter(options_.timeout, context.timeout);
  const auto began = std::chrono::steady_clock::now();
  HttpHeaders headers =
      push_headers(message, context, options_.pass_headers, signer_, options_.clock());
  add_configured(headers, options_.headers);
  const std::string_view body =
      message.payload ? std::string_view(*message.payload) : std::string_view();

  std::string url = options_.url;
  for (int hops = 0;; ++hops) {
    const HttpResult result =
        channel.call({url, headers, body, timeout, context.stop, "POST", began});
    const std::string to = printable_url(url);
    if (!result.answered) return outcome_of(result.trouble, to);
    const HttpAnswer& answer = result.answer;
    if (answer.status >= 200 && answer.status < 300) {
      return result_of(answer).value_or(Outcome{});
    }
    const bool keeps_method = answer.status == 307 || answer.status == 308;
    if (keeps_method && hops < most_redirects && is_same_origin(url, answer.redirect)) {
      url = answer.redirect;
      continue;
    }
    return {OutcomeKind::failed, failure_of(answer, to, options_.clock())};
  }
}

}  // namespace dlo
