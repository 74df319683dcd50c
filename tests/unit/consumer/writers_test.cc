// What waits in the office for a queue of another broker.
#include "dlo/consumer/writers.h"

#include <array>
#include <gtest/gtest.h>
#include <memory>

#include "support/must.h"

#include "dlo/core/identity.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint noon{std::chrono::hours{12}};

TEST(WaitingWriter, CallsWhatWasPutOffWhenTheCircuitCloses) {  // R21
  MemoryOffice office;
  auto message = std::make_shared<Message>();
  message->id = "m1";
  message->source = "orders";
  message->payload = "{}";
  auto record = std::make_shared<DeadLetter>();
  record->id = RecordId{identify(*message)};
  record->message = message;
  record->status = Status::waiting;
  record->next_retry_at = noon;
  const Change append = Append{record, {}};
  must(office.apply({&append, 1}));

  OfficeSource source(office, "orders");
  consumer::WaitingWriter writer(source, nullptr);
  const auto taken = must(source.receive({1, 30s, {}}, noon));
  ASSERT_EQ(taken.size(), 1U);
  const std::array put_off{Settlement{taken[0].lease, Abandoned{false, noon + 1h, ""}}};
  must(source.settle(put_off, noon));
  EXPECT_TRUE(must(source.receive({1, 30s, {}}, noon + 1s)).empty());
  writer.circuit_closed();
  EXPECT_EQ(must(source.receive({1, 30s, {}}, noon + 1s)).size(), 1U);
}

}  // namespace
}  // namespace dlo::testing
