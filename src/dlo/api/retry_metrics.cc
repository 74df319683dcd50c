// The numbers of `GET /v1/retries`, for those who draw curves of them.
#include <array>
#include <map>
#include <string>

#include "dlo/api/answers.h"
#include "dlo/api/metrics_text.h"
#include "dlo/api/retries.h"

namespace dlo::api {
namespace {

using Kind = MetricsText::Kind;

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

void write_statuses(MetricsText& text, const Aggregate& numbers) {
  text.family("dlo_dead_letters", Kind::gauge, "Dead letters by status.");
  for (const Status status : all_statuses()) {
    std::uint64_t count = 0;
    for (const Tally& tally : numbers.tallies) count += tally.status == status ? tally.count : 0;
    text.sample({{"status", name_of(status)}}, number(count));
  }
}

void write_lifetime(MetricsText& text, const Lifetime& lifetime) {
  const auto total = [&text](std::string_view name, std::string_view help, std::uint64_t value) {
    text.family(name, Kind::counter, help).sample(number(value));
  };
  total("dlo_dlq_enqueued_total", "Tasks taken in, since the office was made.", lifetime.enqueued);
  total("dlo_dlq_retry_success_total", "Retries that worked.", lifetime.retry_success);
  total("dlo_dlq_retry_failed_total", "Retries that failed.", lifetime.retry_failed);
  total("dlo_dlq_exhausted_total", "Tasks whose retries were used up.", lifetime.exhausted);
  total("dlo_dlq_manually_retried_total", "Retries by hand.", lifetime.manually_retried);
  total("dlo_dlq_archived_total", "Tasks that were archived.", lifetime.archived);
}

/// As the metric of the project behind document 002 is divided (R2-10).
void write_fallback(MetricsText& text, std::map<std::string, std::uint64_t> counts,
                    std::uint64_t now) {
  text.family("dlo_dlq_fallback_total", Kind::counter,
              "Where reports went, since the server was started.");
  for (const char* outcome : {"persisted", "in_memory", "rejected"}) {
    text.sample({{"outcome", outcome}}, number(counts[outcome]));
  }
  text.family("dlo_dlq_in_memory", Kind::gauge, "Reports that are in memory only.")
      .sample(number(now));
}

void write_circuits(MetricsText& text, const Executors* executors) {
  constexpr std::array states{BreakerState::closed, BreakerState::half_open, BreakerState::open};
  text.family("dlo_retry_circuit_state", Kind::gauge, "1 for the state a circuit is in.");
  if (executors == nullptr) return;
  for (const auto& [name, entry] : executors->table().named()) {
    const BreakerState now = entry->breaker.snapshot().state;
    for (const BreakerState state : states) {
      text.sample({{"executor", name}, {"state", name_of(state)}}, state == now ? 1 : 0);
    }
  }
}

}  // namespace

HttpResponse Retries::metrics() {
  const auto numbers = parts_.office.aggregate({});
  if (!numbers) return problem_of(numbers.error());
  const RetryNumbers health = this->health(*numbers);
  const std::uint64_t held = parts_.shelf.size();
  MetricsText text;
  write_statuses(text, *numbers);
  text.family("dlo_dlq_size", Kind::gauge, "Open dead letters, those in memory included.")
      .sample(number(open_dead_letters(*numbers) + held));
  text.family("dlo_dlq_max_size", Kind::gauge, "How many there may be; 0: no limit.")
      .sample(number(capacity().records.value_or(0)));
  text.family("dlo_dlq_utilization_percent", Kind::gauge, "How full that is.")
      .sample(health.utilisation);
  write_lifetime(text, numbers->lifetime);
  write_fallback(text, parts_.intake.counts(), held);
  text.family("dlo_retry_processor_running", Kind::gauge, "Whether what is due is run here.")
      .sample(processor_ != nullptr && processor_->is_running() ? 1 : 0);
  write_circuits(text, settings_.executors.get());
  text.family("dlo_retry_alert", Kind::gauge, "1 for each alert of document 002 that holds.");
  for (const RetryAlert& alert : alerts_of(health)) text.sample({{"code", alert.code}}, 1);
  HttpResponse answer;
  answer.content_type = MetricsText::content_type;
  answer.body = text.take();
  return answer;
}

}  // namespace dlo::api
