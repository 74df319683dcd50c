#include "dlo/api/queue_window.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/server/answers_together.h"

namespace dlo::api {
namespace {

constexpr std::size_t written_at_once = 256;  // requests, each of one message or many
constexpr std::size_t received_at_once = 1'000;
constexpr Millis between_office_looks{100};

Error too_busy() {
  return {Code::unavailable, "api.queue",
          "The server is too busy; nothing was done. Try again in a moment."};
}

}  // namespace

QueueWindow::QueueWindow(const Parts& parts, std::unique_ptr<OwnQueue> queue,
                         QueueSettings settings, std::shared_ptr<const RuleBook> rules)
    : parts_(parts),
      settings_(std::move(settings)),
      rules_(std::move(rules)),
      queue_(std::move(queue)),
      office_source_(parts_.office, {ClaimFrom(settings_.source.source),
                                     {},
                                     [this](const DeadLetter&) { return this->rules(); },
                                     nullptr,
                                     false}),
      desk_(
          {*queue_, parts_.office, rules_, parts_.clock, parts_.origin, nullptr, queue_->eager()}),
      office_desk_(
          {office_source_, parts_.office, rules_, parts_.clock, parts_.origin, &office_source_}),
      turns_(
          parts_.pool, written_at_once, 1,  // one: messages stay in the order they were sent
          [this](std::vector<Wish> all) { turn(std::move(all)); },
          [](Wish& refused) { std::visit([](auto& wish) { wish.told(too_busy()); }, refused); }),
      settler_(
          parts_.pool, written_at_once, 2,
          [this](std::vector<Settling> all) { settle_all(std::move(all)); },
          [](Settling& refused) { refused.told(too_busy()); }) {}

std::shared_ptr<const RuleBook> QueueWindow::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

void QueueWindow::use(const std::shared_ptr<const RuleBook>& rules) {
  desk_.use(rules);
  office_desk_.use(rules);
  const std::lock_guard lock(mutex_);
  rules_ = rules;
}

void QueueWindow::send(std::vector<Publication> messages, HttpExchange& exchange, Sent told) {
  turns_.add(Sending{std::move(messages), std::move(told)}, exchange);
}

void QueueWindow::settle(std::vector<PullSettlement> settlements, HttpExchange& exchange,
                         Settled told) {
  const bool office = office_desk_.held() > 0 || desk_.needs_office(settlements);
  Settling settling{std::move(settlements), std::move(told)};
  if (office) return settler_.add(std::move(settling), exchange);
  turns_.add(std::move(settling), exchange);
}

Pending<std::vector<PublishAnswer>> QueueWindow::place(const std::vector<Publication>& messages,
                                                       Instant now) {
  if (messages.empty()) return Result(std::vector<PublishAnswer>());
  EagerBroker* eager = queue_->eager();
  if (eager != nullptr) return eager->publish_soon(messages, now);
  return queue_->publish(messages, now);
}

/// Everything that was sent and done since the last turn: written together, one wait for the disk,
/// and answered together. Those who come for messages meanwhile are served by another thread.
void QueueWindow::turn(std::vector<Wish> wishes) {
  std::vector<Sending> sendings;
  std::vector<Settling> settlings;
  std::vector<Publication> messages;
  std::vector<PullSettlement> settlements;
  for (Wish& each : wishes) {
    if (auto* sending = std::get_if<Sending>(&each)) {
      messages.insert(messages.end(), sending->messages.begin(), sending->messages.end());
      sendings.push_back(std::move(*sending));
    } else {
      auto& settling = std::get<Settling>(each);
      settlements.insert(settlements.end(), settling.settlements.begin(),
                         settling.settlements.end());
      settlings.push_back(std::move(settling));
    }
  }
  const Instant now = parts_.clock.instant();
  auto sent = place(messages, now);
  auto settled = desk_.settle_soon(std::move(settlements));
  auto are_sent = std::move(sent).wait();
  auto are_settled = std::move(settled).wait();
  {
    std::optional<AnswersTogether> at_once;
    if (are_sent && are_settled) at_once.emplace();  // else some are tried again, one by one
    tell(sendings, std::move(are_sent), now);
    tell(settlings, std::move(are_settled));
  }
  wake();  // also for followers of a key
}

void QueueWindow::tell(std::vector<Sending>& sendings, Result<std::vector<PublishAnswer>> sent,
                       Instant now) {
  if (!sent && sendings.size() > 1) {  // one of them may be too large for what is left
    for (Sending& each : sendings) each.told(queue_->publish(each.messages, now));
    return;
  }
  if (!sent) {
    for (Sending& each : sendings) each.told(sent.error());
    return;
  }
  auto next = sent->begin();
  for (Sending& each : sendings) {
    const auto end = next + static_cast<std::ptrdiff_t>(each.messages.size());
    each.told(std::vector<PublishAnswer>(next, end));
    next = end;
  }
}

void QueueWindow::settle_all(std::vector<Settling> settlings) {
  std::vector<PullSettlement> all;
  for (const Settling& each : settlings) {
    all.insert(all.end(), each.settlements.begin(), each.settlements.end());
  }
  auto settled = settle_now(std::move(all));
  {
    std::optional<AnswersTogether> at_once;
    if (settled) at_once.emplace();
    tell(settlings, std::move(settled));
  }
  wake();  // followers of a key may be free
}

void QueueWindow::tell(std::vector<Settling>& settlings, Result<std::vector<PullAnswer>> settled) {
  if (!settled && settlings.size() > 1 && !is_retryable(settled.error().code)) {
    for (Settling& each : settlings) each.told(settle_now(std::move(each.settlements)));
    return;
  }
  if (!settled) {
    for (Settling& each : settlings) each.told(settled.error());
    return;
  }
  auto next = settled->begin();
  for (Settling& each : settlings) {
    const auto end = next + static_cast<std::ptrdiff_t>(each.settlements.size());
    each.told(std::vector<PullAnswer>(std::make_move_iterator(next), std::make_move_iterator(end)));
    next = end;
  }
}

/// Tokens do not say where they come from: what the queue's desk does not know is the other one's.
Result<std::vector<PullAnswer>> QueueWindow::settle_now(std::vector<PullSettlement> settlements) {
  std::vector<PullSettlement> again;
  std::vector<std::size_t> places;
  const bool two_desks = office_desk_.held() > 0;
  const auto copies = two_desks ? settlements : std::vector<PullSettlement>();
  auto answers = desk_.settle(std::move(settlements));
  if (!answers || !two_desks) return answers;
  for (std::size_t i = 0; i < answers->size(); ++i) {
    if ((*answers)[i].fate != PullAnswer::Fate::lease_lost) continue;
    places.push_back(i);
    again.push_back(copies[i]);
  }
  if (again.empty()) return answers;
  auto others = office_desk_.settle(std::move(again));
  if (!others) return others;
  for (std::size_t i = 0; i < places.size(); ++i) (*answers)[places[i]] = (*others)[i];
  return answers;
}

Result<std::vector<bool>> QueueWindow::renew(const std::vector<LeaseToken>& leases,
                                             Millis lease_for) {
  auto live = desk_.renew(leases, lease_for);
  if (!live || office_desk_.held() == 0) return live;
  const auto others = office_desk_.renew(leases, lease_for);
  if (!others) return others;
  for (std::size_t i = 0; i < live->size(); ++i) (*live)[i] = (*live)[i] || (*others)[i];
  return live;
}

/// Messages that wait in the office are few and their times are known to nobody here, so the office
/// is asked now and then and not by every receiver.
bool QueueWindow::may_ask_office(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (now < ask_office_at_) return false;
  ask_office_at_ = now + between_office_looks;
  return true;
}

Result<QueueWindow::Handed> QueueWindow::fetch(const Wanted& wanted) {
  const std::shared_lock lock(retire_mutex_);
  if (retired_) return Handed{};
  auto handed = desk_.receive(wanted.limit, wanted.lease_for);
  if (!handed || handed->size() >= wanted.limit || !may_ask_office(parts_.clock.now())) {
    return handed;
  }
  auto more = office_desk_.receive(wanted.limit - handed->size(), wanted.lease_for);
  if (!more) return handed->empty() ? more : handed;
  handed->insert(handed->end(), std::make_move_iterator(more->begin()),
                 std::make_move_iterator(more->end()));
  return handed;
}

void QueueWindow::receive(const Wanted& wanted, const ExchangePtr& exchange, Render render) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      const TimePoint until = parts_.clock.now() + std::max(wanted.wait, Millis{0});
      waiters_.push_back({wanted, until, exchange, std::move(render)});
      render = nullptr;
      first = !std::exchange(wake_due_, true);
    }
  }
  if (render) return exchange->send(render({}));
  // The one who looks after those who wait comes by as well.
  if (wanted.wait > Millis{0}) parts_.somebody_waits();
  if (first) exchange->after_round([this] { wake_later(); });
}

