#include "dlo/store/sqlite/sqlite_office.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "dlo/store/poison_book.h"
#include "dlo/store/sqlite/applier.h"
#include "dlo/store/sqlite/damage.h"
#include "dlo/store/sqlite/lister.h"
#include "dlo/store/sqlite/lock_file.h"
#include "dlo/store/sqlite/opening.h"
#include "dlo/store/sqlite/payload_index.h"
#include "dlo/store/sqlite/permission.h"
#include "dlo/store/sqlite/reading.h"
#include "dlo/store/sqlite/rewriting.h"
#include "dlo/store/sqlite/schema.h"
#include "dlo/store/sqlite/writer.h"

namespace dlo {
namespace {

using namespace sqlite;  // NOLINT: this file is the seam's side of that namespace

/// Runs `body` and turns what it throws into a value, labelled with the method it ended.
template <typename Body>
auto guarded(const char* where, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Failed& failed) {
    return Error{failed.error.code, where, failed.error.detail};
  } catch (const std::bad_alloc&) {
    return Error{Code::full, where,
                 "not enough memory for this call; nothing was changed; ask for less at once"};
  }
}

Error at(const char* where, Error error) {
  error.where = where;
  return error;
}

Error leased_in_vain(std::size_t records, const Error& error) {
  return {error.code, error.where,
          std::to_string(records) +
              " records were leased but could not be read; they are due again when their leases "
              "end; reading them: " +
              error.detail};
}

template <typename Run>
class FunctionTask final : public Task {
 public:
  FunctionTask(std::size_t bytes, bool may_half_fail, Run run)
      : Task(bytes, may_half_fail), run_(std::move(run)) {}
  Result<void> run(Session& session) override {
    // Before those who share its transaction are tried without it.
    return session.damage().noting([&] { return run_(session); });
  }

 private:
  Run run_;
};

Error read_only_refusal(const char* where) {
  return {Code::refused, where,
          "this office was opened read-only; nothing was changed; act through the server that "
          "writes to it, or open it for writing when no server runs"};
}

}  // namespace

struct SqliteOffice::State final : Ledger, PoisonBook {
  State(const std::string& directory, Access access, const SqliteOptions& options)
      : readers(directory + "/office.db", access, std::max<std::size_t>(options.readers, 1)),
        index_path(directory + "/payloads.db"),
        index_readers(index_path, Access::read_only, 2) {}

  std::optional<LockFile> lock;  // given back last
  Damage damage;
  std::optional<Session> session;
  Readers readers;
  const std::string index_path;
  Readers index_readers;
  std::optional<Writer> writer;
  std::optional<PayloadIndex> index;  // stops first: it writes through the writer

  /// `guarded`, and damage that was met is remembered.
  template <typename Body>
  auto watched(const char* where, const Body& body) -> decltype(body()) {
    auto answer = guarded(where, body);
    if (!answer) damage.note(answer.error());
    return answer;
  }

  /// Leaves `turn` empty where there is no payload index yet, or none that can be read.
  void turn_to_index(std::optional<Readers::Turn>& turn) {
    try {
      turn.emplace(index_readers);
      (void)read_progress(*turn);
    } catch (const Failed&) {
      turn.reset();
    }
  }

  template <typename Run>
  Result<void> write(const char* where, std::size_t bytes, bool may_half_fail, Run run) {
    if (!writer) return read_only_refusal(where);
    if (auto found = damage.first()) return at(where, std::move(*found));
    FunctionTask<Run> task(bytes, may_half_fail, std::move(run));
    return writer->write(task);
  }

  Result<std::vector<Claim>> complete_claims(std::vector<Leased>& leased) {
    std::vector<Claim> claims;
    Readers::Turn turn(readers);
    for (Leased& one : leased) {
      if (!complete(turn, one.head)) continue;  // removed by somebody since
      one.head.record.status = one.was;
      claims.push_back(
          {one.head.lease->token, one.head.lease->until, std::move(one.head.record), one.was});
    }
    return claims;
  }

