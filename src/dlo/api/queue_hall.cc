#include "dlo/api/queue_hall.h"

#include <algorithm>
#include <utility>

#include "dlo/api/body.h"
#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

constexpr std::chrono::milliseconds between_ticks{20};  // while somebody waits
constexpr std::chrono::seconds between_tidyings{5};
constexpr std::chrono::milliseconds between_hold_looks{250};  // where a queue holds keys
constexpr std::size_t most_queues = 10'000;

std::string document_of(const QueueSettings& settings) {
  JsonWriter json;
  json.begin_object();
  write_members(json, settings);
  json.end_object();
  return json.take();
}

/// What the trail keeps: `by` what it was made, and what changed.
std::string declared_text(const std::string& by, const QueueWindow* before,
                          const QueueSettings& settings) {
  JsonWriter json;
  json.begin_object();
  if (!by.empty()) json.member("by", by);
  if (before != nullptr) json.key("before").raw(document_of(before->settings()));
  json.key("after").raw(document_of(settings)).end_object();
  return json.take();
}

/// What its profile does not let it do.
Result<void> check_hold(const QueueSettings& settings, const Profile& profile) {
  if (settings.source.on_death != OnDeath::hold || profile.placement != Placement::in_office) {
    return {};
  }
  return Error{Code::invalid_argument, "api.queue",
               "Queue " + in_quotes(settings.source.source) +
                   " cannot have on_death: hold under profile " + in_quotes(profile.name) +
                   ": its retries wait in the office, and what waits there keeps no key. Take a "
                   "profile whose placement is delayed or requeue, or on_death: continue."};
}

/// What a queue does besides what was declared: whether claims that never started stay counted is
/// the profile's to say (R1).
SourceOptions as_served(SourceOptions source, const Profile& profile) {
  source.claims_count = profile.claims_count;
  return source;
}

}  // namespace

QueueHall::QueueHall(const Parts& parts)
    : parts_(parts), profiles_(parts.rules), holds_(parts.office) {
  open_all();
  keeper_ = std::thread([this] { look_after(); });
}

QueueHall::~QueueHall() {
  close();
}

void QueueHall::open_all() {
  Ledger* ledger = parts_.office.extras().ledger;
  if (ledger != nullptr) {
    const auto documents = ledger->documents(queue_kind, "", most_queues);
    if (!documents) {
      troubles_.push_back(documents.error());
      return;
    }
    for (const Document& document : *documents) {
      QueueSettings settings;
      const auto read = read_object(document.body, [&](JsonFields& fields) {
        settings = read_queue_settings(fields, document.key);
      });
      auto window =
          read ? open(settings, false) : Result<std::shared_ptr<QueueWindow>>(read.error());
      if (window) {
        windows_[document.key] = std::move(*window);
      } else {
        troubles_.push_back(window.error());
      }
    }
  }
  for (const std::string& name : parts_.queues.names()) {
    if (windows_.contains(name)) continue;
    QueueSettings settings;  // made by somebody else, with settings of its own
    settings.source.source = name;
    auto window = open(settings, true);
    if (window) {
      windows_[name] = std::move(*window);
    } else {
      troubles_.push_back(window.error());
    }
  }
}

Result<std::shared_ptr<QueueWindow>> QueueHall::open(const QueueSettings& settings, bool exists) {
  auto rules = rules_for(settings, profiles());
  if (!rules) return rules.error();
  auto queue = exists ? parts_.queues.existing(settings.source.source)
                      : parts_.queues.make(as_served(settings.source, (*rules)->profile()));
  if (!queue) return queue.error();
  const QueueWindow::Parts parts{parts_.office, parts_.clock, parts_.pool, parts_.origin, [this] {
                                   const std::lock_guard lock(keeper_mutex_);
                                   // Who knows it already need not be woken to be told again.
                                   if (!std::exchange(waiting_, true)) keeper_wake_.notify_one();
                                 }};
  return std::make_shared<QueueWindow>(parts, std::move(*queue), settings, std::move(*rules));
}

ProfileBook QueueHall::profiles() const {
  const std::lock_guard lock(mutex_);
  return profiles_;
}

Result<std::shared_ptr<const RuleBook>> QueueHall::rules_for(const QueueSettings& settings,
                                                             const ProfileBook& profiles) const {
  auto profile = profiles.find(settings.profile, settings.source.source);
  if (!profile) return profile.error();
  if (auto fine = check_hold(settings, *profile); !fine) return fine.error();
  auto rules = RuleBook::build(std::move(*profile), parts_.regex);
  if (!rules) return rules.error();
  return std::make_shared<const RuleBook>(std::move(*rules));
}

