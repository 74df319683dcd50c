#include "dlo/outbox/relay.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlo {

using outbox::FailedRow;
using outbox::Failures;
using outbox::Judgement;
using outbox::Post;
using outbox::Row;

namespace {

constexpr Millis first_rest{100};
constexpr Millis longest_rest{5'000};

/// In company, such an error may be that of a neighbour: the server closes the channel on all.
bool may_be_a_neighbours(const Error& error, bool one_target) {
  switch (error.code) {
    case Code::full:
    case Code::disk_full:
      return false;
    case Code::not_found:
      return !one_target;
    case Code::lease_lost:
    case Code::conflict:
    case Code::invalid_argument:
    case Code::refused:
    case Code::corrupt:
    case Code::unavailable:
    case Code::timed_out:
      return true;
  }
  return true;
}

}  // namespace

std::string_view name_of(RelayState state) noexcept {
  switch (state) {
    case RelayState::starting:
      return "starting";
    case RelayState::relaying:
      return "relaying";
    case RelayState::standby:
      return "standby";
    case RelayState::database_down:
      return "database_down";
    case RelayState::broker_down:
      return "broker_down";
    case RelayState::office_down:
      return "office_down";
    case RelayState::stopped:
      return "stopped";
  }
  return "stopped";
}

Relay::Relay(RelayOptions options, Parts parts)
    : options_(std::move(options)),
      office_(parts.office),
      clock_(parts.clock),
      send_(std::move(parts.send)),
      together_(std::move(parts.together)),
      told_(std::move(parts.told)),
      table_(options_.address, options_.shape, options_.name,
             std::max(outbox::Table::usual_silence, options_.poll * 3)),
      judge_(office_, parts.rules, std::move(parts.origin), options_.name, table_.place()),
      notes_(office_, options_.name) {}

Relay::~Relay() {
  stop();
}

void Relay::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Relay::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  const std::lock_guard lock(mutex_);
  status_.state = RelayState::stopped;
}

void Relay::use(outbox::RulesFor rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

RelayStatus Relay::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Relay::became(RelayState state, std::string trouble) {
  RelayStatus now;
  {
    const std::lock_guard lock(mutex_);
    const bool same = status_.state == state && status_.trouble.empty() == trouble.empty();
    status_.state = state;
    status_.trouble = std::move(trouble);
    status_.waiting = resting_.size();
    status_.share = table_.share();
    if (same) return;
    now = status_;
  }
  if (told_) told_(now);
}

void Relay::rest(Millis time, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, time, [] { return false; });
}

Millis Relay::until_next() const {
  const auto next = resting_.next();
  if (!next) return options_.poll;
  return std::clamp(*next - clock_.now(), Millis{1}, options_.poll);
}

void Relay::run(const std::stop_token& stop) {
  Millis pause = first_rest;
  while (!stop.stop_requested()) {
    const After after = round(stop);
    if (after != After::trouble) pause = first_rest;
    if (after == After::idle) rest(until_next(), stop);
    if (after == After::trouble) {
      rest(pause, stop);
      pause = std::min(pause * 2, longest_rest);
    }
  }
}

Relay::After Relay::round(const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    if (rules_) judge_.use(std::move(*rules_));
    rules_.reset();
  }
  try {
    return relay(stop);
  } catch (const postgres::Failed& failed) {
    notes_share_ = 0;  // whoever had its buckets meanwhile knows more
    if (!stop.stop_requested()) became(RelayState::database_down, failed.error.detail);
    return After::trouble;
  }
}

Relay::After Relay::relay(const std::stop_token& stop) {
  office_trouble_.clear();
  broker_trouble_.reset();
  table_.prepare(std::chrono::steady_clock::now());
  load_notes();
  flush();
  if (table_.share() == 0) {
    became(RelayState::standby, "");
    return After::idle;
  }
  const TimePoint now = clock_.now();
  resting_.wake(now);
  Batch batch;
  batch.rows = table_.read(wanted(now));
  sort_out(batch, now);
  (void)send_all(batch, stop);
  flush();
  if (broker_trouble_) {
    became(RelayState::broker_down, broker_trouble_->detail);
    return After::trouble;
  }
  if (!office_trouble_.empty()) {
    became(RelayState::office_down, office_trouble_);
    return batch.to_send.empty() ? After::trouble : After::more;
  }
  became(RelayState::relaying, "");
  return batch.rows.empty() ? After::idle : After::more;
}

outbox::Wanted Relay::wanted(TimePoint now) const {
  outbox::Wanted wanted;
  wanted.except_ids = resting_.ids();
  wanted.except_keys = resting_.keys();
  wanted.except_ids.insert(wanted.except_ids.end(), stuck_.begin(), stuck_.end());
  for (const Death& each : deaths_) {
    wanted.except_ids.push_back(each.row.id);
    if (!each.row.key.empty()) wanted.except_keys.push_back(each.row.key);
  }
  for (const Marked& each : marked_) wanted.except_ids.push_back(each.id);
  wanted.rows = options_.batch;
  wanted.bytes = options_.batch_bytes;
  wanted.now = now;
  return wanted;
}

