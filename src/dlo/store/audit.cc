#include "dlo/core/identity.h"
#include "dlo/store/office.h"

namespace dlo {
namespace {

/// Numbers have a fixed width and texts carry their length, so that no two entries spell alike.
void add_number(Sha256& hash, std::uint64_t number) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(static_cast<std::uint8_t>(number >> (56 - 8 * i)));
  }
  hash.update(bytes);
}

void add_text(Sha256& hash, std::string_view text) {
  add_number(hash, text.size());
  hash.update(text);
}

}  // namespace

std::string audit_hash(const std::string& previous, std::uint64_t number, const AddAudit& act) {
  Sha256 hash;
  add_text(hash, "dlo-audit-1");
  add_text(hash, previous);
  add_number(hash, number);
  add_number(hash, static_cast<std::uint64_t>(act.at.time_since_epoch().count()));
  add_text(hash, act.actor);
  add_text(hash, act.act);
  add_text(hash, act.subject);
  add_text(hash, act.detail);
  return to_hex(hash.finish());
}

Result<std::optional<AuditEntry>> newest_audit(Ledger& ledger) {
  std::optional<AuditEntry> newest;
  // Entries are numbered without gaps, from 1. First beyond the end by doubling, then back.
  std::uint64_t step = 1;
  std::uint64_t after = 0;
  bool growing = true;
  while (step > 0) {
    const auto found = ledger.audit(after + step - 1, 1);
    if (!found) return found.error();
    if (!found->empty()) {
      after += step;
      newest = found->front();
      step = growing ? step * 2 : step / 2;
    } else {
      growing = false;
      step /= 2;
    }
  }
  // Others may have written on meanwhile.
  const auto rest = ledger.audit(newest ? newest->number : 0, 100);
  if (!rest) return rest.error();
  if (!rest->empty()) newest = rest->back();
  return newest;
}

std::optional<std::uint64_t> first_broken(std::span<const AuditEntry> entries,
                                          const AuditEntry* before) {
  std::string previous = before == nullptr ? "" : before->hash;
  std::uint64_t number = before == nullptr ? 1 : before->number + 1;
  for (const AuditEntry& entry : entries) {
    const bool follows = entry.number == number && entry.previous == previous &&
                         entry.hash == audit_hash(previous, number, entry.act);
    if (!follows) return number;
    previous = entry.hash;
    ++number;
  }
  return std::nullopt;
}

}  // namespace dlo
