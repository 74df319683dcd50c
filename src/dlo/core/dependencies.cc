#include "dlo/core/dependencies.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::size_t longest_name = 512;
constexpr std::size_t most_followed = 1'000;

/// The tasks from the first to `last`, each reached from the one before.
std::vector<std::string> way_to(const std::string& last,
                                const std::map<std::string, std::string>& reached_from) {
  std::vector<std::string> way{last};
  for (auto at = reached_from.find(last); at != reached_from.end();
       at = reached_from.find(at->second)) {
    way.push_back(at->second);
  }
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace

Awaited awaited(std::optional<Status> status, bool has_resolution) noexcept {
  if (!status) return Awaited::unknown;
  if (!is_closed(*status)) return Awaited::open;
  return *status == Status::resolved || has_resolution ? Awaited::succeeded : Awaited::gone;
}

TimePoint deadline_of(TimePoint reported_at, Millis timeout) noexcept {
  return reported_at > TimePoint::max() - timeout ? TimePoint::max() : reported_at + timeout;
}

DependencyVerdict judge(const std::vector<Prerequisite>& tasks, TimePoint reported_at,
                        Millis timeout, TimePoint now) {
  const Prerequisite* unknown = nullptr;
  bool waits = false;
  for (const Prerequisite& each : tasks) {
    switch (each.state) {
      case Awaited::gone:
        return Blocked{
            "Task " + in_quotes(each.task) +
            ", which it waits for, was given up. Retry it by hand if it can do without."};
      case Awaited::unknown:
        if (unknown == nullptr) unknown = &each;
        break;
      case Awaited::open:
        waits = true;
        break;
      case Awaited::succeeded:
        break;
    }
  }
  const TimePoint deadline = deadline_of(reported_at, timeout);
  if (unknown != nullptr && now >= deadline) {
    return Blocked{"Nobody reported task " + in_quotes(unknown->task) +
                   ", which it waits for, within " + print_duration(timeout) +
                   ". Retry it by hand if it can do without."};
  }
  if (unknown != nullptr) return Wait{deadline};
  if (waits) return Wait{};
  return Ready{};
}

std::string way_in_words(const std::vector<std::string>& way) {
  std::string text;
  for (const std::string& each : way) text += (text.empty() ? "" : " waits for ") + in_quotes(each);
  return text;
}

Blocked blocked_by_cycle(const std::vector<std::string>& way) {
  return {"These tasks wait for each other: " + way_in_words(way) +
          ". Retry the one by hand that can do without."};
}

Result<void> check_prerequisites(const std::vector<std::string>& tasks) {
  const auto refused = [](std::string why) {
    return Error{Code::invalid_argument, "tasks.depends_on", "depends_on " + std::move(why)};
  };
  if (tasks.size() > most_prerequisites) {
    return refused("names " + std::to_string(tasks.size()) + " tasks; at most " +
                   std::to_string(most_prerequisites) + " can be waited for");
  }
  const std::set<std::string> distinct(tasks.begin(), tasks.end());
  if (distinct.size() != tasks.size()) return refused("names a task twice");
  if (distinct.contains("")) return refused("holds a task without a name");
  for (const std::string& task : tasks) {
    if (task.size() > longest_name) return refused("holds a name of more than 512 bytes");
  }
  return {};
}

Result<std::vector<std::string>> find_cycle(const std::string& task,
                                            const std::vector<std::string>& tasks,
                                            const WaitsFor& waits_for) {
  std::map<std::string, std::string> reached_from;
  std::vector<std::string> next;
  const auto reach = [&](const std::string& from, const std::vector<std::string>& all) {
    for (const std::string& each : all) {
      if (each == task) {
        auto way = from == task ? std::vector<std::string>{task} : way_to(from, reached_from);
        way.push_back(task);
        return way;
      }
      if (reached_from.emplace(each, from).second) next.push_back(each);
    }
    return std::vector<std::string>{};
  };
  if (auto way = reach(task, tasks); !way.empty()) return way;
  for (std::size_t followed = 0; !next.empty(); ++followed) {
    if (followed >= most_followed) {
      return Error{Code::full, "tasks.depends_on",
                   "Task " + in_quotes(task) + " would wait for more than " +
                       std::to_string(most_followed) + " tasks, one behind the other."};
    }
    const std::string each = std::move(next.back());
    next.pop_back();
    if (auto way = reach(each, waits_for(each)); !way.empty()) return way;
  }
  return std::vector<std::string>{};
}

void put_depends_on(Headers& headers, const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) headers.push_back({std::string(depends_on_header), task});
}

std::vector<std::string> depends_on(const Headers& headers) {
  std::vector<std::string> tasks;
  for (const Header& header : headers) {
    if (header.name == depends_on_header) tasks.push_back(header.value);
  }
  return tasks;
}

}  // namespace dlo