/// What the table has no column for, or could not be told.
void Relay::recall(Row& row) const {
  const Failures* known = resting_.find(row.id);
  if (known == nullptr) return;
  Failures& read = row.failures;
  if (known->attempts < read.attempts) return;  // somebody else went on with it
  read.attempts = known->attempts;
  if (!read.due) read.due = known->due;
  if (!read.first_attempt_at) read.first_attempt_at = known->first_attempt_at;
  read.last_error = known->last_error;
  if (read.trail.empty()) read.trail = known->trail;
}

void Relay::sort_out(Batch& batch, TimePoint now) {
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    Row& row = batch.rows[i];
    if (batch.held.contains(row.key)) continue;
    recall(row);
    if (row.failures.due && *row.failures.due > now) {
      resting_.rest(row.id, row.key, row.failures);
      if (!row.key.empty()) batch.held.insert(row.key);
      continue;
    }
    Judgement judgement = judge_.before(row, now);
    if (judgement.what == Judgement::What::send) {
      batch.to_send.push_back(i);
    } else {
      carry_out(batch, row, std::move(judgement));
    }
  }
}

void Relay::carry_out(Batch& batch, const Row& row, Judgement judgement) {
  if (!row.key.empty()) batch.held.insert(row.key);
  if (judgement.trouble) office_trouble_ = judgement.trouble->detail;
  switch (judgement.what) {
    case Judgement::What::send:
      return;
    case Judgement::What::later:
      resting_.rest(row.id, row.key, judgement.failures);
      if (!judgement.trouble) unwritten_.push_back({row.id, row.key, judgement.failures});
      return;
    case Judgement::What::known:
      marked_.push_back({row.id, {judgement.record->id, judgement.record->occurrence}, true});
      return;
    case Judgement::What::dead:
    case Judgement::What::drop:
      deaths_.push_back({row, std::move(judgement), false});
      return;
  }
}

/// Waves: of each key the first that is left, and all that have none. The next of a key goes out
/// when the one before it has arrived, so a row that fails is never overtaken.
bool Relay::send_all(Batch& batch, const std::stop_token& stop) {
  std::vector<std::size_t> open = batch.to_send;
  while (!open.empty() && !stop.stop_requested()) {
    table_.be_sure(std::chrono::steady_clock::now());
    std::vector<std::size_t> wave;
    std::vector<std::size_t> later;
    std::set<std::string_view> keys;
    for (const std::size_t i : open) {
      const std::string& key = batch.rows[i].key;
      if (batch.held.contains(key)) continue;
      (key.empty() || keys.insert(key).second ? wave : later).push_back(i);
    }
    if (!wave.empty() && !send_wave(batch, wave)) return false;
    open = std::move(later);
  }
  return true;
}

bool Relay::send_wave(Batch& batch, const std::vector<std::size_t>& wave) {
  std::vector<Post> posts;
  bool one_target = true;
  for (const std::size_t i : wave) {
    posts.push_back({target_of(options_.to, batch.rows[i]), batch.rows[i].message});
    one_target = one_target && posts.back().target == posts.front().target;
  }
  const TimePoint started = clock_.now();
  const auto sent = send_(posts, clock_.instant());
  if (!sent) {
    broker_trouble_ = sent.error();
    return false;
  }
  std::vector<std::size_t> alone;
  for (std::size_t i = 0; i < wave.size(); ++i) {
    const Row& row = batch.rows[wave[i]];
    const std::optional<Error>& error = (*sent)[i];
    if (!error) {
      arrived(row);
    } else if (wave.size() > 1 && may_be_a_neighbours(*error, one_target)) {
      alone.push_back(wave[i]);
    } else {
      failed(batch, row, *error, started);
    }
  }
  for (const std::size_t i : alone) {
    if (!send_alone(batch, batch.rows[i])) return false;
  }
  return true;
}

bool Relay::send_alone(Batch& batch, const Row& row) {
  const Post post{target_of(options_.to, row), row.message};
  const TimePoint started = clock_.now();
  const auto sent = send_({&post, 1}, clock_.instant());
  if (!sent) {
    broker_trouble_ = sent.error();
    return false;
  }
  if (const auto& error = sent->front()) {
    failed(batch, row, *error, started);
  } else {
    arrived(row);
  }
  return true;
}

void Relay::arrived(const Row& row) {
  done_.push_back(row.id);
  resting_.forget(row.id);
  if (noted_.erase(row.id) > 0) done_notes_.push_back(row.id);
  const std::lock_guard lock(mutex_);
  ++status_.published;
  status_.last_at = clock_.now();
}

void Relay::failed(Batch& batch, const Row& row, const Error& error, TimePoint started) {
  {
    const std::lock_guard lock(mutex_);
    ++status_.failures;
  }
  carry_out(batch, row, judge_.after(row, error, started, clock_.now()));
}

}  // namespace dlo
