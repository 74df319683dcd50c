#include "dlo/api/retries.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/queue_executor.h"
#include "dlo/core/backoff.h"
#include "dlo/core/duration.h"
#include "dlo/core/retry_health.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

/// As document 002 shows it: 15 of 10000 is 0.15 (S2-25).
std::string in_percent(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 2);
  std::string shown(text.data(), end.ptr);
  while (shown.ends_with('0')) shown.pop_back();
  if (shown.ends_with('.')) shown.pop_back();
  return shown;
}

/// Documents of circuits that a hand has opened, by executor.
constexpr const char* circuit_kind = "circuit_open";

using Counts = std::map<std::string, std::uint64_t>;

void write_counts(JsonWriter& json, std::string_view name, const Counts& counts) {
  json.key(name).begin_object();
  for (const auto& [each, count] : counts) json.member(each, count);
  json.end_object();
}

std::uint64_t count_of(const Aggregate& numbers, Status status) {
  std::uint64_t count = 0;
  for (const Tally& tally : numbers.tallies) count += tally.status == status ? tally.count : 0;
  return count;
}

/// All that are open and those in memory, by what is asked of each: every breakdown adds up to
/// `queue_size` (S2-25).
struct Breakdowns {
  Counts statuses{{"pending", 0}, {"retrying", 0}, {"exhausted", 0}};
  Counts categories;
  Counts policies;
};
Breakdowns breakdowns_of(const Aggregate& numbers,
                         const std::vector<std::shared_ptr<const Shelved>>& in_memory) {
  Breakdowns out;
  for (const Tally& tally : numbers.tallies) {
    if (!is_open(tally.status)) continue;
    out.statuses[std::string(name_of(tally.status))] += tally.count;
    out.categories[tally.category] += tally.count;
  }
  for (const PolicyTally& tally : numbers.policies) {
    if (is_open(tally.status)) out.policies[std::string(name_of(tally.kind))] += tally.count;
  }
  for (const auto& each : in_memory) {
    ++out.statuses[std::string(name_of(each->record->status))];
    ++out.categories[each->record->category];
    ++out.policies[std::string(name_of(kind_of_policy(each->record->policy)))];
  }
  return out;
}

void write_lifetime(JsonWriter& json, const Lifetime& lifetime) {
  json.key("lifetime_stats")
      .begin_object()
      .member("enqueued_total", lifetime.enqueued)
      .member("retry_success", lifetime.retry_success)
      .member("retry_failed", lifetime.retry_failed)
      .member("exhausted", lifetime.exhausted)
      .member("manually_retried", lifetime.manually_retried)
      .member("archived", lifetime.archived)
      .end_object();
}

void write_fallback(JsonWriter& json, const FallbackTotals& ever, std::uint64_t now) {
  json.key("fallback")
      .begin_object()
      .member("in_memory_now", now)
      .member("in_memory", ever.in_memory)
      .member("persisted_later", ever.persisted_later)
      .member("rejected", ever.rejected)
      .end_object();
}

/// Of those that send to a queue it is said which: that is whose circuit it is.
void write_circuits(JsonWriter& json, const RetrySettings& settings) {
  const std::map<std::string, std::string> queues(settings.queues.begin(), settings.queues.end());
  json.key("circuits").begin_array();
  if (settings.executors != nullptr) {
    for (const auto& [name, entry] : settings.executors->table().named()) {
      const Breaker breaker = entry->breaker.snapshot();
      json.begin_object()
          .member("executor", name)
          .member("state", name_of(breaker.state))
          .member("failures_in_a_row", std::uint64_t{breaker.in_a_row})
          .key("forced")
          .boolean(breaker.forced);
      if (breaker.state == BreakerState::open && !breaker.forced) {
        json.member("probe_at", breaker.probe_at);
      }
      if (const auto queue = queues.find(name); queue != queues.end()) {
        json.member("target", "queue:" + queue->second);
      }
      json.end_object();
    }
  }
  json.end_array();
}

