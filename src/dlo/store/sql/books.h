#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlo/store/rules.h"

namespace dlo::sql {

struct Sequences {
  std::uint64_t change = 0;
  std::int64_t number = 0;
};

/// How a lifetime number is called among the counters.
struct LifetimeRow {
  const char* name;
  std::uint64_t Lifetime::* count;
};
inline constexpr std::array<LifetimeRow, 6> lifetime_rows{{
    {"lifetime_enqueued", &Lifetime::enqueued},
    {"lifetime_retry_success", &Lifetime::retry_success},
    {"lifetime_retry_failed", &Lifetime::retry_failed},
    {"lifetime_exhausted", &Lifetime::exhausted},
    {"lifetime_manually_retried", &Lifetime::manually_retried},
    {"lifetime_archived", &Lifetime::archived},
}};

/// Numbers that move with many rows of one transaction and are written once at its end: tallies,
/// groups, sequences and the error index. A copy is a way back for one list of changes.
struct Pages {
  std::map<TallyKey, std::int64_t> tallies;                       // differences
  std::map<PolicyKey, std::int64_t> policies;                     // differences
  std::unordered_map<Id128, std::optional<GroupSummary>> groups;  // empty: removed
  std::unordered_map<Id128, std::optional<Strand>> strands;       // empty: removed

  struct Words {  // one row of an error index leaves or comes
    std::int64_t seat = 0;
    bool comes = false;
    std::string text;
  };
  std::vector<Words> words;

  Sequences sequences;
  std::int64_t poison[2] = {0, 0};
  Lifetime lifetime;
  std::uint64_t audit = 0;
  std::string audit_hash;
};

/// The pages of the transaction under way, moved by the rules. A backend reads what is not yet on
/// them and writes them. Belongs to the writer's thread.
class Books {
 public:
  virtual ~Books() = default;

  [[nodiscard]] std::uint64_t next_change() noexcept { return ++pages_.sequences.change; }
  [[nodiscard]] std::int64_t next_number() noexcept { return ++pages_.sequences.number; }
  [[nodiscard]] Sequences sequences() const noexcept { return pages_.sequences; }
  /// Numbers drawn since then were not used for anything.
  void give_back(Sequences sequences) noexcept { pages_.sequences = sequences; }

  /// Tallies and groups follow a record from `before` to `after`; null: not there.
  void move(const DeadLetter* before, const DeadLetter* after);

  /// Null if nothing ever died of it, or if it was merged into another.
  [[nodiscard]] GroupSummary* group(const Id128& fingerprint);
  void put_group(const GroupSummary& group) { pages_.groups[group.fingerprint] = group; }
  void remove_group(const Id128& fingerprint) { pages_.groups[fingerprint].reset(); }
  /// Null if it was not merged.
  [[nodiscard]] Strand* strand(const Id128& fingerprint);
  [[nodiscard]] std::vector<Strand> strands_of(const Id128& group);
  void put_strand(const Strand& strand) { pages_.strands[strand.own.fingerprint] = strand; }
  void remove_strand(const Id128& fingerprint) { pages_.strands[fingerprint].reset(); }

  /// Numbers and chains an entry; answers its number and hash.
  [[nodiscard]] std::pair<std::uint64_t, std::string> chain(const AddAudit& act);

  [[nodiscard]] Pages save() const { return pages_; }
  void restore(Pages pages) { pages_ = std::move(pages); }

 protected:
  Books() = default;
  Books(const Books&) = delete;
  Books& operator=(const Books&) = delete;

  [[nodiscard]] virtual std::optional<GroupSummary> fetch_group(const Id128& fingerprint) = 0;
  [[nodiscard]] virtual std::optional<Strand> fetch_strand(const Id128& fingerprint) = 0;
  [[nodiscard]] virtual std::vector<Strand> fetch_strands_of(const Id128& group) = 0;

  Pages pages_;

 private:
  void move_groups(const Movement& moves, const DeadLetter* after);
};

}  // namespace dlo::sql
