#include "conformance/broker/broker_suite.h"
#include "conformance/broker/saboteur.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::testing {
namespace {

EmbeddedOptions small() {
  EmbeddedOptions options;
  options.journal.segment_size = 1U << 20U;
  return options;
}

class EmbeddedRig final : public Rig {
 public:
  explicit EmbeddedRig(const SourceOptions& options) : options_(options) { open(noon); }

  Broker& broker() override { return *queue_; }

  void restart(Restart how, TimePoint now) override {
    if (how == Restart::clean) {
      must(queues_->close());
    } else {
      // A copy taken while it works is what the death of its process leaves.
      auto copy = std::make_unique<TemporaryDirectory>();
      std::filesystem::copy(dir_->path(), copy->path(), std::filesystem::copy_options::recursive);
      dir_.swap(copy);
      queue_.reset();
      queues_.reset();
    }
    queue_.reset();
    queues_.reset();
    open(now);
  }

  void put_undecodable(const std::string& bytes, TimePoint now) override {
    Failure why;
    why.type = "JsonException";
    why.text = "no JSON";
    must(queue_->publish_undecodable(bytes, why, now));
  }

 private:
  void open(TimePoint now) {
    queues_ = must(EmbeddedQueues::open(dir_->path(), now, small()));
    queue_ = must(queues_->declare(options_));
  }

  SourceOptions options_;
  std::unique_ptr<TemporaryDirectory> dir_ = std::make_unique<TemporaryDirectory>();
  std::unique_ptr<EmbeddedQueues> queues_;
  std::unique_ptr<EmbeddedQueue> queue_;
};

BrokerBackend embedded() {
  return {"Embedded", {}, [](const SourceOptions& options) {
            return std::make_unique<EmbeddedRig>(options);
          }};
}

INSTANTIATE_TEST_SUITE_P(Embedded, BrokerSuite, ::testing::Values(as_asked(embedded())),
                         backend_name);

}  // namespace
}  // namespace dlo::testing
