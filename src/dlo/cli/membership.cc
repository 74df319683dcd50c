#include "dlo/cli/membership.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <ostream>
#include <random>
#include <unistd.h>
#include <utility>

#include "dlo/core/duration.h"
#include "dlo/core/id.h"
#include "dlo/core/spelling.h"
#ifdef DLO_WITH_POSTGRES
#include "dlo/store/postgres/node_seat.h"
#endif

namespace dlo::cli {
namespace {

constexpr std::size_t longest_name = 40;
[[maybe_unused]] constexpr std::chrono::seconds between_owed{30};

std::string drawn_name() {
  std::random_device device;
  const auto draw = [&] { return (std::uint64_t{device()} << 32U) | device(); };
  return to_string(Id128{draw(), draw()});
}

}  // namespace

std::string node_name(const Config& config) {
  if (const std::string& chosen = config.text("server.node"); !chosen.empty()) return chosen;
  std::array<char, 256> name{};
  const bool known = ::gethostname(name.data(), name.size() - 1) == 0;
  return std::string(known ? name.data() : "local").substr(0, longest_name);
}

Result<void> check_node_name(const std::string& name) {
  const bool fine = name.size() <= longest_name &&
                    std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7F'; });
  if (fine) return {};
  return Error{Code::invalid_argument, "cli.node",
               "server.node " + in_quotes(name) + " must have at most " +
                   std::to_string(longest_name) +
                   " characters, printable ASCII without blanks: it is shown to others."};
}

#ifdef DLO_WITH_POSTGRES

class Membership::Running {
 public:
  Running(const std::string& address, const std::string& name, const std::string& hints_as)
      : name_(name), seat_(address, {"dlo", seat_name_of(name), hints_as}) {}

  Result<void> share_clock(SystemClock& clock, Millis lease) {
    std::optional<Millis> ahead;
    for (int tries = 0; !ahead && tries < 20; ++tries) {
      const auto measured = seat_.measure();
      if (!measured) return measured.error();
      ahead = *measured;
    }
    if (!ahead) return {};  // it answers slowly: it is measured again while we serve
    const Millis skew = SystemClock::own_offset() - *ahead;
    if (std::chrono::abs(skew) > lease / 4) {
      return Error{Code::refused, "cli.node",
                   "The clock of this machine is " + print_duration(std::chrono::abs(skew)) +
                       (skew > Millis{0} ? " ahead of" : " behind") +
                       " that of the database, more than a quarter of workflow.lease (" +
                       print_duration(lease) +
                       "): what it runs would be run by others meanwhile. Nothing was started. "
                       "Let both machines follow NTP."};
    }
    clock.follow(*ahead);
    return {};
  }

  void start(Context& context, const Parts& parts) {
    Node::Work work;
    work.lead = [&service = parts.service](std::uint64_t term) { service.lead(term); };
    work.yield = [&service = parts.service] { service.yield(); };
    work.look = [this, parts] { look(parts); };
    work.clock = [&clock = parts.clock](Millis ahead) { clock.follow(ahead); };
    work.told = [&context](const std::string& line) { context.out << line + "\n" << std::flush; };
    Node::Options options;
    options.name = name_;
    auto node = std::make_unique<Node>(seat_, parts.service.office(), parts.clock,
                                       std::move(options), std::move(work));
    const std::lock_guard lock(mutex_);
    node_ = std::move(node);
    node_->start();
  }

  void stop() {
    std::unique_ptr<Node> over;
    {
      const std::lock_guard lock(mutex_);
      over.swap(node_);
    }
    if (over) over->stop();
  }

  [[nodiscard]] NodeStatus status() const {
    const std::lock_guard lock(mutex_);
    return node_ ? node_->status() : NodeStatus{name_, false, ""};
  }

 private:
  void look(const Parts& parts) {
    parts.service.look_at_others();
    for (std::size_t i = 0; i < parts.config.consumers.size(); ++i) {
      AggregateRequest request;
      request.tallies = false;
      request.due = ClaimFrom(parts.config.consumers[i].source);
      const auto numbers = parts.service.office().aggregate(request);
      if (numbers && numbers->next_due) parts.timers.timer(i).note(*numbers->next_due);
    }
    if (!parts.service.leads() || std::chrono::steady_clock::now() < owed_again_) return;
    owed_again_ = std::chrono::steady_clock::now() + between_owed;
    parts.consumers.look_for_owed();
  }

  const std::string name_;
  std::chrono::steady_clock::time_point owed_again_{};
  postgres::NodeSeat seat_;
  mutable std::mutex mutex_;
  std::unique_ptr<Node> node_;
};

#else

class Membership::Running {
 public:
  Running(const std::string&, const std::string&, const std::string&) {}
  static Result<void> share_clock(SystemClock&, Millis) { return {}; }
  static void start(Context&, const Parts&) {}
  static void stop() {}
  [[nodiscard]] static NodeStatus status() { return {}; }
};

#endif

Membership::Membership(const Config& config)
    : address_(config.text("office")), name_(node_name(config)) {
  if (is_shared()) hints_as_ = drawn_name();
}

Membership::~Membership() {
  stop();
}

Result<void> Membership::share_clock(SystemClock& clock, Millis lease) {
  if (!is_shared()) return {};
  running_ = std::make_unique<Running>(address_, name_, hints_as_);
  return running_->share_clock(clock, lease);
}

std::function<NodeStatus()> Membership::says() {
  if (running_ == nullptr) return {};
  return [this] { return running_->status(); };
}

void Membership::start(Context& context, const Parts& parts) {
  if (running_ != nullptr) running_->start(context, parts);
}

void Membership::stop() {
  if (running_ != nullptr) running_->stop();
}

}  // namespace dlo::cli
