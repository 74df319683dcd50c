#include "dlo/store/postgres/postgres_office.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "dlo/postgres/link.h"
#include "dlo/store/poison_book.h"
#include "dlo/store/postgres/escorts.h"
#include "dlo/store/postgres/lister.h"
#include "dlo/store/postgres/reading.h"
#include "dlo/store/postgres/schema.h"
#include "dlo/store/postgres/seat.h"
#include "dlo/store/postgres/session.h"
#include "dlo/store/postgres/upkeep.h"
#include "dlo/store/sql/applier.h"
#include "dlo/store/sql/writer.h"

namespace dlo {
namespace {

using namespace postgres;  // NOLINT: this file is the seam's side of that namespace
using Task = sql::GroupTask<Session>;
using Writer = sql::GroupWriter<Session>;
using PreparedList = sql::PreparedList<Session>;

Error at(const char* where, Error error) {
  error.where = where;
  return error;
}

/// Runs `body` and turns what it throws into a value, labelled with the method it ended.
template <typename Body>
auto guarded(const char* where, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Failed& failed) {
    return at(where, failed.error);
  } catch (const sql::Failed& failed) {
    return at(where, failed.error);
  } catch (const std::bad_alloc&) {
    return Error{Code::full, where,
                 "not enough memory for this call; nothing was changed; ask for less at once"};
  }
}

template <typename Run, typename Announce>
class FunctionTask final : public Task {
 public:
  FunctionTask(std::size_t bytes, bool may_half_fail, Run run, Announce announce)
      : Task(bytes, may_half_fail), run_(std::move(run)), announce_(std::move(announce)) {}
  Result<void> run(Session& session) override {
    return translating([&] { return run_(session); });
  }
  void announce(Session& session) override { announce_(session); }

 private:
  Run run_;
  Announce announce_;
};

Error read_only_refusal(const char* where) {
  return {Code::refused, where,
          "this office was opened read-only; nothing was changed; act through a program that may "
          "write to it"};
}

Error leased_in_vain(std::size_t records, const Error& error) {
  return {error.code, error.where,
          std::to_string(records) +
              " records were leased but could not be read; they are due again when their leases "
              "end; reading them: " +
              error.detail};
}

}  // namespace

struct PostgresOffice::State final : Ledger, PoisonBook {
  State(const std::string& address, const PostgresOptions& options)
      : settings(session_settings(options.schema)),
        escorts(options.escorts),
        readers(address, settings, std::max<std::size_t>(options.readers, 1)) {}

  std::string settings;
  std::shared_ptr<const Escorts> escorts;
  std::string place;
  Pool readers;
  std::optional<Session> session;
  std::optional<Writer> writer;  // stops before them
  std::optional<Upkeep> upkeep;

  template <typename Run, typename Announce>
  Result<void> write(const char* where, std::size_t bytes, bool may_half_fail, Run run,
                     Announce announce) {
    if (!writer) return read_only_refusal(where);
    FunctionTask<Run, Announce> task(bytes, may_half_fail, std::move(run), std::move(announce));
    auto written = writer->write(task);
    if (!written) return at(where, written.error());
    return written;
  }

  /// Asks with one of the readers' connections. One that was lost while it rested says nothing of
  /// the server: a fresh one is tried once.
  template <typename Body>
  auto read(const char* where, const Body& body) -> decltype(body(std::declval<Connection&>())) {
    return guarded(where, [&]() -> decltype(body(std::declval<Connection&>())) {
      Pool::Turn turn(readers);
      try {
        return body(turn.connection());
      } catch (const Failed& failed) {
        if (failed.trouble != Trouble::lost) throw;
        turn.drop();
      }
      return body(turn.connection());
    });
  }

  Result<std::optional<Document>> document(const std::string& kind,
                                           const std::string& key) override {
    return read("postgres.document", [&](Connection& db) -> Result<std::optional<Document>> {
      return read_document(db, kind, key);
    });
  }
  Result<std::vector<Document>> documents(const std::string& kind, const std::string& after,
                                          std::size_t limit) override {
    return read("postgres.documents", [&](Connection& db) -> Result<std::vector<Document>> {
      return read_documents(db, kind, after, limit);
    });
  }
  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit) override {
    return read("postgres.audit", [&](Connection& db) -> Result<std::vector<AuditEntry>> {
      return read_audit(db, after, limit);
    });
  }
  Result<std::vector<PoisonItem>> list(const PoisonQuery& query) override {
    return read("postgres.poison", [&](Connection& db) -> Result<std::vector<PoisonItem>> {
      return read_poison(db, query);
    });
  }
  Result<std::optional<PoisonDetail>> get(PoisonKind kind, std::int64_t poison_id) override {
    return read("postgres.poison", [&](Connection& db) -> Result<std::optional<PoisonDetail>> {
      return read_poison(db, kind, poison_id);
    });
  }
  Result<std::uint64_t> count(PoisonKind kind) override {
    return read("postgres.poison",
                [&](Connection& db) -> Result<std::uint64_t> { return count_poison(db, kind); });
  }
};

PostgresOffice::PostgresOffice(std::unique_ptr<State> state) : state_(std::move(state)) {}
PostgresOffice::~PostgresOffice() = default;
OfficeExtras PostgresOffice::extras() noexcept {
  return {state_.get(), state_.get()};
}
const std::string& PostgresOffice::place() const noexcept {
  return state_->place;
}
std::uint64_t PostgresOffice::commits() const noexcept {
  return state_->writer ? state_->writer->commits() : 0;
}

