// A durable queue and nothing else: no server, no configuration, one directory.
#include <cstdlib>
#include <dlo/queue/queue.h>
#include <iostream>

template <typename Result>
auto must(Result result) {
  if (!result) std::exit((std::cerr << result.error().detail << '\n', 1));
  if constexpr (requires { *result; }) return std::move(*result);
}

int main() {
  const auto queue = must(dlo::Queue::open("jobs"));
  for (const char* job : {"resize cat.png", "resize dog.gif"}) must(queue->send(job));
  while (const auto job = must(queue->receive())) {
    std::cout << "attempt " << job->attempt() << ": " << job->body() << '\n';
    if (job->body().ends_with(".png")) {
      must(job->complete());
    } else {
      const auto fate = must(job->fail("only png is supported"));
      std::cout << (fate.dead ? "dead\n" : "again later\n");
    }
  }
  std::cout << must(queue->stats()).delayed << " waits for its next attempt\n";
}
