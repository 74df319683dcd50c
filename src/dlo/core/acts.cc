#include "dlo/core/acts.h"

#include <array>
#include <string>

namespace dlo {
namespace {

constexpr std::uint32_t usual_replay_limit = 10;
constexpr std::array<std::string_view, 9> names = {
    "resolve", "archive", "discard", "restore", "retry", "tag", "repair", "regroup", "quarantine"};

}  // namespace

std::string_view name_of(Act act) noexcept {
  return names[static_cast<std::size_t>(act)];
}

std::optional<Act> parse_act(std::string_view text) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Act>(i);
  }
  return std::nullopt;
}

bool is_about_open(std::string_view act) noexcept {
  return parse_act(act) != Act::restore;
}

Status target_of(Act act, Status former) noexcept {
  switch (act) {
    case Act::resolve:
      return Status::resolved;
    case Act::archive:
      return Status::archived;
    case Act::discard:
      return Status::discarding;
    case Act::retry:
      return Status::pending;
    case Act::quarantine:
      return Status::quarantined;
    case Act::restore:
    case Act::tag:
    case Act::repair:
    case Act::regroup:
      break;
  }
  return former;
}

bool is_possible(Act act, Status status) noexcept {
  if (is_live(status)) return false;
  if (act == Act::tag || act == Act::regroup) return true;
  if (act == Act::repair) return is_editable(status);
  if (act == Act::retry || act == Act::quarantine) {  // nobody works on it
    return status == Status::pending || status == Status::exhausted;
  }
  if (act == Act::restore) return !is_open(status) && is_legal(status, Status::pending);
  const Status to = target_of(act, status);
  return status != to && is_legal(status, to);
}

bool is_editable(Status status) noexcept {
  return status == Status::pending || status == Status::exhausted || status == Status::quarantined;
}

bool is_replayable(Status status, bool quarantined_too, bool again) noexcept {
  return status == Status::pending || status == Status::exhausted ||
         (status == Status::quarantined && quarantined_too) ||
         (status == Status::replayed && again);
}

bool was_sent_back(Status status, std::string_view how) noexcept {
  if (status == Status::replaying || status == Status::replayed) return true;
  return status == Status::resolved && (how == how_replayed || how == how_republished);
}

SentOutcome outcome_of_sent(bool died_again, Status status, std::string_view how) noexcept {
  if (died_again) return SentOutcome::returned;
  if (status == Status::replayed) return SentOutcome::awaited;
  const bool worked = status == Status::resolved && (how == how_replayed || how == how_retried);
  return worked ? SentOutcome::verified : SentOutcome::taken_over;
}

std::string_view name_of(RetryOutcome outcome) noexcept {
  switch (outcome) {
    case RetryOutcome::awaited:
      return "awaited";
    case RetryOutcome::worked:
      return "worked";
    case RetryOutcome::failed:
      return "failed";
    case RetryOutcome::taken_over:
      return "taken_over";
  }
  return "unknown";
}

RetryOutcome outcome_of_retry(const AskedRetry& asked, const AskedRetry& now, Status status,
                              std::string_view how) noexcept {
  if (now.occurrence != asked.occurrence) return RetryOutcome::failed;
  if (status == Status::resolved && how == how_retried) return RetryOutcome::worked;
  if (now.failures > asked.failures) return RetryOutcome::failed;
  switch (status) {
    case Status::waiting:
    case Status::parked:
    case Status::pending:
    case Status::retrying:
      return RetryOutcome::awaited;
    case Status::exhausted:
    case Status::quarantined:
      return RetryOutcome::failed;
    case Status::resolved:
    case Status::replaying:
    case Status::replayed:
    case Status::archived:
    case Status::discarding:
    case Status::discarded:
    case Status::expired:
      break;
  }
  return RetryOutcome::taken_over;
}

std::uint32_t replay_limit(std::optional<std::uint32_t> asked,
                           std::optional<std::uint32_t> of_profile) noexcept {
  return asked ? *asked : of_profile.value_or(usual_replay_limit);
}

Result<void> check_count(std::uint64_t there, std::uint64_t expected) {
  if (there == expected) return {};
  return Error{Code::conflict, "acts.count",
               "There are " + std::to_string(there) + " dead letters, not " +
                   std::to_string(expected) + ". Nothing was changed; if these are meant, say " +
                   std::to_string(there) + "."};
}

}  // namespace dlo