/// Those who came at the same time are there by now, and are served together.
void QueueWindow::wake_later() {
  if (parts_.pool.post([this] { wake(); })) return;
  {
    const std::lock_guard lock(mutex_);
    wake_due_ = false;
  }
  parts_.somebody_waits();
}

bool QueueWindow::later(std::function<void()> task) {
  return parts_.pool.post(std::move(task));
}

/// Those at the front who want the same lease. Nothing is handed to somebody who left.
QueueWindow::Waiters QueueWindow::take_alike(std::uint64_t& heard) {
  Waiters group;
  std::size_t wanted = 0;
  const std::lock_guard lock(mutex_);
  wake_due_ = false;
  heard = rings_;
  while (!waiters_.empty() && wanted < received_at_once) {
    Waiter& first = waiters_.front();
    if (!first.exchange->gone()) {
      if (!group.empty() && group.front().wanted.lease_for != first.wanted.lease_for) break;
      wanted += first.wanted.limit;
      group.push_back(std::move(first));
    }
    waiters_.pop_front();
  }
  return group;
}

/// False: there is no more for anybody. Those who got nothing are back in front.
bool QueueWindow::serve(Waiters group) {
  Wanted all = group.front().wanted;
  all.limit = 0;
  for (const Waiter& each : group) all.limit += each.wanted.limit;
  const auto handed = fetch(all);
  if (!handed) {
    for (Waiter& each : group) each.exchange->send(problem_of(handed.error()));
    return true;
  }
  auto next = handed->begin();
  {
    const AnswersTogether at_once;
    while (!group.empty() && next != handed->end()) {
      Waiter& first = group.front();
      if (first.exchange->gone()) {  // left while the messages were fetched
        group.pop_front();
        continue;
      }
      const auto share = std::min<std::ptrdiff_t>(handed->end() - next,
                                                  static_cast<std::ptrdiff_t>(first.wanted.limit));
      first.exchange->send(first.render(Handed(next, next + share)));
      next += share;
      group.pop_front();
    }
  }
  take_back(Handed(next, handed->end()));
  if (group.empty()) return true;
  const std::lock_guard lock(mutex_);
  waiters_.insert(waiters_.begin(), std::make_move_iterator(group.begin()),
                  std::make_move_iterator(group.end()));
  return false;
}