Result<std::unique_ptr<PostgresOffice>> PostgresOffice::open(const std::string& address,
                                                             PostgresOptions options) {
  using Opened = Result<std::unique_ptr<PostgresOffice>>;
  if (auto fine = check_address(address); !fine) return fine.error();
  if (auto fine = check_schema_name(options.schema); !fine) return fine.error();
  return guarded("postgres.open", [&]() -> Opened {
    auto state = std::make_unique<State>(address, options);
    Link::Greet greet;
    if (!options.serves_as.empty() && !options.read_only) {
      greet = [seat = Seat(options.schema, options.serves_as)](Connection& connection) mutable {
        seat.take(connection);
      };
    }
    Link link(address, state->settings, std::move(greet));
    state->place = "schema '" + options.schema + "' of " + link.use().place();
    if (options.read_only) {
      require_current(link.use(), options.schema, office_migrations());
      return std::unique_ptr<PostgresOffice>(new PostgresOffice(std::move(state)));
    }
    migrate(link.use(), options.schema, office_migrations());
    std::sort(options.unsearched_payloads.begin(), options.unsearched_payloads.end());
    state->session.emplace(
        std::move(link), options.schema,
        [unsearched = std::move(options.unsearched_payloads),
         index = options.index_payloads](const std::string& source) {
          return index && !std::binary_search(unsearched.begin(), unsearched.end(), source);
        },
        options.hints_as);
    state->writer.emplace(*state->session);
    state->upkeep.emplace(address, state->settings, options.schema);
    return std::unique_ptr<PostgresOffice>(new PostgresOffice(std::move(state)));
  });
}

Result<std::vector<Applied>> PostgresOffice::apply(std::span<const Change> changes) {
  return guarded("postgres.apply", [&]() -> Result<std::vector<Applied>> {
    const auto list = sql::prepare_list<Session>(changes);
    if (!list) return list.error();
    std::vector<Escorts::Run> escorts;
    if (state_->escorts) escorts = state_->escorts->of(changes);
    std::vector<Applied> answers;
    const auto run = [&](Session& session) -> Result<void> {
      auto applied = sql::carry_out(session, *list);
      if (!applied) return applied.error();
      for (const Escorts::Run& escort : escorts) escort(session.connection());
      answers = std::move(*applied);
      return {};
    };
    const auto announce = [&](Session& session) {
      for (const Change& change : changes) session.expect(change);
    };
    const auto written = state_->write("postgres.apply", list->bytes,
                                       changes.size() > 1 || !escorts.empty(), run, announce);
    if (!written) return written.error();
    state_->upkeep->wake();
    return answers;
  });
}

Result<RecordDetail> PostgresOffice::get(const RecordId& id) {
  return state_->read("postgres.get", [&](Connection& db) -> Result<RecordDetail> {
    auto detail = read_record(db, id);
    if (!detail) {
      return Error{Code::not_found, "postgres.get", "there is no record " + to_string(id)};
    }
    return std::move(*detail);
  });
}

Result<Page> PostgresOffice::list(const Query& query) {
  if (auto fine = check(query); !fine) return fine.error();
  if (query.after && query.after->walk != Walk::by_death) return foreign_cursor(*query.after);
  return state_->read("postgres.list", [&](Connection& db) -> Result<Page> {
    const Query expanded =
        with_strands(query, [&](const Id128& id) { return read_strands(db, id); });
    return Lister(db, expanded).list();
  });
}

Result<Aggregate> PostgresOffice::aggregate(const AggregateRequest& request) {
  return state_->read("postgres.aggregate", [&](Connection& db) -> Result<Aggregate> {
    return read_aggregate(db, request);
  });
}

Result<std::vector<Claim>> PostgresOffice::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                                 const ClaimFrom& from) {
  if (auto fine = check_lease_for(lease_for); !fine) return fine.error();
  std::vector<sql::Leased> leased;
  const auto run = [&](Session& session) -> Result<void> {
    leased = sql::lease_due(session, limit, now, lease_for, from);
    return {};
  };
  const auto written = state_->write("postgres.claim", limit * 64, false, run, [](Session&) {});
  if (!written) return written.error();
  if (leased.empty()) return std::vector<Claim>{};
  auto claims = state_->read("postgres.claim", [&](Connection& db) -> Result<std::vector<Claim>> {
    std::vector<sql::Head> heads;
    std::vector<Status> was;
    for (const sql::Leased& one : leased) heads.push_back(one.head);
    std::unordered_map<RecordId, Status> before;
    for (const sql::Leased& one : leased) before[one.head.record.id] = one.was;
    std::vector<Claim> found;
    for (sql::Head& head : complete(db, std::move(heads))) {
      const Status status = before[head.record.id];
      head.record.status = status;
      found.push_back({head.lease->token, head.lease->until, std::move(head.record), status});
    }
    return found;
  });
  if (!claims) return leased_in_vain(leased.size(), claims.error());
  return claims;
}

Result<std::vector<bool>> PostgresOffice::renew(std::span<const LeaseToken> leases, TimePoint now,
                                                Millis lease_for) {
  if (auto fine = check_lease_for(lease_for); !fine) return fine.error();
  std::vector<bool> answers;
  const auto run = [&](Session& session) -> Result<void> {
    answers = sql::renew_leases(session, leases, now, lease_for);
    return {};
  };
  const auto announce = [&](Session& session) {
    for (const LeaseToken& token : leases) {
      session.expect_number(static_cast<std::int64_t>(token.low));
    }
  };
  const auto written = state_->write("postgres.renew", leases.size() * 64, false, run, announce);
  if (!written) return written.error();
  return answers;
}

Result<std::vector<ChangeNote>> PostgresOffice::changes_since(std::uint64_t after,
                                                              std::size_t limit) {
  return state_->read("postgres.changes_since",
                      [&](Connection& db) -> Result<std::vector<ChangeNote>> {
                        return read_changes(db, after, limit);
                      });
}

}  // namespace dlo
