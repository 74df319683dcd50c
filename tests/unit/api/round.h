#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/server/http_exchange.h"

namespace dlo::api {

/// An exchange whose round ends when a test says so.
class Round final : public HttpExchange {
 public:
  void send(HttpResponse) override {}
  void begin(HttpResponse) override {}
  Room write(std::string_view) override { return Room::gone; }
  void when_room(std::function<void(bool)> then) override { then(false); }
  void end() override {}
  [[nodiscard]] bool gone() const noexcept override { return false; }
  void after_round(std::function<void()> then) override { after_.push_back(std::move(then)); }
  void over() {
    auto all = std::move(after_);
    after_.clear();
    for (auto& each : all) each();
  }
  [[nodiscard]] std::size_t asked() const { return after_.size(); }

 private:
  std::vector<std::function<void()>> after_;
};

}  // namespace dlo::api
