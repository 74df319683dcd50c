// An office inside a program: a queue, a handler, and a place on disk for what it could not do.
#include <cstdlib>
#include <dlo/dlo.h>
#include <iostream>

template <typename T>
T must(dlo::Result<T> result) {
  if (result) return std::move(*result);
  std::cerr << result.error().detail << '\n';
  std::exit(1);
}

int main() {
  const auto office = must(dlo::SqliteOffice::open("office"));
  auto rules = must(dlo::RuleBook::build(must(dlo::find_profile("standard")), dlo::re2_compiler()));
  const dlo::SystemClock clock;

  dlo::MemoryBroker orders({.source = "orders"});
  for (const char* body : {"5 EUR", "no amount", "7 EUR"}) {
    const auto order = std::make_shared<dlo::Message>(dlo::Message{.id = body, .payload = body});
    must(orders.publish({{{.message = order}}}, clock.instant()));
  }

  dlo::HandlerTable handlers;
  handlers.set_default(std::make_shared<dlo::FunctionHandler>(
      [](const dlo::Message& order, const dlo::RunContext& run) -> dlo::Outcome {
        if (order.payload != "no amount") return {};  // done
        std::cout << "attempt " << run.counters.attempt << " failed\n";
        return {dlo::OutcomeKind::failed, {.text = "order has no amount", .status = 422}};
      }));

  const auto book = std::make_shared<const dlo::RuleBook>(std::move(rules));
  dlo::Processor processor({orders, *office, book, handlers, clock}, {});
  std::cout << processor.drain() << " orders processed\n";  // or run(stop_token), with threads

  for (const auto& letter : must(office->list({})).rows) {
    std::cout << "dead letter " << letter.message_id << ", " << dlo::name_of(letter.status) << ": "
              << letter.reason << ", " << letter.error_text << '\n';
  }
}
