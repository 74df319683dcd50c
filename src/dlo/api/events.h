#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dlo/api/event_feed.h"
#include "dlo/api/router.h"
#include "dlo/core/time.h"
#include "dlo/engine/clock.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Whether whoever came with this `Authorization` may still listen. From any thread.
using StillAdmitted = std::function<bool(const std::string& authorization)>;

struct EventOptions {
  Millis look{200};                // how often it is asked whether something happened
  Millis heartbeat{15'000};        // a sign of life after so much silence
  std::size_t most_readers = 200;  // more are answered 503
};

/// `GET /v1/events`: what happens, told to whoever listens (server-sent events). One thread asks
/// the office what changed and tells everybody at the same place the same; somebody who reads
/// slowly, or comes back with `Last-Event-ID`, goes on from his own place. Nothing is kept for
/// anybody: the place is a number of the office, so it also holds across restarts, and memory does
/// not grow. A stream ends before it tells anything that its token is not good for any more.
/// Threads  Any method from any thread.
class Events {
 public:
  Events(Office& office, const Clock& clock, EventOptions options = {},
         StillAdmitted admitted = {});
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Ends all streams; later ones end at once.
  void close();

  [[nodiscard]] std::vector<Route> routes();

 private:
  struct Reader {
    ExchangePtr exchange;
    std::string authorization;
    bool over = false;  // only the thread that tells looks at it
    EventFilter filter;
    EventPlace place;
    TimePoint told{};
    std::atomic<bool> has_room{true};
  };
  using ReaderPtr = std::shared_ptr<Reader>;

  void open(const Request& request, const ExchangePtr& exchange);
  void greet(const ReaderPtr& reader, const std::optional<EventPlace>& wanted, EventPlace newest);
  void run();
  /// True if somebody has more to hear at once.
  bool look(const std::vector<ReaderPtr>& readers);
  void tell(const ReaderPtr& reader, const std::string& text);

  EventFeed feed_;
  const Clock& clock_;
  const EventOptions options_;
  const StillAdmitted admitted_;  // empty: everybody
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReaderPtr> readers_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace dlo::api
