#include "dlo/broker/rabbitmq/ack_window.h"

#include <algorithm>

namespace dlo::rabbitmq {

void AckWindow::clear() {
  *this = AckWindow();
}

std::size_t AckWindow::find(std::uint64_t tag) const noexcept {
  if (out_.empty() || tag < out_.front().tag) return out_.size();
  // A server leaves no number out, so it is where it has to be.
  const std::size_t likely = tag - out_.front().tag;
  if (likely < out_.size() && out_[likely].tag == tag) return likely;
  const auto found = std::ranges::lower_bound(out_, tag, {}, &Out::tag);
  if (found == out_.end() || found->tag != tag) return out_.size();
  return static_cast<std::size_t>(found - out_.begin());
}

bool AckWindow::is_done(std::uint64_t tag) const noexcept {
  const std::size_t place = find(tag);
  return place < out_.size() && out_[place].state == State::done;
}

void AckWindow::came(std::uint64_t tag) {
  if (!out_.empty() && tag <= out_.back().tag) return;
  out_.push_back({tag, State::open});
  ++open_;
}

/// Those at the front that are not open any more.
void AckWindow::advance() {
  for (; reached_ < out_.size() && out_[reached_].state != State::open; ++reached_) {
    if (out_[reached_].state == State::done) ++in_front_;
  }
}

void AckWindow::done(std::uint64_t tag, Moment now) {
  const std::size_t place = find(tag);
  if (place == out_.size() || out_[place].state != State::open) return;
  out_[place].state = State::done;
  --open_;
  ++waiting_;
  order_.emplace_back(tag, now);
  advance();
}

void AckWindow::gone(std::uint64_t tag) {
  const std::size_t place = find(tag);
  if (place == out_.size() || out_[place].state == State::gone) return;
  if (out_[place].state == State::open) {
    --open_;
  } else {
    --waiting_;
    if (place < reached_) --in_front_;
  }
  out_[place].state = State::gone;
  advance();
}

std::optional<AckWindow::Moment> AckWindow::oldest() {
  while (!order_.empty() && !is_done(order_.front().first)) order_.pop_front();
  if (order_.empty()) return std::nullopt;
  return order_.front().second;
}

std::optional<std::uint64_t> AckWindow::take_front() {
  std::optional<std::uint64_t> last;
  for (; reached_ > 0; --reached_) {
    if (out_.front().state == State::done) last = out_.front().tag;
    out_.pop_front();
  }
  waiting_ -= in_front_;
  in_front_ = 0;
  if (waiting_ == 0) order_.clear();
  return last;
}

std::vector<std::uint64_t> AckWindow::take_rest() {
  std::vector<std::uint64_t> rest;
  for (const auto& [tag, since] : order_) {
    if (!is_done(tag)) continue;
    rest.push_back(tag);
    gone(tag);
  }
  order_.clear();
  std::ranges::sort(rest);
  return rest;
}

}  // namespace dlo::rabbitmq
