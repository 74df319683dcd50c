#include "dlo/api/duties.h"

#include <utility>

#include "dlo/jobs/job_book.h"
#include "dlo/store/fenced_office.h"

namespace dlo::api {

struct Duties::Running {
  Running(const Parts& parts, std::optional<std::uint64_t> term)
      : fenced(term ? std::make_unique<FencedOffice>(parts.office, *term) : nullptr),
        office(fenced ? static_cast<Office&>(*fenced) : parts.office),
        book(office) {
    if (parts.jobs) {
      runner = std::make_unique<JobRunner>(office, book, parts.clock, parts.targets, *parts.jobs);
    }
    owners.start(office, parts.clock, parts.effects);
  }
  void stop() {
    owners.stop();
    if (runner) runner->stop();
  }

  std::unique_ptr<FencedOffice> fenced;
  Office& office;
  JobBook book;
  std::unique_ptr<JobRunner> runner;
  EffectKeepers owners;
};

std::shared_ptr<Duties::Running> Duties::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

void Duties::begin(std::optional<std::uint64_t> term) {
  end();
  auto begun = std::make_shared<Running>(parts_, term);
  const std::lock_guard lock(mutex_);
  running_ = std::move(begun);
}

void Duties::end() {
  std::shared_ptr<Running> over;
  {
    const std::lock_guard lock(mutex_);
    over.swap(running_);
  }
  if (over) over->stop();
}

void Duties::wake_jobs() {
  if (const auto now = running(); now && now->runner) now->runner->wake();
}

void Duties::ring(const std::string& kind) {
  if (const auto now = running()) now->owners.ring(kind);
}

void Duties::look_again() {
  wake_jobs();
  for (const auto& [kind, effect] : parts_.effects) ring(kind);
}

}  // namespace dlo::api
