#include "dlo/server/answers_together.h"

#include <utility>

#include "dlo/server/http_connection.h"

namespace dlo {
namespace {

thread_local AnswersTogether* innermost = nullptr;

}  // namespace

AnswersTogether::AnswersTogether() noexcept : outer_(std::exchange(innermost, this)) {}

AnswersTogether::~AnswersTogether() {
  innermost = outer_;
  HttpConnection::deliver_all(std::move(kept_));
}

AnswersTogether* AnswersTogether::current() noexcept {
  return innermost;
}

}  // namespace dlo