  Result<std::optional<Document>> document(const std::string& kind,
                                           const std::string& key) override {
    return watched("sqlite.document", [&]() -> Result<std::optional<Document>> {
      Readers::Turn turn(readers);
      return read_document(turn, kind, key);
    });
  }
  Result<std::vector<Document>> documents(const std::string& kind, const std::string& after,
                                          std::size_t limit) override {
    return watched("sqlite.documents", [&]() -> Result<std::vector<Document>> {
      Readers::Turn turn(readers);
      return read_documents(turn, kind, after, limit);
    });
  }
  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit) override {
    return watched("sqlite.audit", [&]() -> Result<std::vector<AuditEntry>> {
      Readers::Turn turn(readers);
      return read_audit(turn, after, limit);
    });
  }
  Result<std::vector<PoisonItem>> list(const PoisonQuery& query) override {
    return watched("sqlite.poison", [&]() -> Result<std::vector<PoisonItem>> {
      Readers::Turn turn(readers);
      return read_poison(turn, query);
    });
  }
  Result<std::optional<PoisonDetail>> get(PoisonKind kind, std::int64_t poison_id) override {
    return watched("sqlite.poison", [&]() -> Result<std::optional<PoisonDetail>> {
      Readers::Turn turn(readers);
      return read_poison(turn, kind, poison_id);
    });
  }
  Result<std::uint64_t> count(PoisonKind kind) override {
    return watched("sqlite.poison", [&]() -> Result<std::uint64_t> {
      Readers::Turn turn(readers);
      return count_poison(turn, kind);
    });
  }
};

SqliteOffice::SqliteOffice(std::unique_ptr<State> state) : state_(std::move(state)) {}
SqliteOffice::~SqliteOffice() = default;
OfficeExtras SqliteOffice::extras() noexcept {
  return {state_.get(), state_.get()};
}
std::uint64_t SqliteOffice::commits() const noexcept {
  return state_->writer ? state_->writer->commits() : 0;
}

Result<std::unique_ptr<SqliteOffice>> SqliteOffice::open(const std::string& directory,
                                                         SqliteOptions options) {
  using Opened = Result<std::unique_ptr<SqliteOffice>>;
  const std::string path = directory + "/office.db";
  if (auto lost = lost_office(directory)) return std::move(*lost);
  if (options.read_only) {
    return guarded("sqlite.open", [&]() -> Opened {
      if (const auto lacking = lacking_permission(path, false)) return *lacking;
      std::error_code unseen;  // whoever may not look is told by SQLite what it may not open
      if (!std::filesystem::exists(path, unseen) && !unseen) {
        return Error{Code::not_found, "sqlite.open",
                     "there is no office in " + directory +
                         "; check the path, or let `dlo serve "
                         "--data " +
                         directory + "` create one"};
      }
      auto state = std::make_unique<State>(directory, reading_access(path), options);
      Readers::Turn turn(state->readers);
      require_current(turn.connection(), office_migrations());
      return std::unique_ptr<SqliteOffice>(new SqliteOffice(std::move(state)));
    });
  }
  if (auto made = make_directory(directory); !made) return made.error();
  auto lock = LockFile::take(directory + "/office.lock");
  if (!lock) return lock.error();
  return guarded("sqlite.open", [&]() -> Opened {
    auto state = std::make_unique<State>(directory, Access::read_only, options);
    state->lock = std::move(*lock);
    look_for_damage(directory, state->damage);
    std::sort(options.unsearched_payloads.begin(), options.unsearched_payloads.end());
    state->session.emplace(
        open_current(path, state->damage),
        [unsearched = options.unsearched_payloads](const std::string& source) {
          return !std::binary_search(unsearched.begin(), unsearched.end(), source);
        },
        state->damage);
    state->writer.emplace(*state->session);
    state->index.emplace(
        path, state->index_path, options.index_payloads,
        [&writing = *state](std::int64_t last) {
          // What cannot be forgotten now is forgotten with the next.
          (void)writing.write("sqlite.index", 64, false, [last](Session& session) -> Result<void> {
            session.forget_leaving(last);
            return {};
          });
        },
        state->damage);
    return std::unique_ptr<SqliteOffice>(new SqliteOffice(std::move(state)));
  });
}

Result<Rewritten> SqliteOffice::rewrite(std::int64_t after, std::size_t limit, const Make& make) {
  return guarded("sqlite.rewrite", [&]() -> Result<Rewritten> {
    Rewritten answer;
    const auto written =
        state_->write("sqlite.rewrite", 64, true, [&](Session& session) -> Result<void> {
          auto done = rewrite_records(session, after, limit, make);
          if (!done) return done.error();
          answer = *done;
          return {};
        });
    if (!written) return written.error();
    return answer;
  });
}

Result<void> SqliteOffice::compact(const std::string& directory) {
  const auto lock = LockFile::take(directory + "/office.lock");
  if (!lock) return lock.error();
  return guarded("sqlite.compact", [&]() -> Result<void> {
    Connection db(directory + "/office.db", Access::read_write);
    db.leave_log(true);
    db.run("PRAGMA temp_store = FILE");
    db.run("DELETE FROM leaving_payloads");
    db.run("VACUUM");
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    db.leave_log(false);
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::error_code ignored;
      std::filesystem::remove(directory + "/payloads.db" + suffix, ignored);
    }
    return {};
  });
}

