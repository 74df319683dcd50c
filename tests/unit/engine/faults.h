#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/store/office.h"

namespace dlo::testing {

/// Decides before each call whether it fails, and how. `after`: the effect happens, the answer is
/// lost.
struct Fault {
  Error error;
  bool after = false;
};
using Chaos = std::function<std::optional<Fault>(const char* call)>;
/// Looks at what is about to be written, and may refuse it.
using Look = std::function<std::optional<Error>(std::span<const Change>)>;

inline Error down(const char* where) {
  return {Code::unavailable, where, "the network cable is out; plug it in"};
}

/// An office between the engine and the true one that fails when told to.
class FlakyOffice final : public Office {
 public:
  FlakyOffice(Office& office, Chaos chaos) : office_(office), chaos_(std::move(chaos)) {}
  FlakyOffice(Office& office, Look look)
      : office_(office),
        chaos_([](const char* /*call*/) { return std::nullopt; }),
        look_(std::move(look)) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (look_) {
      if (auto refused = look_(changes)) return *refused;
    }
    return with<std::vector<Applied>>("apply", [&] { return office_.apply(changes); });
  }
  Result<RecordDetail> get(const RecordId& id) override {
    return with<RecordDetail>("get", [&] { return office_.get(id); });
  }
  Result<Page> list(const Query& query) override {
    return with<Page>("list", [&] { return office_.list(query); });
  }
  Result<Aggregate> aggregate(const AggregateRequest& request) override {
    return with<Aggregate>("aggregate", [&] { return office_.aggregate(request); });
  }
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override {
    return with<std::vector<Claim>>("claim",
                                    [&] { return office_.claim(limit, now, lease_for, from); });
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override {
    return with<std::vector<bool>>("renew", [&] { return office_.renew(leases, now, lease_for); });
  }
  Result<std::vector<ChangeNote>> changes_since(std::uint64_t after, std::size_t limit) override {
    return with<std::vector<ChangeNote>>("changes_since",
                                         [&] { return office_.changes_since(after, limit); });
  }
  OfficeExtras extras() noexcept override { return office_.extras(); }

 private:
  template <typename T, typename Call>
  Result<T> with(const char* name, Call call) {
    const auto fault = chaos_(name);
    if (fault && !fault->after) return fault->error;
    Result<T> result = call();
    if (fault) return fault->error;
    return result;
  }
  Office& office_;
  Chaos chaos_;
  Look look_;
};

/// The same for a broker.
class FlakyBroker final : public Broker {
 public:
  FlakyBroker(Broker& broker, Chaos chaos) : broker_(broker), chaos_(std::move(chaos)) {}

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override {
    return with<std::vector<Delivery>>("receive", [&] { return broker_.receive(request, now); });
  }
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override {
    return with<std::vector<bool>>("start", [&] { return broker_.start(leases, now); });
  }
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override {
    return with<std::vector<SettleAnswer>>("settle",
                                           [&] { return broker_.settle(settlements, now); });
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override {
    return with<std::vector<bool>>("renew", [&] { return broker_.renew(leases, now, lease_for); });
  }
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override {
    return with<std::vector<PublishAnswer>>("publish",
                                            [&] { return broker_.publish(messages, now); });
  }
  Result<SourceStats> stats(Instant now) override { return broker_.stats(now); }
  void close() noexcept override { broker_.close(); }

 private:
  template <typename T, typename Call>
  Result<T> with(const char* name, Call call) {
    const auto fault = chaos_(name);
    if (fault && !fault->after) return fault->error;
    Result<T> result = call();
    if (fault) return fault->error;
    return result;
  }
  Broker& broker_;
  Chaos chaos_;
};

}  // namespace dlo::testing
