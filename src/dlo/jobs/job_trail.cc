#include "dlo/jobs/job_trail.h"

#include "dlo/core/sha256.h"
#include "dlo/jobs/batch.h"
#include "dlo/json/text/mask.h"
#include "dlo/query/query_text.h"

namespace dlo {
namespace {

bool may_be_secret(Field field) {
  return field == Field::header || field == Field::body || field == Field::error ||
         field == Field::payload;
}

std::string without_values(const Job& job) {
  auto query = parse_query(job.spec.query, job.created_at);
  if (!query) return std::string(mask_text);  // which of it are values is not known
  for (std::string* words : {&query->error_words, &query->payload_words}) {
    if (!words->empty()) *words = mask_text;
  }
  for (FieldTest& test : query->tests) {
    if (may_be_secret(test.field)) test.values = {std::string(mask_text)};
  }
  return print_query(*query);
}

}  // namespace

Job for_trail(Job job) {
  job.spec.query = without_values(job);
  if (!job.spec.recipe.empty()) job.spec.recipe = digest_json(job.spec.recipe);
  if (!job.spec.replay) return job;
  for (Header& header : job.spec.replay->set_headers) {
    header.value = "sha256:" + to_hex(sha256(header.value));
  }
  return job;
}

}  // namespace dlo