Result<std::vector<Applied>> SqliteOffice::apply(std::span<const Change> changes) {
  if (changes.empty()) {  // does not stand in line to hear how the office is
    if (!state_->writer) return read_only_refusal("sqlite.apply");
    if (auto found = state_->damage.first()) return at("sqlite.apply", std::move(*found));
    return std::vector<Applied>();
  }
  return state_->watched("sqlite.apply", [&]() -> Result<std::vector<Applied>> {
    auto list = prepare(changes);
    if (!list) return list.error();
    std::vector<Applied> answers;
    const auto written = state_->write("sqlite.apply", list->bytes, changes.size() > 1,
                                       [&](Session& session) -> Result<void> {
                                         auto applied = carry_out(session, *list);
                                         if (!applied) return applied.error();
                                         answers = std::move(*applied);
                                         return {};
                                       });
    if (!written) return at("sqlite.apply", written.error());
    state_->index->wake();
    return answers;
  });
}

Result<RecordDetail> SqliteOffice::get(const RecordId& id) {
  return state_->watched("sqlite.get", [&]() -> Result<RecordDetail> {
    Readers::Turn turn(state_->readers);
    auto detail = read_record(turn, id);
    if (!detail) {
      return Error{Code::not_found, "sqlite.get", "there is no record " + to_string(id)};
    }
    return std::move(*detail);
  });
}

Result<Page> SqliteOffice::list(const Query& query) {
  if (auto fine = check(query); !fine) return fine.error();
  return state_->watched("sqlite.list", [&]() -> Result<Page> {
    Readers::Turn turn(state_->readers);
    std::optional<Readers::Turn> index;
    if (!query.payload_words.empty()) state_->turn_to_index(index);
    const Query expanded =
        with_strands(query, [&](const Id128& id) { return read_strands(turn, id); });
    if (index) {
      try {
        return Lister(turn, &*index, expanded).list();
      } catch (const Failed& failed) {
        // Which of the two is damaged? All that is in the index is in the office.
        if (failed.error.code != Code::corrupt) throw;
      }
    }
    return Lister(turn, nullptr, expanded).list();
  });
}

Result<Aggregate> SqliteOffice::aggregate(const AggregateRequest& request) {
  return state_->watched("sqlite.aggregate", [&]() -> Result<Aggregate> {
    Readers::Turn turn(state_->readers);
    Aggregate answer = read_aggregate(turn, request);
    std::optional<Readers::Turn> index;
    state_->turn_to_index(index);
    answer.unindexed_payloads =
        count_unindexed(turn, index ? read_progress(*index) : IndexProgress{});
    return answer;
  });
}

Result<std::vector<Claim>> SqliteOffice::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                               const ClaimFrom& from) {
  if (auto fine = check_lease_for(lease_for); !fine) return fine.error();
  return state_->watched("sqlite.claim", [&]() -> Result<std::vector<Claim>> {
    std::vector<Leased> leased;
    const auto written =
        state_->write("sqlite.claim", limit * 64, false, [&](Session& session) -> Result<void> {
          leased = lease_due(session, limit, now, lease_for, from);
          return {};
        });
    if (!written) return at("sqlite.claim", written.error());
    if (leased.empty()) return std::vector<Claim>{};
    auto claims = guarded("sqlite.claim", [&] { return state_->complete_claims(leased); });
    if (!claims) return leased_in_vain(leased.size(), claims.error());
    return claims;
  });
}

Result<std::vector<bool>> SqliteOffice::renew(std::span<const LeaseToken> leases, TimePoint now,
                                              Millis lease_for) {
  if (auto fine = check_lease_for(lease_for); !fine) return fine.error();
  return state_->watched("sqlite.renew", [&]() -> Result<std::vector<bool>> {
    std::vector<bool> answers;
    const auto written = state_->write("sqlite.renew", leases.size() * 64, false,
                                       [&](Session& session) -> Result<void> {
                                         answers = renew_leases(session, leases, now, lease_for);
                                         return {};
                                       });
    if (!written) return at("sqlite.renew", written.error());
    return answers;
  });
}

Result<std::vector<ChangeNote>> SqliteOffice::changes_since(std::uint64_t after,
                                                            std::size_t limit) {
  return state_->watched("sqlite.changes_since", [&]() -> Result<std::vector<ChangeNote>> {
    Readers::Turn turn(state_->readers);
    return read_changes(turn, after, limit);
  });
}

}  // namespace dlo
