#pragma once

#include <condition_variable>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/must.h"
#include "unit/api/described.h"

#include "dlo/api/service.h"
#include "dlo/engine/clock.h"
#include "dlo/json/text/value.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::api {

/// An exchange whose answer is waited for.
class Asked final : public HttpExchange {
 public:
  void send(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    response_ = std::move(response);
    over_ = true;
    changed_.notify_all();
  }
  void begin(HttpResponse head) override {
    const std::lock_guard lock(mutex_);
    response_ = std::move(head);
  }
  Room write(std::string_view piece) override {
    const std::lock_guard lock(mutex_);
    response_.body += piece;
    if (++pieces_ % 2 == 0) return Room::full;  // so that going on is tried as well
    return Room::yes;
  }
  void when_room(std::function<void(bool)> then) override { then(true); }
  void end() override {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool gone() const noexcept override { return looks_left_.fetch_sub(1) <= 0; }
  void leave() { looks_left_ = 0; }
  /// Leaves after somebody has looked so often whether it is still there.
  void leave_after(int looks) { looks_left_ = looks; }
  [[nodiscard]] bool answered() {
    const std::lock_guard lock(mutex_);
    return over_;
  }
  /// What was written of an answer in pieces.
  [[nodiscard]] std::string so_far() {
    const std::lock_guard lock(mutex_);
    return response_.body;
  }
  HttpResponse answer() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [this] { return over_; })) {
      ADD_FAILURE() << "nobody answered";
      return response_;
    }
    if (asked_) {
      for (const auto& each : Described::shared().exchange(*asked_, response_)) {
        ADD_FAILURE() << "The description of the API (src/dlo/api/openapi/) and the server differ: "
                      << each << "\nThe answer was: " << response_.body.substr(0, 2'000);
      }
      asked_.reset();
    }
    return response_;
  }
  /// What is asked: the answer is held against the description of the API.
  void asks(const HttpRequest& request) { asked_ = request; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  HttpResponse response_;
  std::optional<HttpRequest> asked_;
  mutable std::atomic<int> looks_left_{1'000'000'000};
  bool over_ = false;
  int pieces_ = 0;
};

/// An answer, and a look into its JSON.
struct Told {
  HttpResponse http;
  [[nodiscard]] int status() const { return http.status; }
  [[nodiscard]] const std::string& body() const { return http.body; }
  [[nodiscard]] bool says(std::string_view text) const {
    return http.body.find(text) != std::string::npos;
  }
  [[nodiscard]] std::string header(std::string_view name) const {
    for (const auto& each : http.headers) {
      if (same_ignoring_case(each.name, name)) return each.value;
    }
    return "";
  }
  /// What stands at a path: strings by what they say, other scalars as written; "?" if nothing.
  [[nodiscard]] std::string at(std::string_view path) const {
    const auto found = find_paths(http.body, {testing::must(JsonPath::parse(path))}).front();
    if (!found.kind) return "?";
    if (*found.kind == JsonKind::string) return json_unescape(found.raw);
    return std::string(found.raw);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Told& told) {
  return out << told.http.status << " " << told.http.body;
}

/// The whole API over an office in memory, without sockets.
class Asking : public ::testing::Test {
 protected:
  using Headers = std::vector<HttpHeader>;

  std::shared_ptr<Asked> begin(const std::string& method, const std::string& target,
                               std::string body = "", Headers headers = {},
                               std::shared_ptr<Asked> asked = std::make_shared<Asked>()) {
    if (service_ == nullptr) start();
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers = std::move(headers);
    asked->asks(request);
    service_->handle(std::move(request), asked);
    return asked;
  }
  Told ask(const std::string& method, const std::string& target, std::string body = "",
           Headers headers = {}) {
    return {begin(method, target, std::move(body), std::move(headers))->answer()};
  }
  Told get(const std::string& target, Headers headers = {}) {
    return ask("GET", target, "", std::move(headers));
  }
  /// A request with a JSON body.
  Told say(const std::string& method, const std::string& target, std::string body,
           Headers headers = {}) {
    headers.push_back({"Content-Type", "application/json"});
    return ask(method, target, std::move(body), std::move(headers));
  }
  /// Reports a dead letter and answers its id.
  std::string dead(const std::string& members = "") {
    const Told told = say("POST", "/v1/dead-letters",
                          R"({"source":"payments","error":"card expired")" +
                              (members.empty() ? "" : "," + members) + "}");
    EXPECT_EQ(told.status(), 201) << told;
    return told.at("id");
  }
  virtual void start() { service_ = std::make_unique<Service>(office_, nullptr, clock_, options_); }

  MemoryOffice office_;
  ManualClock clock_{testing::noon};
  ServiceOptions options_;
  std::unique_ptr<Service> service_;
};

}  // namespace dlo::api
