#pragma once

#include "dlo/store/memory/tables.h"

namespace dlo::memory {

/// Carries out one change on the tables. On failure the caller rolls back.
class Applier {
 public:
  explicit Applier(Tables& tables) : tables_(tables) {}

  Result<Applied> operator()(const Append& change);
  Result<Applied> operator()(const Transition& change);
  Result<Applied> operator()(const SourceSettled& change);
  Result<Applied> operator()(const AddAttempt& change);
  Result<Applied> operator()(const AddVersion& change);
  Result<Applied> operator()(const EditGroup& change);
  Result<Applied> operator()(const MergeGroups& change);
  Result<Applied> operator()(const SplitGroup& change);
  Result<Applied> operator()(const PutDocument& change);
  Result<Applied> operator()(const ExpectDocument& change);
  Result<Applied> operator()(const JobCheckpoint& change);
  Result<Applied> operator()(const AddAudit& change);
  Result<Applied> operator()(const Remove& change);

 private:
  Applied insert(const Append& change);
  Applied reopen(const EntryPtr& existing, const Append& change);
  Applied put(const EntryPtr& before, std::shared_ptr<Entry> after);
  Applied put(const Regrouping& groups);

  Tables& tables_;
};

}  // namespace dlo::memory
