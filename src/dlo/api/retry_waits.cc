#include "dlo/api/retry_waits.h"

#include <iterator>
#include <string>

#include "dlo/api/answers.h"
#include "dlo/api/curtain.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr Millis between_looks{50};
constexpr std::size_t most_waiting = 256;  // each costs a read at every look

/// The dead letter as it is, and what came of the retry.
HttpResponse told(const DeadLetter& whole, RetryOutcome outcome, const Request& request) {
  const DeadLetter record = curtain_of(request).hidden(whole);
  const bool over = outcome != RetryOutcome::awaited;
  JsonWriter json;
  json.begin_object().member("outcome", name_of(outcome));
  if (over) json.key("success").boolean(outcome == RetryOutcome::worked);
  if (outcome == RetryOutcome::failed) json.member("error", record.failure.text);
  json.end_object();
  std::string text = to_json(record);
  text.pop_back();
  text += ",\"retry\":" + json.take() + "}";
  HttpResponse response = json_answer(text, over ? 200 : 202);
  set_etag(response, record.version);
  return response;
}

}  // namespace

bool RetryWaits::answer(const Waiting& one, bool anyhow) const {
  const auto detail = office_.get(one.id);
  if (!detail) {
    // An office that is away for a moment may be back before the time is up.
    if (!anyhow && is_retryable(detail.error().code)) return false;
    one.exchange->send(problem_of(detail.error()));
    return true;
  }
  const DeadLetter& record = detail->record;
  const std::string how = record.resolution ? record.resolution->how : std::string();
  const RetryOutcome outcome =
      outcome_of_retry(one.asked, {record.counters.failure, record.occurrence}, record.status, how);
  if (outcome == RetryOutcome::awaited && !anyhow) return false;
  one.exchange->send(told(record, outcome, one.request));
  return true;
}

void RetryWaits::add(Waiting one) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && waiting_.size() < most_waiting) {
      waiting_.push_back(std::move(one));
      return wake_();
    }
  }
  (void)answer(one, true);
}

std::optional<TimePoint> RetryWaits::look(TimePoint now) {
  std::deque<Waiting> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(waiting_);
  }
  std::erase_if(taken, [&](const Waiting& one) {
    return one.exchange->gone() || answer(one, now >= one.until);
  });
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      waiting_.insert(waiting_.begin(), std::make_move_iterator(taken.begin()),
                      std::make_move_iterator(taken.end()));
      if (waiting_.empty()) return std::nullopt;
      return now + between_looks;
    }
  }
  for (const Waiting& one : taken) (void)answer(one, true);
  return std::nullopt;
}

void RetryWaits::close() {
  std::deque<Waiting> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    left.swap(waiting_);
  }
  for (const Waiting& one : left) (void)answer(one, true);
}

}  // namespace dlo::api
