#include "conformance/broker/saboteur.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

namespace dlo::testing {
namespace {

class Saboteur final : public Broker, public QueueAdmin {
 public:
  Saboteur(Broker& inner, const Hooks& hooks) : inner_(inner), hooks_(hooks) {}

  Result<std::vector<Delivery>> receive(const ReceiveRequest& asked, Instant now) override {
    now = clock(now);
    if (hooks_.jump_back_hides && latest_ - now.wall > 1min) return std::vector<Delivery>{};
    auto request = asked;
    if (hooks_.request) hooks_.request(request);
    auto got = hooks_.first ? take_all_and_choose(request, now) : inner_.receive(request, now);
    if (!got) return got;
    if (hooks_.receive_error) {
      if (auto error = hooks_.receive_error(*got)) return *error;
    }
    if (hooks_.delivery) {
      for (auto& delivery : *got) hooks_.delivery(delivery);
    }
    if (hooks_.deliveries) hooks_.deliveries(*got);
    return got;
  }

  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override {
    if (hooks_.ignore_start) return std::vector<bool>(leases.size(), true);
    return inner_.start(leases, clock(now));
  }

  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override {
    now = clock(now);
    std::vector<Settlement> changed(settlements.begin(), settlements.end());
    if (hooks_.settlement) {
      for (auto& settlement : changed) hooks_.settlement(settlement, now.wall);
    }
    auto answers = inner_.settle(changed, now);
    if (answers && hooks_.settled) {
      for (auto& answer : *answers) hooks_.settled(answer);
    }
    return answers;
  }

  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override {
    if (hooks_.ignore_renew) return std::vector<bool>(leases.size(), true);
    if (hooks_.renewal) hooks_.renewal(lease_for);
    return inner_.renew(leases, clock(now), lease_for);
  }

  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override {
    now = clock(now);
    std::vector<Publication> changed(messages.begin(), messages.end());
    if (hooks_.publication) {
      for (auto& publication : changed) hooks_.publication(publication);
    }
    if (hooks_.publish_one_by_one && changed.size() > 1) {
      std::vector<PublishAnswer> answers;
      for (const auto& publication : changed) {
        auto one = inner_.publish({&publication, 1}, now);
        if (!one) return one;
        answers.push_back(one->at(0));
      }
      return answers;
    }
    auto answers = inner_.publish(changed, now);
    if (answers && hooks_.published) {
      for (auto& answer : *answers) hooks_.published(answer);
    }
    return answers;
  }

  Result<SourceStats> stats(Instant now) override {
    auto stats = inner_.stats(clock(now));
    if (stats && hooks_.stats) hooks_.stats(*stats);
    return stats;
  }

  QueueAdmin* admin() noexcept override { return this; }
  void close() noexcept override {
    if (!hooks_.ignore_close) inner_.close();
  }

  Result<void> pause() override {
    return hooks_.ignore_pause ? Result<void>{} : inner_.admin()->pause();
  }
  Result<void> resume() override { return inner_.admin()->resume(); }
  Result<std::uint64_t> purge() override {
    return hooks_.ignore_purge ? Result<std::uint64_t>{std::uint64_t{0}} : inner_.admin()->purge();
  }
  Result<std::vector<MessagePtr>> peek(std::size_t limit) override {
    if (hooks_.peek_claims) must(inner_.receive({limit, 1ms, 0ms}, clock(noon)));
    return inner_.admin()->peek(limit);
  }
  Result<void> free_key(const std::string& key) override {
    return hooks_.ignore_free_key ? Result<void>{} : inner_.admin()->free_key(key);
  }
  Result<std::vector<std::string>> held_keys(std::size_t skip, std::size_t limit) override {
    if (hooks_.hide_held_keys) return std::vector<std::string>();
    return inner_.admin()->held_keys(skip, limit);
  }
  Result<KeyHold> hold_on(const std::string& key) override { return inner_.admin()->hold_on(key); }

 private:
  Instant clock(Instant now) {
    const std::lock_guard lock(mutex_);
    const auto before = now.wall;
    if (hooks_.clock) hooks_.clock(now.wall, latest_);
    now.steady += now.wall - before;
    if (hooks_.leases_follow_the_wall) now.steady = now.wall;
    latest_ = std::max(latest_, now.wall);
    return now;
  }

  Result<std::vector<Delivery>> take_all_and_choose(const ReceiveRequest& request, Instant now) {
    auto all = inner_.receive({1'000'000, request.lease_for, request.wait}, now);
    if (!all) return all;
    std::stable_sort(all->begin(), all->end(), [&](const auto& a, const auto& b) {
      return hooks_.first(*a.message, *b.message);
    });
    while (all->size() > request.limit) {
      const Settlement back{all->back().lease, ReleasedUnrun{}};
      must(inner_.settle({&back, 1}, now));
      all->pop_back();
    }
    return all;
  }

  Broker& inner_;
  const Hooks& hooks_;
  std::mutex mutex_;
  TimePoint latest_ = TimePoint::min();
};

class SabotagedRig final : public Rig {
 public:
  SabotagedRig(std::unique_ptr<Rig> inner, const Hooks& hooks)
      : inner_(std::move(inner)), hooks_(hooks), saboteur_(inner_->broker(), hooks) {}
  Broker& broker() override { return saboteur_; }
  void restart(Restart how, TimePoint now) override {
    if (hooks_.restart_purges) must(inner_->broker().admin()->purge());
    if (!hooks_.ignore_restart) inner_->restart(how, now);
  }
  void put_undecodable(const std::string& bytes, TimePoint now) override {
    inner_->put_undecodable(bytes, now);
  }

 private:
  std::unique_ptr<Rig> inner_;
  const Hooks& hooks_;
  Saboteur saboteur_;
};

}  // namespace

BrokerBackend sabotaged(BrokerBackend inner, const Sabotage& sabotage) {
  auto make = inner.make_empty;
  inner.make_empty = [make, &sabotage](const SourceOptions& asked) {
    auto options = asked;
    if (sabotage.hooks.options) sabotage.hooks.options(options);
    return std::make_unique<SabotagedRig>(make(options), sabotage.hooks);
  };
  return inner;
}

BrokerBackend as_asked(BrokerBackend backend) {
  const char* asked = std::getenv(sabotage_variable);
  if (asked == nullptr) return backend;
  for (const auto& sabotage : sabotages()) {
    if (sabotage.name == asked) return sabotaged(std::move(backend), sabotage);
  }
  throw std::runtime_error(std::string(sabotage_variable) + " names no sabotage: " + asked);
}

}  // namespace dlo::testing
