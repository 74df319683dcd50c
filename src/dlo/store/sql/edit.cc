#include "dlo/store/sql/edit.h"

namespace dlo::sql {

PreparedAppend prepare_append(const Append& append) {
  PreparedAppend prepared;
  prepared.record = inserted(*append.record, 0, 0);
  prepared.envelope = encode_envelope(*append.record->message);
  prepared.facts = encode_facts(*append.record);
  prepared.words = searched_error(append.record->failure);
  prepared.attempts.reserve(append.attempts.size());
  for (const Attempt& attempt : append.attempts) {
    prepared.attempts.push_back(encode_attempt(attempt));
  }
  return prepared;
}

}  // namespace dlo::sql
