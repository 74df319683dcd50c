// NATS JetStream: work-queue streams in files, durable pull consumers, every settlement confirmed.
// JetStream has no dead-letter set: a dead letter is published to a second stream and then
// terminated in the first, and redriven the same way back. Its acknowledgements do not wait for a
// sync.
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peers/nats_wire.h"
#include "peers/support/connection.h"
#include "peers/support/failure.h"
#include "peers/support/number.h"
#include "peers/support/peer.h"
#include "peers/support/pipelined.h"

namespace dlo::peers {
namespace {

using nats::address;
using nats::Inbox;
using nats::publish;
using nats::Said;

const std::string queue = "Q";
const std::string dead = "DEAD";

std::string subject_of(const std::string& stream) {
  return stream + ".x";
}

/// The answer to a request for messages lasts longer than any run.
std::string request(long messages) {
  return "{\"batch\":" + std::to_string(messages) + ",\"expires\":60000000000}";
}

std::string next_message(const std::string& stream) {
  return "$JS.API.CONSUMER.MSG.NEXT." + stream + ".w";
}

void expect_stored(const Said& said) {
  if (said.data.find("\"seq\"") != std::string_view::npos) return;
  fail("nats did not store a message: " + std::string{said.data});
}

/// How `stream` is emptied: what is sent to end a lease, and where a copy goes before that.
struct Drain {
  std::string stream;
  std::string settlement;
  std::string copy_to;
};

Drain drain_for(Fate fate) {
  const auto nanos = std::chrono::nanoseconds{retry_delay}.count();
  switch (fate) {
    case Fate::done:
      return {queue, "+ACK", ""};
    case Fate::retry:
      return {queue, "-NAK {\"delay\":" + std::to_string(nanos) + "}", ""};
    case Fate::dead:
      return {queue, "+TERM", dead};
  }
  fail("no such fate");
}

/// Empties a stream on a group of connections.
class Emptying {
 public:
  Emptying(const Drain& drain, Consumers consumers, Budget& budget, Receipts& receipts)
      : drain_(drain),
        batched_(consumers == Consumers::one_in_batches),
        batch_(batched_ ? 1000 : 1),
        budget_(budget),
        receipts_(receipts) {}

  Measured run(int port) {
    auto connections = nats::open(port, batched_ ? 1 : workers);
    work_.resize(connections.size());
    drive(
        connections, [this](Connection& connection) { ask_for_more(connection); },
        [this](Connection& connection, std::string_view bytes) {
          const Said said = nats::read(bytes);
          handle(connection, said);
          return said.bytes;
        },
        [this] { return budget_.spent() && settled_ == budget_.taken(); });
    return budget_.measured(settled_, std::move(latencies_));
  }

 private:
  /// What a connection has on its way.
  struct Work {
    long due = 0;                     // messages asked for that have not come
    std::deque<Instant> requests;     // that no message has come for yet
    std::deque<std::string> copying;  // leases whose copy is not acknowledged yet
    std::deque<Instant> settling;     // settlements that are not confirmed yet

    [[nodiscard]] bool idle() const { return due == 0 && copying.empty() && settling.empty(); }
  };

  void ask_for_more(Connection& connection) {
    Work& work = work_[connection.id()];
    if (batched_ ? work.due > batch_ / 2 : !work.idle()) return;
    const Numbers wanted = budget_.take(batch_);
    if (wanted.count == 0) return;
    publish(connection.out, next_message(drain_.stream), address(connection, Inbox::delivered),
            request(wanted.count));
    work.due += wanted.count;
    work.requests.push_back(Clock::now());
  }

  void handle(Connection& connection, const Said& said) {
    Work& work = work_[connection.id()];
    if (said.is(Inbox::delivered)) {
      lease(connection, work, said);
    } else if (said.is(Inbox::published)) {
      expect_stored(said);
      settle(connection, work, work.copying.front());
      work.copying.pop_front();
    } else if (said.is(Inbox::settled)) {
      note_latency(work.settling);
      ++settled_;
    }
  }

  void lease(Connection& connection, Work& work, const Said& said) {
    if (said.is_status) fail("nats had no message although some are ready");
    receipts_.take(said.data);
    --work.due;
    if (!work.requests.empty()) note_latency(work.requests);
    if (drain_.copy_to.empty()) return settle(connection, work, said.reply_to);
    publish(connection.out, subject_of(drain_.copy_to), address(connection, Inbox::published),
            said.data);
    work.copying.emplace_back(said.reply_to);
  }

  void settle(Connection& connection, Work& work, std::string_view leased) {
    publish(connection.out, leased, address(connection, Inbox::settled), drain_.settlement);
    work.settling.push_back(Clock::now());
  }