/// Nobody is there for them any more: as if they had not been handed out, nothing is counted.
void QueueWindow::take_back(const Handed& unclaimed) {
  if (unclaimed.empty()) return;
  std::vector<PullSettlement> releases;
  for (const auto& each : unclaimed) releases.push_back({each.lease, PullReleased{}});
  // An error: their leases run out, which is late but loses nothing.
  if (settle_now(std::move(releases))) ring();
}

void QueueWindow::ring() {
  const std::lock_guard lock(mutex_);
  ++rings_;
}

bool QueueWindow::rang_since(std::uint64_t heard) {
  const std::lock_guard lock(mutex_);
  return rings_ != heard;
}

/// Whoever rings while others have taken those who wait finds nobody to serve: the others hear it
/// and look again, so that nothing lies there until the next tick.
void QueueWindow::wake() {
  ring();
  while (true) {
    std::uint64_t heard = 0;
    Waiters group = take_alike(heard);
    if (group.empty()) return;
    if (serve(std::move(group)) || rang_since(heard)) continue;
    answer_overdue();
    // While they were being served the keeper may have thought that nobody waits.
    if (somebody_waits()) parts_.somebody_waits();
    return;
  }
}

bool QueueWindow::somebody_waits() {
  const std::lock_guard lock(mutex_);
  return !waiters_.empty();
}

void QueueWindow::answer_overdue() {
  const TimePoint now = parts_.clock.now();
  std::vector<Waiter> over;
  {
    const std::lock_guard lock(mutex_);
    const auto ends = std::stable_partition(
        waiters_.begin(), waiters_.end(),
        [&](const Waiter& each) { return now < each.until && !each.exchange->gone(); });
    over.assign(std::make_move_iterator(ends), std::make_move_iterator(waiters_.end()));
    waiters_.erase(ends, waiters_.end());
  }
  for (Waiter& each : over) each.exchange->send(each.render({}));
}

bool QueueWindow::office_is_due(TimePoint now) {
  const std::lock_guard lock(mutex_);
  return now >= ask_office_at_;
}

bool QueueWindow::tick() {
  const Instant now = instant();
  if (queue_->may_have_some(now) || office_is_due(now.wall)) {
    wake();
  } else {
    answer_overdue();
  }
  return somebody_waits();
}

bool QueueWindow::bury_expired() {
  const std::shared_lock lock(retire_mutex_);
  return !retired_ && desk_.bury_expired();
}

void QueueWindow::tidy() {
  desk_.tidy();
  office_desk_.tidy();
}

bool QueueWindow::retire() {
  {
    const std::unique_lock lock(retire_mutex_);
    if (held() > 0) return false;
    retired_ = true;
  }
  tidy();
  close();
  return true;
}

void QueueWindow::close() {
  Waiters all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(waiters_);
  }
  for (Waiter& each : all) each.exchange->send(each.render({}));
}

void QueueWindow::give_all_back() {
  desk_.give_all_back();
  office_desk_.give_all_back();
}

}  // namespace dlo::api