void write_alerts(JsonWriter& json, const std::vector<RetryAlert>& alerts) {
  json.key("alerts").begin_array();
  for (const RetryAlert& alert : alerts) {
    json.begin_object().member("code", alert.code).member("text", alert.text).end_object();
  }
  json.end_array();
}

}  // namespace

Retries::Retries(Parts parts, RetrySettings settings, ProfileBook rules, RegexCompiler regex)
    : parts_(std::move(parts)),
      settings_(std::move(settings)),
      shelf_(rules, std::move(regex)),
      watch_({parts_.office, parts_.clock, settings_.log,
              [this]() -> Result<RetryNumbers> {
                const auto numbers = parts_.office.aggregate({});
                if (!numbers) return numbers.error();
                return health(*numbers);
              },
              parts_.wake}),
      rules_(std::move(rules)) {
  start();
}

Retries::~Retries() {
  stop();
}

void Retries::say(const std::string& line) const {
  if (settings_.log) settings_.log(line);
}

void Retries::start() {
  if (!settings_.enabled) return;
  if (!settings_.processor) return say("DLQ retry processor disabled in configuration");
  if (settings_.executors == nullptr) return;
  HandlerOptions guarded;
  guarded.breaker = BreakerPolicy{};
  for (const auto& [name, queue] : settings_.queues) {
    settings_.executors->set(
        name, std::make_shared<QueueExecutor>(parts_.targets, queue, parts_.clock), guarded);
  }
  if (settings_.executors->empty()) {
    return say(
        "DLQ retry processor not started: no executors are configured, so what is due waits");
  }
  follow_circuits(parts_.clock.now());
  if (settings_.watched) watch_.listen_to(settings_.executors);
  RetryOptions options;
  options.origin = parts_.origin;
  options.at_once = settings_.at_once;
  options.timeout = settings_.timeout;
  options.lease_for = settings_.lease;
  options.without = parts_.queues;
  options.take_back_after = settings_.take_back_after;
  auto made = RetryProcessor::make(
      {parts_.office, parts_.timer, shelf_, *settings_.executors, parts_.clock}, options);
  if (!made) return say("The retry processor cannot be started: " + made.error().detail);
  processor_ = std::move(*made);
  processor_->start();
  say("DLQ retry processor started (interval=" +
      (settings_.interval > Millis{0} ? print_duration(settings_.interval)
                                      : std::string("none, each at its moment")) +
      ")");
}

void Retries::stop() {
  if (processor_ == nullptr || !processor_->is_running()) return;
  processor_->stop();
  say("DLQ retry processor stopped");
}

void Retries::use(const ProfileBook& rules) {
  shelf_.use(rules);
  const std::lock_guard lock(mutex_);
  rules_ = rules;
}

Capacity Retries::capacity() const {
  const std::lock_guard lock(mutex_);
  const auto profile = rules_.find("workflow");
  return profile ? profile->capacity : Capacity{};
}

RetryNumbers Retries::health(const Aggregate& numbers) const {
  const std::uint64_t held = parts_.shelf.size();
  return {utilisation_of(capacity(), open_dead_letters(numbers) + held),
          count_of(numbers, Status::exhausted), numbers.lifetime.retry_success,
          numbers.lifetime.retry_failed, held};
}

