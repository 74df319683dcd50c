#include "dlo/broker/memory/memory_broker.h"

#include "conformance/broker/broker_suite.h"
#include "conformance/broker/saboteur.h"

namespace dlo::testing {
namespace {

class MemoryRig final : public Rig {
 public:
  explicit MemoryRig(const SourceOptions& options) : broker_(options) {}
  Broker& broker() override { return broker_; }
  // Its memory is its disk: what a restart means to those who hold leases is that they ended.
  void restart(Restart /*how*/, TimePoint now) override { must(broker_.end_all_leases(now)); }
  void put_undecodable(const std::string& bytes, TimePoint now) override {
    Failure why;
    why.type = "JsonException";
    why.text = "no JSON";
    must(broker_.publish_undecodable(bytes, why, now));
  }

 private:
  MemoryBroker broker_;
};

BrokerBackend memory() {
  return {"Memory", {}, [](const SourceOptions& options) {
            return std::make_unique<MemoryRig>(options);
          }};
}

INSTANTIATE_TEST_SUITE_P(Memory, BrokerSuite, ::testing::Values(as_asked(memory())), backend_name);

}  // namespace
}  // namespace dlo::testing
