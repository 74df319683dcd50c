#include "dlo/nodes/node.h"

#include <array>
#include <string_view>
#include <utility>

#include "dlo/store/fenced_office.h"

namespace dlo {
namespace {

constexpr std::string_view prefix = "dlo serve on ";

}  // namespace

std::string seat_name_of(const std::string& node) {
  return std::string(prefix) + node;
}

std::string node_name_of(const std::string& holder) {
  return holder.starts_with(prefix) ? holder.substr(prefix.size()) : holder;
}

Node::Node(LeaderSeat& seat, Office& office, const Clock& clock, Options options, Work work)
    : seat_(seat),
      office_(office),
      clock_(clock),
      options_(std::move(options)),
      work_(std::move(work)) {}

Node::~Node() {
  stop();
}

void Node::start() {
  keeper_ = std::jthread([this](const std::stop_token& stop) { keep_seat(stop); });
  worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

/// Duties end before the seat is free: whoever takes it finds nothing under way.
void Node::stop() {
  if (worker_.joinable()) {
    worker_.request_stop();
    worker_.join();
  }
  if (keeper_.joinable()) {
    keeper_.request_stop();
    keeper_.join();
  }
}

NodeStatus Node::status() const {
  const std::lock_guard lock(mutex_);
  NodeStatus status;
  status.name = options_.name;
  status.leads = leading_ != 0 && leading_ == turn_now();
  status.leader = status.leads ? options_.name : node_name_of(turn_ == 0 ? holder_ : "");
  return status;
}

std::uint64_t Node::turn_now() const {
  if (turn_ == resigned_ || Steady::now() - looked_at_ > options_.believed_for) return 0;
  return turn_;
}

void Node::keep_seat(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look_after_seat();
    const auto again = Steady::now() + options_.look_every;
    for (Millis left = options_.look_every; left > Millis{0} && !stop.stop_requested();
         left = std::chrono::ceil<Millis>(again - Steady::now())) {
      if (!seat_.wait(left, stop)) break;
      {
        const std::lock_guard lock(mutex_);
        moved_ = true;
      }
      changed_.notify_all();
      std::this_thread::sleep_for(options_.hints_apart);
    }
  }
  seat_.leave();
}

void Node::look_after_seat() {
  bool give_up = false;
  {
    const std::lock_guard lock(mutex_);
    give_up = turn_ != 0 && turn_ == resigned_;
  }
  if (give_up) seat_.leave();
  const auto began = Steady::now();
  auto view = seat_.look();
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t turn = view ? view->turn : 0;
    moved_ = moved_ || turn != turn_;
    turn_ = turn;
    holder_ = view ? std::move(view->holder) : std::string();
    looked_at_ = began;
  }
  if (view && view->clock && work_.clock) work_.clock(*view->clock);
  changed_.notify_all();
}

void Node::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    follow_the_seat();
    work_.look();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, options_.look_every, [this] { return moved_; });
    moved_ = false;
  }
  end_duties();
}

void Node::follow_the_seat() {
  std::uint64_t turn = 0;
  {
    const std::lock_guard lock(mutex_);
    turn = turn_now();
  }
  if (turn != 0 && turn == leading_ && has_lost_the_term()) {
    turn = 0;
    resign();
  }
  if (leading_ != 0 && turn != leading_) {
    end_duties();
    say("This node (" + options_.name + ") does not lead any more.");
  }
  if (turn != 0 && leading_ == 0) begin_duties(turn);
  if (turn == 0) tell_who_leads();
}

void Node::begin_duties(std::uint64_t turn) {
  const auto term = begin_term();
  if (!term) return;
  term_ = *term;
  work_.lead(term_);
  {
    const std::lock_guard lock(mutex_);
    leading_ = turn;
  }
  told_leader_ = options_.name;
  say("This node (" + options_.name + ") leads.");
}

void Node::end_duties() {
  if (leading_ == 0) return;
  work_.yield();
  told_leader_.clear();
  const std::lock_guard lock(mutex_);
  leading_ = 0;
}

void Node::tell_who_leads() {
  std::string leader;
  {
    const std::lock_guard lock(mutex_);
    leader = node_name_of(holder_);
  }
  if (leader.empty() || leader == told_leader_) return;
  told_leader_ = leader;
  say("Node " + leader + " leads; this one (" + options_.name +
      ") answers, and takes over when that one is gone.");
}

/// Somebody else began one: whoever has the seat by now, or one that slept after he had taken it.
/// Either way it is taken anew, and then written from what is read.
bool Node::has_lost_the_term() {
  const auto found = office_.extras().ledger->document(leader_kind, leader_key);
  return found && (!*found || (*found)->version != term_);
}

/// Read after the seat was taken, so whoever writes from that version has had it since: one that
/// slept meanwhile finds another version and has to take the seat again.
std::optional<std::uint64_t> Node::begin_term() {
  Ledger* const ledger = office_.extras().ledger;
  const auto before = ledger->document(leader_kind, leader_key);
  if (!before) return std::nullopt;  // tried again as long as the seat is ours
  const std::uint64_t version = *before ? (*before)->version : 0;
  const std::array<Change, 2> changes = {
      PutDocument{leader_kind, leader_key, options_.name, version},
      AddAudit{clock_.now(), "office", "node.lead", "node/" + options_.name, "{}"}};
  const auto applied = office_.apply(changes);
  if (applied) return applied->front().version;
  if (applied.error().code == Code::conflict) resign();
  return std::nullopt;
}

void Node::resign() {
  const std::lock_guard lock(mutex_);
  resigned_ = turn_;
}

void Node::say(const std::string& line) const {
  if (work_.told) work_.told(line);
}

}  // namespace dlo
