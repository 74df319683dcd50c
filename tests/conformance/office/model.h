#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "dlo/store/office.h"

namespace dlo::testing {

/// An office in a few lines, written a second time from its contract and without a look at
/// store/rules: what random operations are predicted with. Knows states, versions, leases, tallies
/// and groups; no messages, no text, no pages.
class OfficeModel {
 public:
  struct Row {
    Status status = Status::pending;
    std::uint64_t version = 1;
    std::uint32_t occurrence = 1;
    std::uint32_t fetches = 0;
    std::string source;
    std::string category;
    Id128 group;
    TimePoint died_at{};
    std::optional<TimePoint> due;
    bool unsettled = false;
    bool died = false;
    std::optional<LeaseToken> lease;
    TimePoint leased_until{};
    std::int64_t number = 0;
  };
  struct Group {
    std::uint64_t total = 0;
    GroupStatus status = GroupStatus::open;
  };
  using TallyRows = std::map<std::tuple<std::string, Status, std::string>, std::uint64_t>;

  /// `number` is the one the office gave: numbers grow, with gaps, so they cannot be predicted.
  [[nodiscard]] Effect append(const RecordId& id, const DeadLetter& letter, std::int64_t number);
  /// The code it must be refused with, or nothing and the row has moved.
  std::optional<Code> move(const Transition& transition, const std::optional<LeaseToken>& granted);
  /// What `move` would answer, without moving.
  [[nodiscard]] std::optional<Code> would_refuse(const Transition& transition) const;
  std::optional<Code> remove(const RecordId& id);
  std::optional<Code> edit(const Id128& group, GroupStatus status);
  void take_back(TimePoint now);
  /// The record that must be handed out next.
  [[nodiscard]] std::optional<RecordId> next_due(TimePoint now, const std::string& source) const;
  void claim(const RecordId& id, const LeaseToken& lease, TimePoint until);
  bool renew(const LeaseToken& lease, TimePoint now, Millis lease_for);

  [[nodiscard]] TallyRows tallies() const;
  [[nodiscard]] std::map<Id128, std::uint64_t> open_by_group() const;
  [[nodiscard]] const std::map<Id128, Group>& groups() const { return groups_; }
  [[nodiscard]] const std::map<RecordId, Row>& rows() const { return rows_; }

 private:
  void die(Row& row);
  [[nodiscard]] static bool holds(const Row& row, TimePoint now) {
    return row.lease && now < row.leased_until;
  }

  std::map<RecordId, Row> rows_;
  std::map<Id128, Group> groups_;
  std::int64_t last_number_ = 0;
};

}  // namespace dlo::testing
