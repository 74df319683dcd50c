#include "dlo/jobs/retention_keeper.h"

#include <string>
#include <utility>
#include <vector>

#include "dlo/core/profile_book.h"
#include "dlo/core/retention.h"
#include "dlo/jobs/batch.h"
#include "dlo/jobs/former.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr std::size_t at_once = 200;  // one list of changes, one entry of the trail

Result<Profile> profile_of(const ReplayTargets& targets, const DeadLetter& record) {
  if (targets.profile) return targets.profile(record);
  return ProfileBook{}.find(record.profile);
}

/// What of one page is due, and what is noted of it.
class Sweep {
 public:
  Sweep(Office& office, const ReplayTargets& targets, TimePoint now)
      : office_(office), targets_(targets), now_(now) {
    json_.begin_object().key("archived").begin_array();
  }

  Result<void> add(const RecordId& id) {
    const auto detail = office_.get(id);
    if (!detail && detail.error().code == Code::not_found) return {};
    if (!detail) return detail.error();
    const DeadLetter& record = detail->record;
    const auto profile = profile_of(targets_, record);
    if (!profile) return {};
    const auto act = due(profile->retention, record.status, retention_times(record), now_);
    if (act != RetentionAct::archive) return {};
    auto former = remember_status(office_, id, record.status);
    if (!former) return former.error();
    Transition move;
    move.id = id;
    move.expected_version = record.version;
    move.to = status_after(*act);
    move.now = now_;
    changes_.emplace_back(std::move(move));
    changes_.emplace_back(std::move(*former));
    json_.begin_object().member("id", to_string(id));
    json_.member("source", record.message->source).end_object();
    ++count_;
    return {};
  }

  Result<std::size_t> carry_out() {
    if (count_ == 0) return std::size_t{0};
    json_.end_array().end_object();
    changes_.emplace_back(AddAudit{now_, "office", std::string(retention_act),
                                   std::to_string(count_) + " dead letters", json_.take()});
    const auto applied = office_.apply(changes_);
    if (!applied && is_overtaken(applied.error())) return std::size_t{0};  // the next time
    if (!applied) return applied.error();
    return count_;
  }

 private:
  Office& office_;
  const ReplayTargets& targets_;
  const TimePoint now_;
  std::vector<Change> changes_;
  JsonWriter json_;
  std::size_t count_ = 0;
};

}  // namespace

Result<std::size_t> archive_old(Office& office, const ReplayTargets& targets, TimePoint now,
                                const std::stop_token& stop) {
  std::size_t archived = 0;
  Query query;
  query.statuses = {Status::exhausted};
  query.order = Order::oldest_first;
  query.limit = at_once;
  do {
    const auto page = office.list(query);
    if (!page) return page.error();
    Sweep sweep(office, targets, now);
    for (const RecordHead& head : page->rows) {
      if (auto added = sweep.add(head.id); !added) return added.error();
    }
    const auto done = sweep.carry_out();
    if (!done) return done.error();
    archived += *done;
    query.after = page->next;
  } while (query.after && !stop.stop_requested());
  return archived;
}

}  // namespace dlo
