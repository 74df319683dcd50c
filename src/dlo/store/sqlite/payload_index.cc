#include "dlo/store/sqlite/payload_index.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <new>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include "dlo/store/rules.h"
#include "dlo/store/sql/head.h"

namespace dlo::sqlite {
namespace {

/// Rows of one transaction of the index: memory is bounded, and so is the wait of a stop.
constexpr std::int64_t rows_at_once = 250;
/// Rows of `leaving_payloads` are forgotten in the office so many at a time.
constexpr std::int64_t forgotten_at_once = 5000;

// A crash of the machine may take back the newest commits of this file but never tears them: the
// progress goes back with the words, and the rows are indexed again.
constexpr const char* settings =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF;"
    "PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -4000; PRAGMA temp_store = MEMORY;";

constexpr const char* tables =
    "CREATE VIRTUAL TABLE IF NOT EXISTS payload_text USING fts5(words, content='', columnsize=0,"
    " detail=none, tokenize='ascii');"
    "CREATE TABLE IF NOT EXISTS progress(office INTEGER PRIMARY KEY, number INTEGER NOT NULL,"
    " leaving INTEGER NOT NULL) STRICT;";

constexpr const char* select_progress = "SELECT number, leaving, office FROM progress";

/// What cannot be removed now is found damaged again.
void remove_files(const std::string& path) noexcept {
  try {
    std::error_code ignored;
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix, ignored);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see above
  }
}

/// What fails in the index's own file: not the office is in trouble.
struct Lost {
  bool damaged = false;
};

template <typename Body>
auto in_own_file(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Failed& failed) {
    throw Lost{failed.error.code == Code::corrupt};
  }
}

std::int64_t counter(Readers::Turn& office, const char* name) {
  Rows rows(office("SELECT value FROM counters WHERE name = ?").bind(name));
  return rows.next() ? rows->number(0) : 0;
}

}  // namespace

IndexProgress read_progress(Readers::Turn& index) {
  Rows rows(index(select_progress));
  if (!rows.next()) return {};
  return {rows->number(0), rows->number(1)};
}

std::uint64_t count_unindexed(Readers::Turn& office, const IndexProgress& progress) {
  const auto beyond = [](std::int64_t last, std::int64_t done) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(last - done, 0));
  };
  Rows leaving(office("SELECT max(n) FROM leaving_payloads"));
  const std::int64_t last_leaving = leaving.next() ? leaving->number(0) : 0;
  return beyond(counter(office, "number"), progress.number) +
         beyond(last_leaving, progress.leaving);
}

/// Throws `Lost`, but for its constructor.
struct PayloadIndex::File {
  File(const std::string& path, const Damage& damage)
      : office_damage(damage), db(path, Access::create) {
    db.leave_log(true);
    db.run(settings);
    db.run(tables);
    add.emplace(db.raw(), "INSERT INTO payload_text(rowid, words) VALUES(?, ?)");
    remove.emplace(db.raw(),
                   "INSERT INTO payload_text(payload_text, rowid, words) VALUES('delete', ?, ?)");
    write_progress.emplace(db.raw(), "INSERT OR REPLACE INTO progress VALUES(?, ?, ?)");
    Statement read(db.raw(), select_progress);
    if (read.step()) {
      progress = {read.number(0), read.number(1)};
      office = read.number(2);
    }
  }
  ~File() { db.leave_log(office_damage.found()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void begin() {
    in_own_file([this] { db.run("BEGIN IMMEDIATE"); });
  }
  void put(std::int64_t number, std::string_view words) {
    in_own_file([&] { add->bind(number, words).run(); });
  }
  void take(std::int64_t number, std::string_view words) {
    in_own_file([&] { remove->bind(number, words).run(); });
  }
  void commit(std::int64_t identity, const IndexProgress& now) {
    in_own_file([&] {
      const bool moved = now.number != progress.number || now.leaving != progress.leaving;
      if (moved) write_progress->bind(identity, now.number, now.leaving).run();
      db.run("COMMIT");
    });
    progress = now;
    office = identity;
  }
  void fold() {
    in_own_file([this] { db.run("PRAGMA wal_checkpoint(TRUNCATE)"); });
  }
  /// Whether what is in here can have come from an office with these numbers.
  [[nodiscard]] bool belongs_to(std::int64_t identity, std::int64_t last) const {
    return !office || (*office == identity && progress.number <= last);
  }

  const Damage& office_damage;
  Connection db;
  std::optional<Statement> add, remove, write_progress;
  IndexProgress progress;
  std::optional<std::int64_t> office;
};

PayloadIndex::PayloadIndex(std::string office, std::string path, bool adds,
                           std::function<void(std::int64_t)> forget, Damage& damage)
    : path_(std::move(path)),
      adds_(adds),
      forget_(std::move(forget)),
      damage_(damage),
      office_(std::move(office), Access::read_only, 1),
      thread_([this] { work(); }) {}

PayloadIndex::~PayloadIndex() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  thread_.join();
}

void PayloadIndex::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (news_) return;
    news_ = true;
  }
  woken_.notify_one();
}

