// What a job would do, without doing it.
#include <algorithm>
#include <set>
#include <utility>

#include "dlo/jobs/drafts.h"
#include "dlo/jobs/job_book.h"
#include "dlo/jobs/job_freeze.h"

namespace dlo {
namespace {

constexpr std::uint64_t counted_up_to = 10'000;
constexpr std::size_t counted_page = 1'000;
constexpr std::size_t sample_size = 5;
constexpr std::size_t most_looks = 20;
constexpr std::size_t longest_keys = 5;
constexpr std::size_t most_reasons = 10;

using Counts = std::map<std::string, std::uint64_t>;

/// The most frequent first.
std::vector<std::pair<std::string, std::uint64_t>> most_frequent(const Counts& counts,
                                                                 std::size_t most) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (sorted.size() > most) sorted.resize(most);
  return sorted;
}

/// How many stand behind another of their key.
class Keys {
 public:
  void add(const std::string& key) {
    if (!key.empty()) ++counts_[key];
  }
  void write(JobPreview& preview) const {
    preview.keys = counts_.size();
    Counts followers;
    for (const auto& [key, count] : counts_) {
      if (count == 1) continue;
      preview.followers += count - 1;
      followers.emplace(key, count - 1);
    }
    preview.longest = most_frequent(followers, longest_keys);
  }

 private:
  Counts counts_;  // of at most `counted_up_to` records
};

/// Those are shown under the names of the headers they meet.
bool is_pattern(const std::string& name) {
  return name.find('*') != std::string::npos;
}

/// By which names `headers` would be stripped, each once.
std::set<std::string> stripped_names(const Headers& headers,
                                     const std::vector<std::string>& strip) {
  std::set<std::string> names;
  for (const Header& header : headers) {
    for (const std::string& name : strip) {
      if (is_stripped(header, {name})) names.insert(is_pattern(name) ? header.name : name);
    }
  }
  return names;
}

/// Which headers do not go along, or go along otherwise, as far as the sample shows.
Result<void> look_at_headers(Office& office, const ReplaySpec& spec, JobPreview& preview) {
  for (const std::string& name : spec.strip) {
    if (!is_pattern(name)) preview.strip.try_emplace(name, 0);
  }
  for (const Header& header : spec.set_headers) preview.set_headers.push_back(header.name);
  if (spec.strip.empty()) return {};
  for (const RecordHead& head : preview.sample) {
    const auto detail = office.get(head.id);
    if (!detail && detail.error().code == Code::not_found) continue;  // removed meanwhile
    if (!detail) return detail.error();
    const Headers headers = newest_draft(*detail).headers;
    for (const std::string& name : stripped_names(headers, spec.strip)) ++preview.strip[name];
  }
  return {};
}

}  // namespace

Result<JobPreview> JobBook::preview(const Job& job) {
  const std::uint64_t most = std::min(counted_up_to, job.spec.limit.value_or(UINT64_MAX));
  JobPreview preview;
  Keys keys;
  Counts reasons;
  auto begun = progress(job.id);
  if (!begun) return begun.error();
  begun->after = JobPlace{};  // from the beginning: what is done is not there any more
  std::size_t looks = 0;
  while (preview.count < most) {
    auto page = read_on(office_, job, *begun, counted_page);
    // What it was about is forgotten by now; the job itself is not.
    if (!page && job.spec.from_job && page.error().code == Code::not_found) break;
    if (!page) return page.error();
    for (RecordHead& head : page->rows) {
      if (preview.count == most) break;
      ++preview.count;
      ++reasons[head.reason];
      if (job.spec.replay) {
        ++preview.targets[job.spec.replay->direction(head.source, head.event_type)];
        keys.add(head.key);
      }
      if (preview.sample.size() < sample_size) preview.sample.push_back(std::move(head));
    }
    preview.at_least = page->next.has_value() && !(job.spec.limit && preview.count == most);
    // A slow query is asked once: a plan that is quick and says "at least" beats an exact one. Only
    // to show anything at all is worth a few looks more.
    if (!page->next || (page->partial && (preview.count > 0 || ++looks == most_looks))) break;
    begun->after = *page->next;
  }
  preview.reasons = most_frequent(reasons, most_reasons);
  if (job.spec.replay) {
    keys.write(preview);
    if (auto looked = look_at_headers(office_, *job.spec.replay, preview); !looked) {
      return looked.error();
    }
  }
  if (job.spec.rate) {
    preview.takes = Millis{static_cast<std::int64_t>(preview.count * 1000 / *job.spec.rate)};
  }
  return preview;
}

}  // namespace dlo