HttpResponse Retries::statistics() {
  const auto numbers = parts_.office.aggregate({});
  if (!numbers) return problem_of(numbers.error());
  const auto fallback = parts_.shelf.totals();
  if (!fallback) return problem_of(fallback.error());
  const auto in_memory = parts_.shelf.first(std::numeric_limits<std::size_t>::max());
  const std::uint64_t held_now = in_memory.size();
  const Capacity capacity = this->capacity();
  const std::uint64_t size = open_dead_letters(*numbers) + held_now;
  const double utilisation = utilisation_of(capacity, size);
  const Breakdowns parts = breakdowns_of(*numbers, in_memory);
  JsonWriter json;
  json.begin_object()
      .member("queue_size", size)
      .member("max_size", capacity.records.value_or(0))
      .key("utilization_percent")
      .raw(in_percent(utilisation));
  write_counts(json, "status_breakdown", parts.statuses);
  write_counts(json, "error_categories", parts.categories);
  write_counts(json, "retry_policies", parts.policies);
  write_lifetime(json, numbers->lifetime);
  json.key("is_processor_running").boolean(processor_ != nullptr && processor_->is_running());
  json.member("retry_interval_seconds",
              static_cast<std::uint64_t>(settings_.interval.count() / 1'000));
  Counts intake = parts_.intake.counts();
  if (const auto later = parts_.shelf.persisted_later()) intake["persisted_later"] = later;
  write_counts(json, "intake", intake);
  write_fallback(json, *fallback, held_now);
  const auto held = parts_.dependencies ? parts_.dependencies() : Dependencies::Numbers{};
  write_counts(json, "dependencies", {{"waiting", held.waiting}, {"blocked", held.blocked}});
  write_circuits(json, settings_);
  write_alerts(json, alerts_of(health(*numbers)));
  json.end_object();
  return json_answer(json.take());
}

HttpResponse Retries::force(const Request& request, bool open) {
  const std::string& name = request.path.at(0);
  std::vector<std::string> known;
  HandlerEntry* found = nullptr;
  if (settings_.executors != nullptr) {
    for (const auto& [each, entry] : settings_.executors->table().named()) {
      known.push_back(each);
      if (each == name) found = entry;
    }
  }
  if (known.empty()) {
    return problem_of(
        {Code::not_found, "api.retries",
         "There is no executor " + in_quotes(name) + ": none is configured here (`executors:`)."});
  }
  if (found == nullptr) {
    std::vector<std::string_view> valid(known.begin(), known.end());
    return problem_of({Code::not_found, "api.retries", unknown_name("executor", name, valid)});
  }
  JsonWriter said;
  said.begin_object().member("before", name_of(found->breaker.snapshot().state));
  said.member("after", name_of(open ? BreakerState::open : BreakerState::closed)).end_object();
  // It stays so until a hand closes it: also elsewhere, and after a restart.
  const std::vector<Change> changes{
      PutDocument{circuit_kind, name, open ? std::optional<std::string>("{}") : std::nullopt, {}},
      audit_of(request, open ? "circuit.open" : "circuit.close", name, said.take())};
  if (const auto noted = parts_.office.apply(changes); !noted) return problem_of(noted.error());
  force(*found, open, request.now);
  return statistics();
}

void Retries::force(HandlerEntry& entry, bool open, TimePoint now) {
  entry.breaker.force(open, now);
  if (!open && processor_ != nullptr) processor_->circuit_closed();
}

void Retries::follow_circuits(TimePoint now) {
  Ledger* const ledger = parts_.office.extras().ledger;
  if (ledger == nullptr || settings_.executors == nullptr) return;
  for (const auto& [name, entry] : settings_.executors->table().named()) {
    const auto found = ledger->document(circuit_kind, std::string(name));
    if (!found) return;
    const bool forced = entry->breaker.snapshot().forced;
    if (found->has_value() != forced) force(*entry, !forced, now);
  }
}

ClaimFrom Retries::from() const {
  ClaimFrom from;
  if (parts_.queues) from.without = parts_.queues();
  std::sort(from.without.begin(), from.without.end());
  return from;
}

std::vector<Route> Retries::routes() {
  return {
      {"GET", "/v1/retries", Role::reader, Lane::slow, {}, answering([this](const Request&) {
         return statistics();
       })},
      {"GET", "/metrics", Role::reader, Lane::slow, {}, answering([this](const Request&) {
         return metrics();
       })},
      {"POST",
       "/v1/retries/circuits/{name}/open",
       Role::operator_,
       Lane::slow,
       {},
       answering([this](const Request& request) { return force(request, true); })},
      {"POST",
       "/v1/retries/circuits/{name}/close",
       Role::operator_,
       Lane::slow,
       {},
       answering([this](const Request& request) { return force(request, false); })},
  };
}

}  // namespace dlo::api
