#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/fault_file_system.h"
#include "support/must.h"

#include "dlo/journal/journal.h"

namespace dlo {

struct Seen {
  std::uint64_t sequence;
  std::uint8_t type;
  std::string body;
  Location location;
};

inline JournalOptions small_segments() {
  JournalOptions options;
  options.segment_size = 4096;
  return options;
}

/// A journal on a disk that can fail, reopened as often as a test likes.
class JournalTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Journal>> try_open(JournalOptions options = small_segments(),
                                            std::optional<JournalPosition> from = {}) {
    seen_.clear();
    report_ = {};
    return Journal::open(
        *disk_, options, from,
        [this](const Entry& entry) -> Result<void> {
          seen_.push_back({entry.sequence, entry.type, std::string(entry.body), entry.location});
          return {};
        },
        report_);
  }
  void open(JournalOptions options = small_segments()) {
    journal_.reset();
    journal_ = testing::must(try_open(options));
  }
  std::uint64_t append(const std::string& body, std::uint8_t type = 1) {
    const NewRecord record{type, {}, body};
    return testing::must(journal_->append({&record, 1}, {}));
  }
  std::uint64_t append_durable(const std::string& body) {
    const auto sequence = append(body);
    testing::must(journal_->durable(sequence));
    return sequence;
  }
  [[nodiscard]] std::vector<std::string> bodies() const {
    std::vector<std::string> all;
    for (const Seen& each : seen_) all.push_back(each.body);
    return all;
  }

  std::unique_ptr<testing::FaultFileSystem> disk_ = std::make_unique<testing::FaultFileSystem>();
  std::vector<Seen> seen_;
  RecoveryReport report_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace dlo
