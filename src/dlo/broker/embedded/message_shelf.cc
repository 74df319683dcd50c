#include "dlo/broker/embedded/message_shelf.h"

namespace dlo::embedded {
namespace {

struct Piece {
  Piece* next;
};

/// Without a destructor, so that a message may outlive its thread's end.
struct Shelf {
  Piece* first = nullptr;
  std::size_t count = 0;
  std::size_t size = 0;  // of the pieces
  bool closed = false;
};
constinit thread_local Shelf shelf;

/// Empties it when the thread ends.
struct Closing {
  ~Closing() {
    while (shelf.first != nullptr) {
      Piece* piece = shelf.first;
      shelf.first = piece->next;
      ::operator delete(piece);
    }
    shelf.closed = true;
  }
  void begin() const noexcept {}
};
thread_local const Closing closing;

}  // namespace

void* MessageShelf::take(std::size_t size) {
  if (shelf.first == nullptr || size != shelf.size) return ::operator new(size);
  Piece* piece = shelf.first;
  shelf.first = piece->next;
  --shelf.count;
  return piece;
}

void MessageShelf::put(void* memory, std::size_t size) noexcept {
  if (shelf.size == 0) {
    shelf.size = size;
    closing.begin();  // from here on the thread's end empties it
  }
  if (!keeps || shelf.closed || size != shelf.size || shelf.count == most) {
    return ::operator delete(memory);
  }
  shelf.first = ::new (memory) Piece{shelf.first};
  ++shelf.count;
}

}  // namespace dlo::embedded
