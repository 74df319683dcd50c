#include "dlo/jobs/key_order.h"

#include <algorithm>
#include <set>

#include "dlo/core/sha256.h"

namespace dlo {
namespace {

constexpr std::size_t mark_digits = 32;

}  // namespace

std::string key_mark(const std::string& target, const std::string& key) {
  if (key.empty()) return {};
  Sha256 hash;
  hash.update(std::to_string(target.size()) + ":" + target);
  hash.update(key);
  return to_hex(hash.finish()).substr(0, mark_digits);
}

std::size_t wave_of(const std::vector<RecordHead>& rows, const ReplaySpec& spec) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string mark =
        key_mark(spec.direction(rows[i].source, rows[i].event_type).target, rows[i].key);
    if (!mark.empty() && !seen.insert(mark).second) return i;
  }
  return rows.size();
}

bool is_held(const JobProgress& progress, const std::string& mark) {
  return !mark.empty() &&
         std::find(progress.held.begin(), progress.held.end(), mark) != progress.held.end();
}

void hold(JobProgress& progress, const std::string& mark) {
  if (!mark.empty() && !is_held(progress, mark)) progress.held.push_back(mark);
}

}  // namespace dlo
