#include "dlo/store/watched_office.h"

#include <algorithm>
#include <utility>

namespace dlo {
namespace {

bool is_trouble(Code code) noexcept {
  return code == Code::corrupt || code == Code::full || code == Code::disk_full ||
         code == Code::unavailable;
}

constexpr std::size_t largest_try = 256U << 10U;

/// About how much they write: what is large of them.
std::size_t bytes_of(std::span<const Change> changes) {
  std::size_t bytes = 0;
  const auto add = [&](const std::optional<std::string>& text) {
    bytes += text ? text->size() : 0;
  };
  for (const Change& change : changes) {
    if (const auto* append = std::get_if<Append>(&change)) {
      add(append->record->message->payload);
      bytes += append->record->failure.text.size() + append->record->failure.stack.size();
    } else if (const auto* version = std::get_if<AddVersion>(&change)) {
      add(version->payload);
    } else if (const auto* document = std::get_if<PutDocument>(&change)) {
      add(document->body);
    }
    bytes += 512;
  }
  return bytes;
}

/// A merge is refused as full when its group is: the office has room.
bool may_be_a_full_group(std::span<const Change> changes) {
  return std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return std::holds_alternative<MergeGroups>(change);
  });
}

}  // namespace

void WatchedOffice::met(const Error& error, std::size_t bytes) {
  if (!is_trouble(error.code)) return;
  {
    const std::lock_guard lock(mutex_);
    if (error.code == Code::disk_full) unfit_ = std::min(std::max(unfit_, bytes), largest_try);
    if (trouble_ && (trouble_->code == error.code || trouble_->code == Code::corrupt)) return;
    trouble_ = error;
  }
  if (told_) told_(error);
}

void WatchedOffice::wrote(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!trouble_ || trouble_->code == Code::corrupt || bytes < unfit_) return;
    trouble_.reset();
    unfit_ = 0;
  }
  if (told_) told_(std::nullopt);
}

std::optional<Error> WatchedOffice::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void WatchedOffice::try_again() {
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!trouble_) return;
    bytes = unfit_;
  }
  const auto put = [this](std::size_t size) {
    std::string body = R"({"room":")";
    body.append(size, '.');
    body += "\"}";
    const Change probe = PutDocument{"probe", "ready", std::move(body), std::nullopt};
    return apply({&probe, 1}).has_value();
  };
  if (put(bytes) && bytes > 0) (void)put(0);
}

Result<std::vector<Applied>> WatchedOffice::apply(std::span<const Change> changes) {
  auto applied = inner_.apply(changes);
  if (applied) {
    if (!changes.empty()) wrote(bytes_of(changes));
  } else if (applied.error().code != Code::full || !may_be_a_full_group(changes)) {
    met(applied.error(), bytes_of(changes));
  }
  return applied;
}

Result<RecordDetail> WatchedOffice::get(const RecordId& id) {
  return watched(inner_.get(id));
}

Result<Page> WatchedOffice::list(const Query& query) {
  return watched(inner_.list(query));
}

Result<Aggregate> WatchedOffice::aggregate(const AggregateRequest& request) {
  return watched(inner_.aggregate(request));
}

Result<std::vector<Claim>> WatchedOffice::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                                const ClaimFrom& from) {
  return watched(inner_.claim(limit, now, lease_for, from));
}

Result<std::vector<bool>> WatchedOffice::renew(std::span<const LeaseToken> leases, TimePoint now,
                                               Millis lease_for) {
  return watched(inner_.renew(leases, now, lease_for));
}

Result<std::vector<ChangeNote>> WatchedOffice::changes_since(std::uint64_t after,
                                                             std::size_t limit) {
  return watched(inner_.changes_since(after, limit));
}

}  // namespace dlo
