#include "dlo/broker/embedded/message_shelf.h"

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace dlo::embedded {
namespace {

TEST(MessageShelf, HandsOutAgainWhatWasPutBackAndKeepsOnlySoMuch) {
  std::thread([] {
    std::vector<void*> pieces;
    for (std::size_t i = 0; i < 2 * MessageShelf::most; ++i) {
      pieces.push_back(MessageShelf::take(400));
    }
    const std::set<void*> kept(pieces.begin(), pieces.begin() + MessageShelf::most);
    for (void* piece : pieces) MessageShelf::put(piece, 400);
    if (!MessageShelf::keeps) return;
    void* other = MessageShelf::take(800);
    EXPECT_FALSE(kept.contains(other)) << "it would be too small";
    MessageShelf::put(other, 800);
    std::set<void*> again;
    for (std::size_t i = 0; i < MessageShelf::most; ++i) again.insert(MessageShelf::take(400));
    EXPECT_EQ(again, kept);
    for (void* piece : again) MessageShelf::put(piece, 400);
  }).join();
}

/// Goes after everything that its thread made later.
struct Survivor {
  std::shared_ptr<std::string> message;
};

TEST(MessageShelf, AMessageMayOutliveTheShelfOfItsThreadAndTheThread) {
  std::shared_ptr<std::string> elsewhere;
  std::thread([&] {
    static thread_local Survivor survivor;
    survivor.message.reset();
    const auto made = [] {
      return std::allocate_shared<std::string>(ShelfAllocator<std::string>(), 100, 'x');
    };
    made().reset();  // now there is a shelf
    survivor.message = made();
    elsewhere = made();
  }).join();
  EXPECT_EQ(*elsewhere, std::string(100, 'x'));
  elsewhere.reset();
}

}  // namespace
}  // namespace dlo::embedded
