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

class EmbeddedRig final : public Rig, public Yard {
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
      aside_.reset();
      queues_.reset();
    }
    queue_.reset();
    aside_.reset();
    queues_.reset();
    open(now);
  }

  void put_undecodable(const std::string& bytes, TimePoint now) override {
    Failure why;
    why.type = "JsonException";
    why.text = "no JSON";
    must(queue_->publish_undecodable(bytes, why, now));
  }

  Yard* yard() override {
    if (!has_yard_) {
      has_yard_ = true;
      declare();
    }
    return this;
  }
  Ids dead() override {
    Ids ids;
    for (const auto& each : must(queue_->dead_letters(100'000))) ids.push_back(each.message->id);
    return ids;
  }
  std::uint64_t redrive() override { return must(queue_->redrive()); }
  Broker& aside() override { return *aside_; }
  Result<std::uint64_t> move_aside() override { return queue_->move_to(*aside_); }
  Result<std::uint64_t> move_back() override { return aside_->move_to(*queue_); }

 private:
  void open(TimePoint now) {
    queues_ = must(EmbeddedQueues::open(dir_->path(), now, small(sealed_)));
    declare();
  }
  void declare() {
    queue_ = must(queues_->declare(options_, has_yard_));
    if (!has_yard_) return;
    auto aside = options_;
    aside.source += "-aside";
    aside_ = must(queues_->declare(aside));
  }

  SourceOptions options_;
  bool sealed_;
  bool has_yard_ = false;
  std::unique_ptr<TemporaryDirectory> dir_ = std::make_unique<TemporaryDirectory>();
  std::unique_ptr<EmbeddedQueues> queues_;
  std::unique_ptr<EmbeddedQueue> queue_;
  std::unique_ptr<EmbeddedQueue> aside_;  // of the yard
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
