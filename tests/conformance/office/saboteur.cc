#include "conformance/office/saboteur.h"

#include <utility>

#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {
namespace {

template <typename T, typename Hook>
Result<T> after(Result<T> answer, const Hook& hook) {
  if (answer && hook) hook(*answer);
  return answer;
}

class SabotagedOffice final : public Office, private Ledger, private PoisonBook {
 public:
  SabotagedOffice(Office& good, const Hooks& hooks) : good_(good), hooks_(hooks) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    std::vector<Change> list(changes.begin(), changes.end());
    if (hooks_.changes) hooks_.changes(list);
    return after(hooks_.apply ? hooks_.apply(good_, list) : good_.apply(list), hooks_.applied);
  }
  Result<RecordDetail> get(const RecordId& id) override {
    return after(good_.get(id), hooks_.detail);
  }
  Result<Page> list(const Query& query) override {
    Query asked = query;
    if (hooks_.query) hooks_.query(asked);
    auto page = good_.list(asked);
    if (page && hooks_.page) hooks_.page(query, *page);
    return page;
  }
  Result<Aggregate> aggregate(const AggregateRequest& request) override {
    AggregateRequest asked = request;
    if (hooks_.request) hooks_.request(asked);
    return after(good_.aggregate(asked), hooks_.numbers);
  }
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override {
    Hooks::ClaimRequest asked{limit, now, lease_for, from};
    if (hooks_.claim) hooks_.claim(asked);
    return after(good_.claim(asked.limit, asked.now, asked.lease_for, asked.from), hooks_.claims);
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override {
    if (hooks_.renew) return hooks_.renew(good_, leases);
    return good_.renew(leases, now, lease_for);
  }
  Result<std::vector<ChangeNote>> changes_since(std::uint64_t number, std::size_t limit) override {
    return after(good_.changes_since(number, limit), hooks_.notes);
  }
  OfficeExtras extras() noexcept override { return {this, this}; }

 private:
  Result<std::optional<Document>> document(const std::string& kind,
                                           const std::string& key) override {
    auto found = good_.extras().ledger->document(kind, key);
    if (found && *found && hooks_.documents) {
      std::vector<Document> one = {**found};
      hooks_.documents(one);
      if (one.empty()) return std::optional<Document>{};
      return std::optional<Document>(one.front());
    }
    return found;
  }
  Result<std::vector<Document>> documents(const std::string& kind, const std::string& key,
                                          std::size_t limit) override {
    return after(good_.extras().ledger->documents(kind, key, limit), hooks_.documents);
  }
  Result<std::vector<AuditEntry>> audit(std::uint64_t number, std::size_t limit) override {
    return after(good_.extras().ledger->audit(number, limit), hooks_.audit);
  }
  Result<std::vector<PoisonItem>> list(const PoisonQuery& query) override {
    PoisonQuery asked = query;
    if (hooks_.poison) hooks_.poison(asked);
    return after(good_.extras().poison->list(asked), hooks_.poisoned);
  }
  Result<std::optional<PoisonDetail>> get(PoisonKind kind, std::int64_t poison_id) override {
    PoisonQuery asked{.kind = kind};
    if (hooks_.poison) hooks_.poison(asked);
    return good_.extras().poison->get(asked.kind, poison_id);
  }
  Result<std::uint64_t> count(PoisonKind kind) override {
    PoisonQuery asked{.kind = kind};
    if (hooks_.poison) hooks_.poison(asked);
    return good_.extras().poison->count(asked.kind);
  }

  Office& good_;
  const Hooks& hooks_;
};

class SabotagedUnderTest final : public OfficeUnderTest {
 public:
  explicit SabotagedUnderTest(Hooks hooks) : hooks_(std::move(hooks)) { reopen_empty(); }
  Office& office() override { return *bad_; }
  /// A good office survives a restart of this pretence by simply staying where it is.
  void reopen() override {
    if (hooks_.forgets_on_restart) reopen_empty();
  }

 private:
  void reopen_empty() {
    auto good = std::make_unique<MemoryOffice>();
    bad_ = std::make_unique<SabotagedOffice>(*good, hooks_);
    good_ = std::move(good);
  }
  Hooks hooks_;
  std::unique_ptr<Office> good_;
  std::unique_ptr<Office> bad_;
};

}  // namespace

std::unique_ptr<OfficeUnderTest> sabotaged(Hooks hooks) {
  return std::make_unique<SabotagedUnderTest>(std::move(hooks));
}

std::vector<Sabotage> sabotages() {
  std::vector<Sabotage> all;
  for (auto table : {sabotages_of_writing(), sabotages_of_leases(), sabotages_of_reading(),
                     sabotages_of_groups(), sabotages_of_odd_cases()}) {
    for (Sabotage& row : table) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace dlo::testing