  void note_latency(std::deque<Instant>& sent) {
    latencies_.add(Clock::now() - sent.front());
    sent.pop_front();
  }

  const Drain& drain_;
  bool batched_;
  long batch_;
  Budget& budget_;
  Receipts& receipts_;
  std::vector<Work> work_;
  Latencies latencies_;
  long settled_ = 0;
};

class NatsPeer final : public Peer {
 public:
  NatsPeer(int port, const Bodies& bodies) : port_(port), bodies_(bodies) {
    create(queue);
    create(dead);
  }

  Measured enqueue(Callers callers, Budget& budget) override {
    auto connections = nats::open(port_, callers.count);
    const auto put = [](Connection& connection, const std::string& body) {
      publish(connection.out, subject_of(queue), address(connection, Inbox::published), body);
    };
    const auto eat = [](Connection&, std::string_view bytes) {
      const Said said = nats::read(bytes);
      const bool acknowledges = said.is(Inbox::published);
      if (acknowledges) expect_stored(said);
      return Eaten{said.bytes, acknowledges ? 1 : 0};
    };
    return enqueue_pipelined(connections, callers.outstanding, bodies_, budget, put, eat);
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override {
    const Drain drain = drain_for(fate);
    return Emptying{drain, consumers, budget, receipts}.run(port_);
  }

  Measured redrive() override {
    const long messages = tally().dead;
    // Which of the messages are dead is not known here; numbers are below what was ever published.
    Receipts receipts{bodies_, messages + tally().ready};
    Budget budget{messages, Seconds{60}};
    const Drain back{dead, "+ACK", queue};
    return Emptying{back, Consumers::one_in_batches, budget, receipts}.run(port_);
  }

  Measured end_to_end(Pace& pace, Receipts& receipts) override;

  Tally tally() override {
    const auto consumer = nats::call(port_, "$JS.API.CONSUMER.INFO." + queue + ".w", "");
    const auto stream = nats::call(port_, "$JS.API.STREAM.INFO." + dead, "");
    return {number_after(consumer, "\"num_pending\":"),
            number_after(consumer, "\"num_ack_pending\":"), number_after(stream, "\"messages\":")};
  }

 private:
  void create(const std::string& stream) const {
    nats::call(port_, "$JS.API.STREAM.CREATE." + stream,
               "{\"name\":\"" + stream + "\",\"subjects\":[\"" + subject_of(stream) +
                   "\"],\"retention\":\"workqueue\",\"storage\":\"file\",\"num_replicas\":1,"
                   "\"discard\":\"old\"}");
    nats::call(port_, "$JS.API.CONSUMER.DURABLE.CREATE." + stream + ".w",
               "{\"stream_name\":\"" + stream +
                   "\",\"config\":{\"durable_name\":\"w\",\"ack_policy\":\"explicit\","
                   "\"ack_wait\":120000000000,\"max_deliver\":20,\"max_ack_pending\":10000000,"
                   "\"deliver_policy\":\"all\",\"replay_policy\":\"instant\"}}");
  }

  static long number_after(const std::string& json, std::string_view key) {
    const auto at = json.find(key);
    if (at == std::string::npos) fail("nats did not say " + std::string{key} + " in " + json);
    return number_in(std::string_view{json}.substr(at + key.size()));
  }

  int port_;
  const Bodies& bodies_;
};

Measured NatsPeer::end_to_end(Pace& pace, Receipts& receipts) {
  constexpr long batch = 100;
  auto connections = nats::open(port_, 2);  // 0 sends, 1 receives
  Latencies latencies;
  std::string body;
  long due = 0;
  long settled = 0;
  pace.start();
  const auto fill = [&](Connection& connection) {
    if (connection.id() == 0) {
      pace.send_due([&](long number) {
        bodies_.write(number, body);
        publish(connection.out, subject_of(queue), address(connection, Inbox::published), body);
      });
    } else if (due <= batch / 2) {
      publish(connection.out, next_message(queue), address(connection, Inbox::delivered),
              request(batch));
      due += batch;
    }
  };
  const auto eat = [&](Connection& connection, std::string_view bytes) {
    const Said said = nats::read(bytes);
    if (said.is(Inbox::delivered) && !said.is_status) {
      latencies.add(Clock::now() - pace.due(receipts.take(said.data)));
      --due;
      publish(connection.out, said.reply_to, address(connection, Inbox::settled), "+ACK");
    } else if (said.is(Inbox::settled)) {
      ++settled;
    }
    return said.bytes;
  };
  drive(
      connections, fill, eat, [&] { return settled == pace.messages(); },
      [&] { return pace.wake(); });
  return pace.measured(settled, std::move(latencies));
}

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<NatsPeer>(port_of(where), bodies);
  });
}
