#include "conformance/broker/broker_suite.h"
#include "conformance/broker/saboteur.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/vault/vault.h"

namespace dlo::testing {
namespace {

/// The same key in every life.
std::shared_ptr<const Sealer> a_sealer() {
  KeyDraw draw;
  draw.id.fill(7);
  const KeyRing ring{{master_key(draw)}};
  const std::vector<WrappedKey> keys{must(new_data_key(ring.keys.front(), 1, TimePoint{}, draw))};
  return std::make_shared<const Vault>(must(Vault::open(ring, keys)));
}

EmbeddedOptions small(bool sealed) {
  EmbeddedOptions options;
  if (sealed) options.sealer = a_sealer();
  options.journal.segment_size = 1U << 20U;
  return options;
}

class EmbeddedRig final : public Rig {
 public:
  EmbeddedRig(const SourceOptions& options, bool sealed) : options_(options), sealed_(sealed) {
    open(noon);
  }

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
    queues_ = must(EmbeddedQueues::open(dir_->path(), now, small(sealed_)));
    queue_ = must(queues_->declare(options_));
  }

  SourceOptions options_;
  bool sealed_;
  std::unique_ptr<TemporaryDirectory> dir_ = std::make_unique<TemporaryDirectory>();
  std::unique_ptr<EmbeddedQueues> queues_;
  std::unique_ptr<EmbeddedQueue> queue_;
};

BrokerBackend embedded(const char* name, bool sealed) {
  return {name, {}, [sealed](const SourceOptions& options) {
            return std::make_unique<EmbeddedRig>(options, sealed);
          }};
}

INSTANTIATE_TEST_SUITE_P(Embedded, BrokerSuite,
                         ::testing::Values(as_asked(embedded("Embedded", false)),
                                           as_asked(embedded("Sealed", true))),
                         backend_name);

}  // namespace
}  // namespace dlo::testing
