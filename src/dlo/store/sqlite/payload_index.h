#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "dlo/store/sqlite/damage.h"
#include "dlo/store/sqlite/readers.h"

namespace dlo::sqlite {

/// How far the payload index has come.
struct IndexProgress {
  std::int64_t number = 0;   // records up to here have been looked at
  std::int64_t leaving = 0;  // and rows of `leaving_payloads` up to here
};
[[nodiscard]] IndexProgress read_progress(Readers::Turn& index);
/// How much of the office lies beyond.
[[nodiscard]] std::uint64_t count_unindexed(Readers::Turn& office, const IndexProgress& progress);

/// Words of payloads, in a file of its own that holds nothing which is not in the office. So it
/// needs no sync, never makes a commit wait, and is built again if it is lost, damaged or of
/// another office. A thread of low priority follows the office; a search judges what it has not
/// reached yet row by row, so that being behind costs time and never a new record. (The words of a
/// payload that was replaced are found once it has followed.)
class PayloadIndex {
 public:
  /// `forget` removes rows of `leaving_payloads` up to a number, through the office's writer.
  /// `adds` false: it follows without taking anything in, and forgets what it had. Once the office
  /// was found damaged, by it or by others, the file stays as it is; `damage` outlives this.
  PayloadIndex(std::string office, std::string path, bool adds,
               std::function<void(std::int64_t)> forget, Damage& damage);
  ~PayloadIndex();
  PayloadIndex(const PayloadIndex&) = delete;
  PayloadIndex& operator=(const PayloadIndex&) = delete;

  /// Something was written.
  void wake() noexcept;

 private:
  struct File;  // the index, opened for writing

  void work();
  /// Follows until there is nothing more to be looked at. False: something failed.
  [[nodiscard]] bool catch_up();
  void open_file();
  /// False: the office has more to be looked at.
  [[nodiscard]] bool step();
  [[nodiscard]] bool follow(Readers::Turn& office);
  void follow_leaving(Readers::Turn& office, IndexProgress& progress);
  void follow_arrived(Readers::Turn& office, IndexProgress& progress);
  void forget_done();
  /// False: stop.
  [[nodiscard]] bool wait_for_news(bool after_failure);
  [[nodiscard]] bool is_stopping();

  const std::string path_;
  const bool adds_;
  const std::function<void(std::int64_t)> forget_;
  Damage& damage_;
  Readers office_;
  std::unique_ptr<File> file_;
  std::int64_t forgotten_ = 0;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool news_ = true;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace dlo::sqlite