bool PayloadIndex::wait_for_news(bool after_failure) {
  std::unique_lock lock(mutex_);
  if (after_failure) {
    woken_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_; });
  } else {
    woken_.wait(lock, [this] { return stopping_ || news_; });
  }
  news_ = false;
  return !stopping_;
}

bool PayloadIndex::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void PayloadIndex::work() {
  // Indexing gives way to whoever waits for an answer; if the kernel refuses, it just does not.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
  bool failed = false;
  while (wait_for_news(failed)) {
    failed = !catch_up();
    if (failed || damage_.found()) file_.reset();
  }
}

bool PayloadIndex::catch_up() {
  try {
    while (!damage_.found() && !is_stopping() && !step()) {
    }
    return true;
  } catch (const Lost& lost) {
    // A full disk passes. A damaged file is thrown away: all of it can be made again.
    file_.reset();
    if (lost.damaged && !damage_.found()) remove_files(path_);
  } catch (const Failed& failure) {
    damage_.note(failure.error);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a lack of memory passes too
  }
  return false;
}

void PayloadIndex::open_file() {
  file_ = in_own_file([this] { return std::make_unique<File>(path_, damage_); });
}

bool PayloadIndex::step() {
  if (!file_) open_file();
  bool done = false;
  {
    Readers::Turn office(office_);
    done = follow(office);
  }
  if (file_ && file_->progress.leaving - forgotten_ >= (done ? 1 : forgotten_at_once)) {
    forget_done();
  }
  return done;
}

bool PayloadIndex::follow(Readers::Turn& office) {
  // Whoever took nothing in is another's index to one that does, and the other way round: then it
  // is made anew.
  const std::int64_t identity = counter(office, "identity") ^ (adds_ ? 0 : 1);
  const std::int64_t last = counter(office, "number");
  if (!file_->belongs_to(identity, last)) {
    file_.reset();
    remove_files(path_);
    open_file();
  }
  IndexProgress progress = file_->progress;
  file_->begin();
  try {
    // What left or was replaced first: both belong to the same moment of the office, and what has
    // not been reached yet is read as it is now.
    damage_.noting([&] {
      follow_leaving(office, progress);
      follow_arrived(office, progress);
    });
    damage_.refuse();
    file_->commit(identity, progress);
  } catch (...) {
    file_.reset();  // and with it what was not committed
    throw;
  }
  return progress.number == last;
}

void PayloadIndex::follow_leaving(Readers::Turn& office, IndexProgress& progress) {
  Rows rows(office("SELECT n, number, leaves, comes FROM leaving_payloads WHERE n > ? ORDER BY n")
                .bind(progress.leaving));
  while (rows.next()) {
    const std::int64_t number = rows->number(1);
    if (adds_ && number <= progress.number) {
      if (!rows->is_null(2)) file_->take(number, rows->view(2));
      if (!rows->is_null(3)) file_->put(number, rows->view(3));
    }
    progress.leaving = rows->number(0);
  }
}

void PayloadIndex::follow_arrived(Readers::Turn& office, IndexProgress& progress) {
  Rows rows(office("SELECT number, flags & ?3 FROM records WHERE number > ?1 ORDER BY number"
                   " LIMIT ?2")
                .bind(progress.number, rows_at_once, flag::payload_searched));
  std::int64_t seen = 0;
  for (; rows.next(); ++seen) {
    progress.number = rows->number(0);
    if (rows->number(1) == 0 || !adds_) continue;
    Rows body(office("SELECT substr(payload, 1, ?2) FROM bodies WHERE number = ?1")
                  .bind(progress.number, searched_text_limit));
    if (body.next()) file_->put(progress.number, body->view(0));
  }
  if (seen < rows_at_once) progress.number = counter(office, "number");
}

void PayloadIndex::forget_done() {
  if (damage_.found()) return;
  // The words must have reached the disk before the office forgets what they were.
  file_->fold();
  forget_(file_->progress.leaving);
  forgotten_ = file_->progress.leaving;
}

}  // namespace dlo::sqlite