Result<void> QueueHall::use(const ProfileBook& rules) {
  const std::lock_guard one_at_a_time(declaring_);
  std::vector<std::pair<std::shared_ptr<QueueWindow>, std::shared_ptr<const RuleBook>>> ready;
  for (auto& window : all()) {
    auto made = rules_for(window->settings(), rules);
    if (!made) {
      return Error{
          made.error().code, "api.queue",
          "Queue " + in_quotes(window->settings().source.source) + ": " + made.error().detail};
    }
    ready.emplace_back(std::move(window), std::move(*made));
  }
  for (const auto& [window, made] : ready) window->use(made);
  const std::lock_guard lock(mutex_);
  profiles_ = rules;
  return {};
}

Result<Profile> QueueHall::profile_of(const QueueSettings& settings) const {
  return profiles().find(settings.profile, settings.source.source);
}

Result<std::shared_ptr<QueueWindow>> QueueHall::get_or_make(const std::string& name,
                                                            AddAudit audit) {
  if (!parts_.made_by_sending) return get(name);
  const std::lock_guard one_at_a_time(declaring_);
  if (auto found = find(name)) return found;  // somebody else was first, or declared it
  auto made = declare_alone(usual_queue_settings(name), std::move(audit));
  if (!made) return made.error();
  return std::move(made->window);
}

Result<QueueHall::Declared> QueueHall::declare(const QueueSettings& settings, AddAudit audit) {
  const std::lock_guard one_at_a_time(declaring_);
  return declare_alone(settings, std::move(audit));
}

Result<QueueHall::Declared> QueueHall::declare_alone(const QueueSettings& settings,
                                                     AddAudit audit) {
  const std::string& name = settings.source.source;
  if (auto named = check_queue_name(name); !named) return named.error();
  if (auto sane = check(settings.source); !sane) return sane.error();
  if (auto able = parts_.queues.check(settings.source); !able) return able.error();
  const auto profile = profiles().find(settings.profile, name);
  if (!profile) return Error{Code::invalid_argument, "api.queue", profile.error().detail};
  if (auto fine = check_hold(settings, *profile); !fine) return fine.error();
  const auto before = find(name);
  if (before != nullptr) {
    if (document_of(before->settings()) == document_of(settings)) return Declared{before, false};
    if (!before->retire()) {
      return Error{Code::conflict, "api.queue",
                   std::to_string(before->held()) + " messages of queue " + in_quotes(name) +
                       " are in workers' hands under its present settings; nothing was changed. "
                       "Pause the queue, wait until they are settled, and declare it again."};
    }
  }
  audit.detail = declared_text(audit.detail, before.get(), settings);
  const std::vector<Change> changes{PutDocument{queue_kind, name, document_of(settings), {}},
                                    std::move(audit)};
  const auto applied = parts_.office.apply(changes);
  // Office first (R4): if the rest fails the queue is made when the server starts again.
  auto window =
      applied ? open(settings, false) : Result<std::shared_ptr<QueueWindow>>(applied.error());
  if (!window && before != nullptr) {  // go on as before
    if (auto restored = open(before->settings(), false)) {
      const std::lock_guard lock(mutex_);
      former_.push_back(before);
      windows_[name] = std::move(*restored);
    }
  }
  if (!window) return window.error();
  const std::lock_guard lock(mutex_);
  if (before != nullptr) former_.push_back(before);
  windows_[name] = *window;
  return Declared{std::move(*window), before == nullptr};
}

void QueueHall::follow() {
  Ledger* const ledger = parts_.office.extras().ledger;
  if (ledger == nullptr) return;
  const std::lock_guard one_at_a_time(declaring_);  // what is read is not older than what is here
  const auto documents = ledger->documents(queue_kind, "", most_queues);
  if (!documents) return;  // the next look sees them
  for (const Document& document : *documents) {
    std::uint64_t& seen = followed_[document.key];
    if (seen == document.version) continue;
    QueueSettings settings;
    const auto read = read_object(document.body, [&](JsonFields& fields) {
      settings = read_queue_settings(fields, document.key);
    });
    if (read && follow_one(settings)) seen = document.version;
  }
}

