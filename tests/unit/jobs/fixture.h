#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/must.h"

#include "dlo/jobs/job_book.h"
#include "dlo/jobs/job_step.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo {

using testing::must;
using testing::noon;

/// An office with dead letters numbered from 0, each a millisecond younger than the one before.
class JobsTest : public ::testing::Test {
 protected:
  static RecordId id_of(std::size_t i) { return RecordId{{7, i}}; }

  void die(std::size_t from, std::size_t count, const std::string& source = "payments",
           const std::string& key = "") {
    for (std::size_t i = from; i < from + count; ++i) {
      auto message = std::make_shared<Message>();
      message->source = source;
      message->id = std::to_string(i);
      message->key = key;
      auto record = std::make_shared<DeadLetter>();
      record->id = id_of(i);
      record->message = message;
      record->category = "network";
      record->reason = "exhausted";
      record->died_at = noon + Millis{static_cast<std::int64_t>(i)};
      const Change change = Append{record, {}};
      must(office_.apply({&change, 1}));
    }
  }
  Job plan(JobSpec spec) { return must(book_.plan(std::move(spec), "j1", "ana", noon)); }
  Job plan_all(Act act = Act::resolve) {
    JobSpec spec;
    spec.act = act;
    spec.query = "source:payments";
    return plan(spec);
  }
  void move(std::size_t i, Status to) {
    Transition transition;
    transition.id = id_of(i);
    transition.to = to;
    transition.now = noon;
    const Change change = transition;
    must(office_.apply({&change, 1}));
  }
  Status status_of(std::size_t i) { return must(office_.get(id_of(i))).record.status; }
  /// Steps of `most` until the job is over; how many there were.
  int finish(const Job& job, std::size_t most) {
    for (int steps = 1; steps < 1000; ++steps) {
      const auto stepped = must(step(office_, job, must(book_.progress(job.id)), most, noon));
      EXPECT_EQ(stepped.progress, must(book_.progress(job.id)));
      if (stepped.over) return steps;
    }
    ADD_FAILURE() << "the job does not end";
    return 0;
  }
  JobCounts counts(const Job& job) { return must(book_.progress(job.id)).counts; }
  std::map<std::string, int> outcomes(const Job& job) {
    std::map<std::string, int> all;
    for (const Document& each : must(book_.items(job.id, "", 10'000))) ++all[each.body];
    return all;
  }

  MemoryOffice office_;
  JobBook book_{office_};
};

}  // namespace dlo
