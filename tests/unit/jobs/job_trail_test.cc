#include "dlo/jobs/job_trail.h"

#include <gtest/gtest.h>
#include <string>

#include "unit/jobs/fixture.h"

#include "dlo/jobs/batch.h"
#include "dlo/jobs/job_keeper.h"

namespace dlo {
namespace {

using std::chrono::days;

/// Values of messages in all places of a job in which people write them.
JobSpec telling() {
  JobSpec spec;
  spec.query =
      "source:payments tag:vip body.card:zqbody -header.tenant:zqheader payload:zqpayload "
      "error:zqerror zqfree";
  spec.recipe = R"([{"set":"card","value":"zqrecipe"}])";
  spec.replay.emplace();
  spec.replay->target = "orders";
  spec.replay->set_headers = {{"authorization", "zqset", HeaderType::text}};
  return spec;
}

class JobTrailTest : public JobsTest {
 protected:
  std::string trail() {
    std::string all;
    for (const AuditEntry& entry : must(office_.extras().ledger->audit(0, 100))) {
      all += entry.act.act + " " + entry.act.detail + "\n";
    }
    return all;
  }
};

TEST_F(JobTrailTest, WhateverBecomesOfAJobNoValueOfAMessageIsInTheTrail) {
  plan(telling());
  must(book_.change("j1", JobVerb::start, "ana", noon));
  must(book_.change("j1", JobVerb::cancel, "ana", noon));
  must(book_.wound_up("j1"));
  must(forget_jobs(office_, days{30}, noon + days{31}));
  const std::string kept = trail();
  EXPECT_NE(kept.find("job.remove"), std::string::npos) << kept;
  EXPECT_EQ(kept.find("zq"), std::string::npos) << kept;
}

TEST_F(JobTrailTest, TheTrailStillSaysWhatAJobWasAbout) {
  plan(telling());
  const std::string kept = trail();
  for (const char* each :
       {"source:payments", "tag:vip", R"(body.card:\"***\")", R"(-header.tenant:\"***\")",
        R"("target":"orders")", R"("name":"authorization")"}) {
    EXPECT_NE(kept.find(each), std::string::npos) << each << "\n" << kept;
  }
  EXPECT_NE(kept.find(digest_json(telling().recipe)), std::string::npos) << kept;
}

TEST_F(JobTrailTest, TheJobItselfKeepsWhatItNeeds) {
  const Job job = plan(telling());
  EXPECT_NE(job.spec.query.find("zqbody"), std::string::npos);
  EXPECT_EQ(must(book_.get("j1")).spec, job.spec);
}

TEST(JobTrail, AQuestionThatCannotBeReadIsHiddenWhole) {
  Job job;
  job.spec.query = "status: body.card:zq";
  EXPECT_EQ(for_trail(job).spec.query, "***");
}

}  // namespace
}  // namespace dlo
