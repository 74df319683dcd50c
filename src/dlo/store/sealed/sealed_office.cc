#include "dlo/store/sealed/sealed_office.h"

#include <utility>

#include "dlo/store/rules.h"
#include "dlo/store/sealed/sealed_query.h"

namespace dlo {

class SealedOffice::Books final : public Ledger, public PoisonBook {
 public:
  Books(OfficeExtras inner, const Sealer& sealer) : inner_(inner), sealer_(sealer) {}

  Result<std::optional<Document>> document(const std::string& kind,
                                           const std::string& key) override {
    auto found = inner_.ledger->document(kind, key);
    if (!found || !*found) return found;
    if (auto done = open_document(sealer_, kind, **found); !done) return done.error();
    return found;
  }
  Result<std::vector<Document>> documents(const std::string& kind, const std::string& after,
                                          std::size_t limit) override {
    auto found = inner_.ledger->documents(kind, after, limit);
    if (!found) return found;
    for (Document& document : *found) {
      if (auto done = open_document(sealer_, kind, document); !done) return done.error();
    }
    return found;
  }
  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit) override {
    return inner_.ledger->audit(after, limit);
  }

  Result<std::vector<PoisonItem>> list(const PoisonQuery& query) override {
    return inner_.poison->list(query);
  }
  Result<std::optional<PoisonDetail>> get(PoisonKind kind, std::int64_t poison_id) override {
    auto found = inner_.poison->get(kind, poison_id);
    if (!found || !*found) return found;
    auto message = opened(sealer_, (*found)->item.record, (*found)->work_item);
    if (!message) return message.error();
    (*found)->work_item = std::move(*message);
    return found;
  }
  Result<std::uint64_t> count(PoisonKind kind) override { return inner_.poison->count(kind); }

  [[nodiscard]] OfficeExtras extras() noexcept {
    OfficeExtras out;
    if (inner_.ledger != nullptr) out.ledger = this;
    if (inner_.poison != nullptr) out.poison = this;
    return out;
  }

 private:
  OfficeExtras inner_;
  const Sealer& sealer_;
};

SealedOffice::SealedOffice(std::shared_ptr<Office> inner, std::shared_ptr<const Sealer> sealer,
                           std::vector<FieldPath> indexed)
    : owned_(std::move(inner)),
      owned_sealer_(std::move(sealer)),
      inner_(*owned_),
      sealer_(*owned_sealer_),
      indexed_(std::move(indexed)),
      books_(std::make_unique<Books>(inner_.extras(), sealer_)) {}
SealedOffice::~SealedOffice() = default;

Result<std::vector<Applied>> SealedOffice::apply(std::span<const Change> changes) {
  std::vector<Change> kept;
  kept.reserve(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto change = sealed({sealer_, indexed_}, changes[i]);
    if (!change) return at_place(change.error(), i, changes.size(), changes[i]);
    kept.push_back(std::move(*change));
  }
  return inner_.apply(kept);
}

Result<RecordDetail> SealedOffice::get(const RecordId& id) {
  auto detail = inner_.get(id);
  if (!detail) return detail;
  if (auto done = open_detail(sealer_, *detail); !done) return done.error();
  return detail;
}

Result<Page> SealedOffice::list(const Query& query) {
  if (auto fine = check(query); !fine) return fine.error();
  const auto asked = sealed_query({sealer_, indexed_}, query);
  if (!asked) return asked.error();
  return inner_.list(*asked);
}

Result<Aggregate> SealedOffice::aggregate(const AggregateRequest& request) {
  return inner_.aggregate(request);
}

Result<void> SealedOffice::put_aside(const Claim& claim, const Error& why, TimePoint now) {
  Transition aside;
  aside.id = claim.record.id;
  aside.lease = claim.lease;
  aside.to = Status::pending;
  aside.now = now;
  aside.clear_next_retry = true;
  aside.description = why.detail;
  const Change change = aside;
  const auto done = inner_.apply({&change, 1});
  if (!done) return done.error();
  return {};
}

Result<std::vector<Claim>> SealedOffice::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                               const ClaimFrom& from) {
  auto claims = inner_.claim(limit, now, lease_for, from);
  if (!claims) return claims;
  std::vector<Claim> out;
  out.reserve(claims->size());
  for (Claim& each : *claims) {
    const auto done = open_record(sealer_, each.record);
    if (done) {
      out.push_back(std::move(each));
    } else if (auto aside = put_aside(each, done.error(), now); !aside) {
      return aside.error();
    }
  }
  return out;
}

Result<std::vector<bool>> SealedOffice::renew(std::span<const LeaseToken> leases, TimePoint now,
                                              Millis lease_for) {
  return inner_.renew(leases, now, lease_for);
}

Result<std::vector<ChangeNote>> SealedOffice::changes_since(std::uint64_t after,
                                                            std::size_t limit) {
  return inner_.changes_since(after, limit);
}

OfficeExtras SealedOffice::extras() noexcept {
  return books_->extras();
}

}  // namespace dlo