bool QueueHall::follow_one(const QueueSettings& settings) {
  const std::string& name = settings.source.source;
  const auto before = find(name);
  if (before != nullptr && document_of(before->settings()) == document_of(settings)) return true;
  if (before != nullptr && !before->retire()) return false;
  auto window = open(settings, false);
  if (!window && before != nullptr) window = open(before->settings(), false);
  if (!window) return false;
  const std::lock_guard lock(mutex_);
  if (before != nullptr) former_.push_back(before);
  windows_[name] = std::move(*window);
  return true;
}

std::shared_ptr<QueueWindow> QueueHall::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = windows_.find(name);
  return found == windows_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<QueueWindow>> QueueHall::get(const std::string& name) const {
  if (auto found = find(name)) return found;
  std::vector<std::string> names;
  for (const auto& window : all()) names.push_back(window->settings().source.source);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view close = nearest(name, known);
  return Error{Code::not_found, "api.queue",
               "There is no queue " + in_quotes(name) +
                   (close.empty() ? "." : "; did you mean " + in_quotes(close) + "?") +
                   (parts_.made_by_sending
                        ? " The first message sent to it makes it; or PUT /v1/queues/NAME."
                        : " Declare it first: PUT /v1/queues/NAME.")};
}

std::vector<std::string> QueueHall::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, window] : windows_) names.push_back(name);
  return names;
}

std::vector<std::shared_ptr<QueueWindow>> QueueHall::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<QueueWindow>> windows;
  for (const auto& [name, window] : windows_) windows.push_back(window);
  return windows;
}

void QueueHall::look_after() {
  std::unique_lock lock(keeper_mutex_);
  auto tidy_at = std::chrono::steady_clock::now() + between_tidyings;
  auto holds_at = std::chrono::steady_clock::now();
  bool behind = false;  // more has expired than was buried
  bool holding = true;  // some queue holds keys; nobody has looked yet
  while (!closed_) {
    if (waiting_ || behind) {
      keeper_wake_.wait_for(lock, between_ticks, [this] { return closed_; });
    } else {
      const auto longest =
          holding ? between_hold_looks : std::chrono::milliseconds(between_tidyings);
      keeper_wake_.wait_for(lock, longest, [this] { return closed_ || waiting_; });
      if (waiting_ && !closed_) continue;  // who comes is looked after at once by others
    }
    if (closed_) return;
    const bool tidying = std::chrono::steady_clock::now() >= tidy_at;
    if (tidying) tidy_at = std::chrono::steady_clock::now() + between_tidyings;
    waiting_ = false;
    lock.unlock();
    bool somebody = false;
    const bool burying = std::exchange(behind, false) || tidying;
    for (const auto& window : all()) {
      somebody = window->tick() || somebody;
      if (burying) behind = window->bury_expired() || behind;
      if (tidying) window->tidy();
    }
    if (const auto now = std::chrono::steady_clock::now(); now >= holds_at) {
      holding = look_at_holds();
      holds_at = now + between_hold_looks;
    }
    lock.lock();
    waiting_ = waiting_ || somebody;
  }
}

std::optional<KeyHold> QueueHall::hold_by(const DeadLetter& record) const {
  const Message& message = *record.message;
  const auto window = is_closed(record.status) ? nullptr : find(message.source);
  if (window == nullptr || message.key.empty()) return std::nullopt;
  if (window->settings().source.on_death != OnDeath::hold) return std::nullopt;
  const auto hold = window->queue().hold_on(message.key);
  return hold && hold->held ? std::optional(*hold) : std::nullopt;
}

bool QueueHall::look_at_holds() {
  std::vector<HoldingSource> sources;
  const auto windows = all();
  for (const auto& window : windows) {
    const SourceOptions& source = window->settings().source;
    if (source.on_death == OnDeath::hold) sources.push_back({source.source, window->queue()});
  }
  const auto freed = holds_.look(sources, parts_.clock.instant().steady);
  if (!freed) return !sources.empty();  // the office or a queue is away; the next look sees to it
  for (const auto& window : windows) {
    if (freed->contains(window->settings().source.source)) window->wake();
  }
  return !sources.empty();
}

void QueueHall::close() {
  {
    const std::lock_guard lock(keeper_mutex_);
    if (closed_) return;
    closed_ = true;
  }
  keeper_wake_.notify_all();
  keeper_.join();
  for (const auto& window : all()) {
    window->close();
    window->tidy();
  }
}

void QueueHall::give_all_back() {
  for (const auto& window : all()) window->give_all_back();
}

}  // namespace dlo::api
