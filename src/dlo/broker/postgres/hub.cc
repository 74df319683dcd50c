#include "dlo/broker/postgres/hub.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

#include "dlo/broker/postgres/schema.h"

namespace dlo::postgres {
namespace {

using namespace std::chrono_literals;

constexpr auto listens_for = 20ms;  // other programs are told as often

std::uint64_t draw() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) ^ device();
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(digits[byte >> 4U]);
    out.push_back(digits[byte & 15U]);
  }
  return out;
}

}  // namespace

Hub::Hub(const std::string& address, const PostgresQueueOptions& options, const Instant& now)
    : address_(address),
      options_(options),
      opened_at_(now),
      holder_(static_cast<std::int64_t>(draw() >> 1U)),
      leases_(draw()),
      hands_(address, queue_settings(options.schema, false),
             std::max<std::size_t>(options.connections, 1)),
      desk_(address, queue_settings(options.schema, true),
            std::max<std::size_t>(options.connections, 1)),
      latest_(now) {
  const auto opened = Bell::Clock::now();
  {
    Pool::Turn turn(desk_);
    Connection& connection = turn.connection();
    place_ = "schema '" + options.schema + "' of " + connection.place();
    bring_up_to_date(connection, queue_holding(options.schema));
    incarnation_ = hex_of(connection.ask("SELECT name FROM incarnation").front().view(0));
    if (options.by_servers_clock) compare_clocks(connection, opened);
  }
  Link link(address_, queue_settings(options_.schema, false),
            [this](Connection& connection) { greet(connection); });
  (void)link.use();
  listener_ = std::jthread([this, kept = std::move(link)](const std::stop_token& stop) mutable {
    while (!stop.stop_requested()) listen_once(kept);
  });
}

Hub::~Hub() {
  close(opened_at_, true);
}

/// Of three tries the quickest is the most exact.
void Hub::compare_clocks(Connection& connection, Bell::Clock::time_point opened) {
  auto best = Bell::Clock::duration::max();
  for (int i = 0; i < 3; ++i) {
    const auto asked = Bell::Clock::now();
    const Rows shown = connection.ask(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", Params(), Plan::once);
    const auto took = Bell::Clock::now() - asked;
    if (took >= best) continue;
    best = took;
    const auto here = opened_at_.steady + std::chrono::floor<Millis>(asked + took / 2 - opened);
    ahead_ = shown.front().time(0) - here;
  }
}

/// Whoever holds the lock of its number lives.
void Hub::greet(Connection& connection) const {
  connection.run("LISTEN \"" + options_.schema + "\"");
  (void)connection.ask("SELECT pg_advisory_lock($1)", Params(holder_), Plan::once);
  (void)connection.ask("INSERT INTO holders(number) VALUES($1) ON CONFLICT DO NOTHING",
                       Params(holder_), Plan::once);
}

void Hub::note(const Instant& now) {
  const std::lock_guard lock(mutex_);
  latest_ = now;
}

Instant Hub::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

Failed Hub::in_doubt(const Failed& failed) {
  Failed doubt = failed;
  doubt.error.code = Code::timed_out;
  doubt.error.detail +=
      "; whether it was carried out is not known: look, or repeat it in a way that does no harm";
  return doubt;
}

std::shared_ptr<Bell> Hub::bell(int queue) {
  const std::lock_guard lock(mutex_);
  auto& found = bells_[queue];
  if (!found) found = std::make_shared<Bell>();
  return found;
}

void Hub::ring(int queue) {
  bell(queue)->ring();
  const std::lock_guard lock(mutex_);
  untold_.insert(queue);
}

/// A hint: who does not hear it looks by himself.
void Hub::tell_others(Connection& connection, int queue) const {
  (void)connection.ask("SELECT pg_notify(convert_from($1, 'UTF8'), convert_from($2, 'UTF8'))",
                       Params(options_.schema, std::to_string(queue)));
}

void Hub::listen_once(Link& link) {
  try {
    Connection& connection = link.use();
    for (const std::string& told : connection.hear(listens_for)) {
      int queue = 0;
      const auto read = std::from_chars(told.data(), told.data() + told.size(), queue);
      if (read.ec == std::errc{}) bell(queue)->ring();
    }
    std::set<int> news;
    {
      const std::lock_guard lock(mutex_);
      news.swap(untold_);
    }
    for (const int queue : news) tell_others(connection, queue);
    note_trouble("");
  } catch (const Failed& failed) {
    note_trouble(failed.error.detail);
    std::this_thread::sleep_for(100ms);
  }
}

void Hub::note_trouble(const std::string& trouble) {
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = trouble_.empty() != trouble.empty();
    trouble_ = trouble;
  }
  if (changed && options_.on_trouble) options_.on_trouble(trouble);
}

Result<std::uint64_t> Hub::end_leases_of_the_dead(const Instant& now) {
  return quickly("postgres.open", [&](Connection& connection) -> Result<std::uint64_t> {
    const Rows ended = connection.ask("SELECT end_leases_of_the_dead($1, $2, $3)",
                                      Params(holder_, even(now), now.wall), Plan::once);
    return static_cast<std::uint64_t>(ended.front().number(0));
  });
}

QueuesHealth Hub::health() const {
  const std::lock_guard lock(mutex_);
  if (trouble_.empty()) return {};
  return {false, trouble_};
}

void Hub::close(const Instant& now, bool as_if_killed) noexcept {
  if (is_closed()) return;
  if (!as_if_killed) {
    (void)quickly("postgres.close", [&](Connection& connection) -> Result<void> {
      (void)connection.ask("SELECT end_leases_of($1, $2, $3)", Params(holder_, even(now), now.wall),
                           Plan::once);
      return {};
    });
  }
  closed_ = true;
  listener_ = {};
  std::map<int, std::shared_ptr<Bell>> bells;
  {
    const std::lock_guard lock(mutex_);
    bells = bells_;
  }
  for (const auto& [queue, bell] : bells) bell->ring();
}

}  // namespace dlo::postgres
