#include "dlo/store/memory/memory_office.h"

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

class MemoryOfficeUnderTest final : public OfficeUnderTest {
 public:
  Office& office() override { return office_; }

 private:
  MemoryOffice office_;
};

OfficeBackend memory_backend() {
  return {"memory", [] { return std::make_unique<MemoryOfficeUnderTest>(); }, false};
}

INSTANTIATE_TEST_SUITE_P(Memory, OfficeSuite, ::testing::Values(memory_backend()), backend_name);

}  // namespace
}  // namespace dlo::testing
