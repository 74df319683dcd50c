#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "dlo/core/id.h"
#include "dlo/core/message.h"

namespace dlo {

/// Which delivery a record stands for, where only the content of a message tells (R3). Any number
/// of identical messages may be meant, so each record stands for one delivery, and no more of them
/// are acknowledged than there are records: in doubt there are two records, and never none.
/// Threads  Any method from any thread.
class ContentClaims {
 public:
  /// For a delivery in hand. False: it stands for another one.
  bool claim(const RecordId& record);
  /// The office knows that its delivery is about to be acknowledged: nobody finds it any more.
  void used(const RecordId& record);
  /// Its delivery was lost and is acknowledged nowhere: `message` comes again, and may have it.
  void lost(const Message& message, const RecordId& record);
  /// One that was lost after the office had been told that it was used.
  [[nodiscard]] std::optional<RecordId> take(const Message& message);

 private:
  std::mutex mutex_;
  std::set<RecordId> claimed_;
  std::multimap<RecordId, RecordId> free_;  // by what `identify` says of the content alone
};

}  // namespace dlo
