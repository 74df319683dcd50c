// The profiles of CONTRACT 3.3 and RULINGS R12, as values. Nothing here decides anything.
#include <utility>

#include "dlo/core/breaker.h"
#include "dlo/core/profile.h"

namespace dlo {
namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;

RetryPolicy immediate() {
  return {};
}
RetryPolicy fixed(Millis base) {
  return {.kind = PolicyKind::fixed, .base = base};
}
RetryPolicy linear(Millis base) {
  return {.kind = PolicyKind::linear, .base = base};
}
RetryPolicy doubling(Millis base, std::optional<Millis> cap, Jitter jitter = Jitter::none) {
  return {.kind = PolicyKind::exponential, .base = base, .cap = cap, .jitter = jitter};
}
/// Waits for a handler that a rolling deployment is about to bring (R3-5).
RetryPolicy for_deployment() {
  return doubling(seconds{1}, seconds{60});
}

Rule rule(std::string name, MatchKind match, std::vector<std::string> values, std::string category,
          std::vector<std::string> except = {}) {
  return {std::move(name), match, std::move(values), std::move(except), std::move(category)};
}

CategoryRule ends(Action action, std::string reason = "") {
  return {.action = action, .reason = std::move(reason)};
}

/// R12: what applies when nothing is configured. Unknown failures are retried; only what the other
/// side calls wrong for ever ends at once.
std::vector<std::string> without_answer() {
  return {no_answer_codes().begin(), no_answer_codes().end()};
}

Profile standard() {
  Profile p;
  p.name = "standard";
  p.summary = "5 attempts, 1 s doubling to 5 min with full jitter; unknown errors are retried";
  p.limit = 5;
  p.pre_check = {CounterName::attempt, Comparison::at_least, 5, "MaxAttemptsExceeded",
                 "All {limit} attempts were used up. Last error: {error}"};
  p.post_check = {CounterName::attempt, Comparison::at_least, 5, "MaxAttemptsExceeded",
                  "Attempt {count} of {limit} failed. Last error: {error}"};
  p.rules = {
      rule("throttled", MatchKind::status, {"429"}, "throttled"),
      rule("rejected", MatchKind::status, {"400", "405", "410", "413", "414", "415", "422"},
           "rejected"),
      rule("permission", MatchKind::status, {"401", "403"}, "permission"),
      rule("server", MatchKind::status, {"5xx"}, "server"),
      rule("data error", MatchKind::code, {"exit:65"}, "rejected"),
      rule("timeout code", MatchKind::code, {"ETIMEDOUT", "timeout", "timed_out"}, "timeout"),
      rule("network code", MatchKind::code, without_answer(), "network"),
      rule("timeout", MatchKind::substring, {"timeout", "timed out", "deadline exceeded"},
           "timeout"),
      rule("network", MatchKind::substring,
           {"connection refused", "connection reset", "connection closed", "broken pipe",
            "network is unreachable", "no route to host", "name or service not known",
            "could not resolve host", "tls handshake"},
           "network"),
  };
  p.default_category = "unknown";
  p.empty_error_category = "unknown";
  p.categories["rejected"] = ends(Action::terminal);
  p.retry = doubling(seconds{1}, minutes{5}, Jitter::full);
  p.unregistered = doubling(seconds{1}, minutes{5}, Jitter::full);
  return p;
}

Profile service_bus() {
  Profile p;
  p.name = "service-bus";
  p.summary = "Broker deliveries, at most 3; nine error texts are never retried (document 000)";
  p.limit = 3;
  p.pre_check = {CounterName::fetch, Comparison::greater, 3, "PoisonMessage",
                 "Message exceeded maximum delivery count of {limit}"};
  p.post_check = {CounterName::fetch, Comparison::at_least, 3, "MaxDeliveryCountExceeded",
                  "Message exceeded {limit} delivery attempts. Last error: {error}"};
  const auto text = [](const std::string& words) {
    return rule(words, MatchKind::substring, {words}, "non_retryable");
  };
  p.rules = {text("timeout"),         text("exceeded maximum duration"),
             text("deserialization"), text("invalid format"),
             text("bad request"),     text("unauthorized"),
             text("forbidden"),       text("not found"),
             text("conflict")};
  p.default_category = "retryable";
  p.empty_error_category = "retryable";
  p.categories["non_retryable"] = ends(Action::terminal, "NonRetryableError");
  p.retry = immediate();
  p.unregistered = for_deployment();
  p.placement = Placement::requeue;
  p.reasons.invalid_header = "NonRetryableError";
  p.reasons.invalid_decode = "NonRetryableError";
  p.reasons.invalid_schema = "NonRetryableError";
  p.retention = {{"closed", days{30}, RetentionAct::discard}};
  p.form = "service-bus";
  return p;
}

Profile booking_family(std::string name, std::string summary) {
  Profile p;
  p.name = std::move(name);
  p.summary = std::move(summary);
  p.limit = 3;
  p.default_category = "error";
  p.empty_error_category = "error";
  p.retry = immediate();
  p.unregistered = for_deployment();
  p.placement = Placement::requeue;
  p.invalid = InvalidAction::drop;
  p.reasons.invalid_decode = "Invalid event format";
  p.crash_counts = false;
  p.first_attempt = FirstAttempt::estimated;
  p.form = "booking";
  return p;
}

Profile booking() {
  Profile p = booking_family("booking",
                             "Consumer that requeues twice and gives up at failure 3 "
                             "(document 001)");
  p.post_check = {CounterName::failure, Comparison::at_least, 3, "MaxRequeueAttemptsExceeded",
                  "Message failed after {count} attempts. Moving to DLQ."};
  return p;
}

Profile booking_outbox() {
  Profile p = booking_family("booking-outbox",
                             "Outbox publisher: 3 failed publishes, moved aside "
                             "at the next poll (document 001)");
  p.pre_check = {CounterName::failure, Comparison::at_least, 3, "MaxPublishAttemptsExceeded",
                 "Event was not published in {count} attempts. Last error: {error}"};
  p.retry = fixed(seconds{10});
  p.placement = Placement::delayed;
  p.invalid = InvalidAction::dead_letter;
  p.owner_effect = OwnerEffect::mark_published;
  return p;
}

Profile booking_retry_api() {
  Profile p = booking_family("booking-retry-api",
                             "Retries asked for by a user: the 4th call is "
                             "refused for good (document 001)");
  p.pre_check = {CounterName::retry, Comparison::at_least, 3, "Maximum retry attempts reached",
                 "Max retries reached. Moved to DLQ for investigation."};
  p.invalid = InvalidAction::dead_letter;
  p.owner_effect = OwnerEffect::permanently_failed;
  p.first_attempt = FirstAttempt::measured;
  return p;
}

/// R2-8, in its order, with its exceptions and its false hits (R2-11). It is a table of words: what
/// an exit code of a handler says (DESIGN 5) takes nothing from it.
std::vector<Rule> workflow_rules() {
  return {
      rule("try again later", MatchKind::code, {"exit:75"}, "transient"),
      rule("transient", MatchKind::substring,
           {"rate limit", "ratelimit", "rate-limit", "throttle", "throttling", "temporary", "busy",
            "unavailable", "offline", "retryable"},
           "transient"),
      rule("network", MatchKind::substring,
           {"connection", "timeout", "network", "connectivity", "socket", "ssl", "certificate",
            "handshake"},
           "network"),
      rule("resource", MatchKind::substring,
           {"memory", "disk", "quota", "capacity", "resource", "oom", "out of", "exceeded", "space",
            "device"},
           "resource", {"index", "range"}),
      rule("permission", MatchKind::substring,
           {"permission", "denied", "forbidden", "unauthorized", "access", "auth", "credential"},
           "permission"),
      rule("validation", MatchKind::substring,
           {"invalid", "malformed", "validation", "format", "valueerror", "typeerror", "schema",
            "assertion"},
           "validation"),
  };
}

/// The same table without the false hits of R2-11: what a status or an exit code says comes first,
/// and short words must stand alone.
std::vector<Rule> workflow_safe_rules() {
  return {
      rule("try again later", MatchKind::code, {"exit:75"}, "transient"),
      rule("transient status", MatchKind::status, {"408", "425", "429", "5xx"}, "transient"),
      rule("permission status", MatchKind::status, {"401", "403"}, "permission"),
      rule("validation status", MatchKind::status, {"400", "413", "415", "422"}, "validation"),
      rule("network code", MatchKind::code, without_answer(), "network"),
      rule("transient", MatchKind::substring,
           {"rate limit", "ratelimit", "rate-limit", "throttle", "throttling", "temporary",
            "temporarily", "too many requests", "unavailable", "internal server error",
            "bad gateway", "retryable"},
           "transient"),
      rule("transient word", MatchKind::word,
           {"busy", "offline", "429", "500", "502", "503", "504"}, "transient"),
      rule("network", MatchKind::substring,
           {"connection", "timeout", "timed out", "exceeded maximum duration", "network",
            "connectivity", "socket", "certificate", "handshake"},
           "network"),
      rule("network word", MatchKind::word, {"ssl", "tls", "dns"}, "network"),
      rule("resource", MatchKind::substring,
           {"out of memory", "memory limit", "quota", "capacity", "no space", "disk space",
            "space left", "resource exhausted", "resources exhausted", "limit exceeded"},
           "resource", {"index", "range"}),
      rule("resource word", MatchKind::word, {"memory", "memoryerror", "disk", "oom", "device"},
           "resource", {"index", "range"}),
      rule("permission", MatchKind::substring,
           {"permission", "forbidden", "unauthorized", "unauthorised", "access denied",
            "authentication", "authorization", "authorisation", "credential"},
           "permission"),
      rule("permission word", MatchKind::word, {"denied", "auth"}, "permission"),
      rule("validation", MatchKind::substring,
           {"invalid", "malformed", "validation", "valueerror", "typeerror", "schema", "assertion"},
           "validation"),
      rule("validation word", MatchKind::word, {"format"}, "validation"),
  };
}

Profile workflow() {
  Profile p;
  p.name = "workflow";
  p.summary =
      "Scheduled retries in the office, 1 to 60 min; unknown errors end at once "
      "(document 002)";
  p.limit = 3;
  p.post_check = {CounterName::retry, Comparison::at_least, 3, "exhausted",
                  "Retry {count} of {limit} failed. Last error: {error}"};
  p.rules = workflow_rules();
  p.default_category = "permanent";
  p.empty_error_category = "permanent";
  p.categories["resource"] = {.policy = linear(minutes{5})};
  p.categories["permission"] = ends(Action::never, "permission");
  p.categories["validation"] = ends(Action::never, "validation");
  p.categories["permanent"] = ends(Action::never, "permanent");
  p.retry = doubling(minutes{1}, minutes{60});
  p.placement = Placement::in_office;
  p.invalid_category = "validation";
  p.reasons.invalid_header = "validation";
  p.reasons.invalid_decode = "validation";
  p.reasons.invalid_schema = "validation";
  p.store_failure = StoreFailure::memory_fallback;
  p.skips = Skips::lose;
  p.owner_effect = OwnerEffect::fail_owner;
  p.replay_count = ReplayCount::carry_on;
  p.retention = {{"exhausted", days{7}, RetentionAct::archive, RetentionFrom::first_failure}};
  p.capacity.records = 10'000;
  p.exhausted_status = "exhausted";
  p.form = "workflow";
  return p;
}

Profile durable_family(std::string name, std::string summary, std::uint32_t limit) {
  Profile p;
  p.name = std::move(name);
  p.summary = std::move(summary);
  p.limit = limit;
  p.default_category = "application";
  p.empty_error_category = "application";
  p.retry = immediate();
  p.unregistered = for_deployment();
  p.invalid = InvalidAction::count;
  p.owner_effect = OwnerEffect::fail_owner;
  p.form = "durable";
  return p;
}

Profile durable() {
  Profile p = durable_family("durable",
                             "Workflow runtime: poison after 5 counted abandons "
                             "(document 003)",
                             5);
  p.post_check = {CounterName::abandon, Comparison::at_least, 5, "Poisoned",
                  "poison: exceeded {count} abandons (max {limit}): {error}"};
  p.crash_counts = false;
  p.failure_abandons = true;
  p.placement = Placement::delayed;
  return p;
}

Profile durable_fetch() {
  Profile p = durable_family("durable-fetch",
                             "Workflow runtime: poison at fetch 11, whatever ended "
                             "the ten before (document 003 as built)",
                             10);
  p.pre_check = {CounterName::fetch, Comparison::greater, 10, "Poison",
                 "poison: exceeded {count} attempts (max {limit})"};
  p.claims_count = true;
  return p;
}

Profile kafka() {
  Profile p;
  p.name = "kafka";
  p.summary =
      "Retries after 2, 4 and 8 s, holding the partition; bad JSON ends at once "
      "(document 004)";
  p.limit = 3;
  p.post_check = {CounterName::next_retry, Comparison::greater, 3, "UnexpectedException",
                  "{error}"};
  p.rules = {
      rule("json", MatchKind::type, {"JsonException", "JsonReaderException"}, "deserialization"),
      rule("business", MatchKind::type, {"InvalidOperationException"}, "business"),
      rule("database", MatchKind::type,
           {"DbException", "DbUpdateException", "NpgsqlException", "SqlException",
            "TimeoutException"},
           "database"),
  };
  p.default_category = "unexpected";
  p.empty_error_category = "unexpected";
  p.categories["deserialization"] = ends(Action::terminal, "JsonException");
  p.retry = doubling(seconds{1}, std::nullopt);
  p.retry.first_exponent = 1;
  p.unregistered = for_deployment();
  p.placement = Placement::hold;
  p.validation = {Stage::decode, Stage::header, Stage::schema};
  p.invalid_keeps_count = false;
  p.reasons.non_retryable = "UnexpectedException";
  p.reasons.invalid_decode = "JsonException";
  p.reasons.invalid_schema = "DeserializationFailure";
  p.reasons.use_error_type = true;
  p.crash_counts = false;
  p.replay_limit = 3;
  p.retention = {{"open", days{7}, RetentionAct::expire},
                 {"closed", days{7}, RetentionAct::discard}};
  p.capacity.bytes = 10'737'418'240;
  p.form = "kafka";
  return p;
}

/// Varies a wait without going below half of what the document states.
void add_jitter(RetryPolicy& policy) {
  if (policy.kind != PolicyKind::never && policy.kind != PolicyKind::immediate) {
    policy.jitter = Jitter::equal;
  }
}

/// R12: the base with keep_source, crash counting, invalid = dead_letter, measured times, jitter.
Profile safe(Profile p) {
  p.name += "+safe";
  p.store_failure = StoreFailure::keep_source;
  p.skips = Skips::record;
  p.crash_counts = true;
  p.invalid = InvalidAction::dead_letter;
  p.invalid_keeps_count = true;
  p.first_attempt = FirstAttempt::measured;
  add_jitter(p.retry);
  if (p.unregistered) add_jitter(*p.unregistered);
  for (auto& [name, category] : p.categories) {
    if (category.policy) add_jitter(*category.policy);
  }
  return p;
}

/// A document without any wait would hammer what is already failing (R0-9).
Profile patient(Profile p) {
  p.retry = doubling(seconds{1}, seconds{60}, Jitter::equal);
  p.placement = Placement::delayed;
  return p;
}

Profile service_bus_safe() {
  Profile p = patient(safe(service_bus()));
  p.summary = "As service-bus, with growing waits and every crash counted";
  return p;
}
Profile booking_safe() {
  Profile p = patient(safe(booking()));
  p.summary = "As booking, but invalid events are kept, crashes count, retries wait";
  return p;
}
Profile booking_outbox_safe() {
  Profile p = safe(booking_outbox());
  p.summary = "As booking-outbox, with crashes counted and polls spread out";
  return p;
}
Profile booking_retry_api_safe() {
  Profile p = safe(booking_retry_api());
  p.summary = "As booking-retry-api, with every crash counted";
  return p;
}
Profile workflow_safe() {
  Profile p = safe(workflow());
  p.summary = "As workflow, with corrected error words; a full or absent store is reported";
  p.rules = workflow_safe_rules();
  p.store_failure = StoreFailure::reject;
  for (RetentionRule& rule : p.retention) rule.from = RetentionFrom::end;
  return p;
}
Profile durable_safe() {
  Profile p = patient(safe(durable()));
  p.summary = "As durable, but a crash or lost lease counts like an abandon";
  p.pre_check = {CounterName::abandon_or_fetch, Comparison::greater, 5, "Poisoned",
                 "poison: exceeded {limit} fetches or abandons (max {limit})"};
  p.post_check->counter = CounterName::abandon_or_fetch;
  return p;
}
Profile durable_fetch_safe() {
  Profile p = patient(safe(durable_fetch()));
  p.summary = "As durable-fetch, with growing waits; undecodable items are kept at once";
  return p;
}
Profile kafka_safe() {
  Profile p = safe(kafka());
  p.summary = "As kafka, but retries wait aside: only the key is held, never the partition";
  p.placement = Placement::delayed;
  p.retention = {{"open", days{7}, RetentionAct::archive},
                 {"closed", days{7}, RetentionAct::discard}};
  return p;
}

}  // namespace

const std::vector<Profile>& builtin_profiles() {
  static const std::vector<Profile> profiles = {
      standard(),
      service_bus(),
      service_bus_safe(),
      booking(),
      booking_safe(),
      booking_outbox(),
      booking_outbox_safe(),
      booking_retry_api(),
      booking_retry_api_safe(),
      workflow(),
      workflow_safe(),
      durable(),
      durable_safe(),
      durable_fetch(),
      durable_fetch_safe(),
      kafka(),
      kafka_safe(),
  };
  return profiles;
}

}  // namespace dlo
