#include "dlo/api/service.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "dlo/api/acts.h"
#include "dlo/api/answers.h"
#include "dlo/api/bulk_acts.h"
#include "dlo/api/dead_letters.h"
#include "dlo/api/description.h"
#include "dlo/api/edits.h"
#include "dlo/api/groups.h"
#include "dlo/api/health.h"
#include "dlo/api/imports.h"
#include "dlo/api/job_list.h"
#include "dlo/api/jobs.h"
#include "dlo/api/left_behind.h"
#include "dlo/api/poison.h"
#include "dlo/api/queues.h"
#include "dlo/api/replay_targets.h"
#include "dlo/api/rules.h"
#include "dlo/api/sources.h"
#include "dlo/api/tokens.h"
#include "dlo/core/refusal_book.h"
#include "dlo/retries/ended_leases.h"

namespace dlo::api {
namespace {

void append(std::vector<Route>& routes, std::vector<Route> more) {
  routes.insert(routes.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// What is done now and then.
constexpr std::size_t settle_shelf = 0;
constexpr std::size_t tell_retries = 1;
constexpr std::size_t tell_waits = 2;
constexpr Millis settle_again{1'000};
constexpr Millis look_at_live_again{1'000};

/// A flood of refusals does not fill the trail. Used from any thread.
class Refusals {
 public:
  /// Whether it is written; if so it says how many before it were not.
  bool takes(AddAudit& refusal) {
    const std::lock_guard lock(mutex_);
    const auto unwritten = book_.note(refusal.actor, refusal.at);
    if (!unwritten) return false;
    if (*unwritten == 0 || !refusal.detail.ends_with('}')) return true;
    refusal.detail.pop_back();
    refusal.detail += ",\"unwritten\":" + std::to_string(*unwritten) + "}";
    return true;
  }

 private:
  std::mutex mutex_;
  RefusalBook book_;
};

/// What stands in the way of a retry by hand; empty: nothing that is configured.
std::string why_no_retries(const ServiceOptions& options) {
  if (options.owner_asks) {
    return "Retries are run by a server, and none was asked. Start `dlo serve` on this office, or "
           "name the one that runs (`--server`), and retry it there.";
  }
  if (!options.retries.enabled) {
    return "`workflow.enabled` is false, so nothing runs retries here. Set it to true, or replay "
           "the dead letter to a target.";
  }
  if (!options.retries.processor) {
    return "`workflow.retry_processor` is false, so nothing runs retries here. Set it to true, or "
           "replay the dead letter to a target.";
  }
  return "";
}

}  // namespace

Service::Service(Office& kept, OwnQueues* queues, const Clock& clock, ServiceOptions options)
    : consumed_(options.consumed),
      clock_(clock),
      timer_(clock, options.retries.interval),
      steady_(kept, clock),
      scheduling_(steady_, timer_),
      dependencies_(scheduling_, clock, options.retries.depends_timeout),
      depending_(scheduling_, dependencies_),
      rounds_(clock),
      office_(depending_,
              [this, told = options.on_office_trouble](const std::optional<Error>& trouble) {
                if (told) told(trouble);
                if (!trouble) rounds_.ring(settle_shelf);
              }),
      curtain_(options.masked),
      rules_(std::make_shared<const ProfileBook>(options.rules)),
      redirects_(options.redirects),
      outside_(options.outside),
      tokens_(office_),
      jobs_(office_),
      quick_(options.quick_threads, options.most_waiting),
      slow_(options.slow_threads, options.most_waiting),
      desk_({office_, clock, options.origin, options.rules, options.regex, CustomBackoffs{},
             options.retries.enabled, &dependencies_, options.retries.log,
             [this] { rounds_.ring(settle_shelf); }}),
      reports_({office_, quick_, desk_}),
      events_(office_, clock, options.events,
              options.owner_asks ? StillAdmitted{}
                                 : token_watch(tokens_, clock, options.tokens_always)),
      waits_(office_, [this] { rounds_.ring(tell_waits); }) {
  (void)office_.apply({});  // changes nothing; damage that was found at opening is told now
  tokens_.read_by([this](std::function<void()> task) { return quick_.post(std::move(task)); });
  WatchedOffice& office = office_;
  std::vector<Route> routes;
  append(routes,
         health_routes({office, queues, [this] { return stopping_.load(); }, options.node}));
  append(routes, description_routes());
  append(routes, reports_.routes());
  append(routes, dead_letter_routes(office, slow_, desk_.shelf(), [this](const DeadLetter& record) {
           return hall_ == nullptr ? std::nullopt : hall_->hold_by(record);
         }));
  append(routes, act_routes({office,
                             [this](const std::string& source) {
                               return serves(source) || (retries_ != nullptr && retries_->runs());
                             },
                             desk_.shelf(), waits_, why_no_retries(options)}));
  append(routes, edit_routes(office));
  append(routes, recipe_routes(office));
  append(routes, group_routes(office));
  append(routes, book_routes(office));
  append(routes, import_routes(office));
  if (queues != nullptr) {
    hall_ = std::make_unique<QueueHall>(QueueHall::Parts{*queues, office, clock, quick_,
                                                         options.origin, options.rules,
                                                         options.regex, options.create_queues});
    append(routes, queue_routes(*hall_, office, clock));
    append(routes, queue_message_routes(*hall_));
  }
  append(routes,
         source_routes(office, hall_.get(), options.collected, options.relayed, options.consumed));
  routes.push_back(
      give_up_route(office, [this](const std::string& source) { return serves(source); }));
  append(routes, rule_routes({office, [this] { return rules_now(); }, options.regex,
                              [this] { return redirects_now(); }}));
  append(routes, poison_routes(office, hall_.get()));
  append(routes, entity_routes({office, [this] { return rules_now(); }, options.regex,
                                options.origin, options.entities,
                                [this](const std::string& kind) { duties_->ring(kind); }}));
  append(routes,
         token_routes(tokens_, [this] { return front_->router().actions(); }, options.version));
  append(routes, events_.routes());
  ReplayTargets targets = replay_targets(
      hall_.get(), options.retries, [this](const DeadLetter& record) { return profile_of(record); },
      options.outside);
  targets.redirects = [this] { return redirects_now(); };
  if (const auto loaded = dependencies_.load(); !loaded && options.retries.log) {
    options.retries.log("Tasks that wait for others stay where they are: " + loaded.error().detail);
  }
  retries_ = std::make_unique<Retries>(
      Retries::Parts{office_, timer_, clock, desk_.intake(), desk_.shelf(), targets, options.origin,
                     [this] { return not_for_executors(); },
                     [this] { return dependencies_.numbers(); },
                     [this] { rounds_.ring(tell_retries); }},
      options.retries, options.rules, options.regex);
  append(routes, retries_->routes());
  Duties::Parts duties{office, clock, targets, std::nullopt, options.entities.effects};
  if (options.works_on_jobs) {
    duties.jobs.emplace();
    duties.jobs->discard_grace = options.discard_grace;
    duties.jobs->keep_jobs = options.keep_jobs;
  }
  duties_ = std::make_unique<Duties>(std::move(duties));
  const JobParts parts{office, jobs_, targets, [this] { duties_->wake_jobs(); }};
  append(routes, job_list_routes(jobs_, slow_));
  append(routes, job_routes(parts));
  append(routes, group_act_routes(parts));
  append(routes, bulk_act_routes(parts));
  front_ = std::make_unique<Front>(Front::Parts{
      Router(std::move(routes)), clock, quick_, slow_,
      options.owner_asks ? Access(local_access)
                         : token_access(tokens_, clock, options.tokens_always, options.rate),
      [this, &office, written = std::make_shared<Refusals>()](AddAudit refusal) {
        if (!written->takes(refusal)) return;
        // If more is refused than can be written down,
        // doing comes first.
        (void)quick_.post([&office, refusal = std::move(refusal)] {
          const Change change = refusal;
          (void)office.apply({&change, 1});
        });
      },
      &curtain_});
  if (!options.node) duties_->begin(std::nullopt);  // there is nobody else
  make_rounds();                                    // whose first look asks whose duties they are
}

bool Service::serves(const std::string& source) const {
  return (hall_ != nullptr && hall_->find(source) != nullptr) ||
         std::ranges::find(consumed_.names, source) != consumed_.names.end();
}

/// What waits alive in the office is no task: it belongs to whoever handles its source, here, on
/// another node, or when it is configured again. Asked for with every claim, looked up now and
/// then.
std::vector<std::string> Service::not_for_executors() {
  auto names = hall_ == nullptr ? std::vector<std::string>{} : hall_->names();
  names.insert(names.end(), consumed_.names.begin(), consumed_.names.end());
  const TimePoint now = clock_.now();
  const std::lock_guard lock(live_mutex_);
  if (!live_seen_at_ || now < *live_seen_at_ || now >= *live_seen_at_ + look_at_live_again) {
    if (const auto live = live_by_source(office_)) {
      live_seen_at_ = now;
      live_.clear();
      for (const auto& each : *live) live_.push_back(each.first);
    }
  }
  names.insert(names.end(), live_.begin(), live_.end());
  return names;
}

Result<std::map<std::string, std::uint64_t>> Service::unserved() {
  return left_behind(office_, [this](const std::string& source) { return serves(source); });
}

void Service::make_rounds() {
  std::vector<Rounds::Duty> duties(3);
  duties[settle_shelf] = [this](TimePoint now) -> std::optional<TimePoint> {
    (void)desk_.shelf().settle();
    if (!desk_.shelf().has_work()) return std::nullopt;
    return now + settle_again;
  };
  duties[tell_retries] = [this](TimePoint now) { return retries_->watch().tell(now); };
  duties[tell_waits] = [this](TimePoint now) { return waits_.look(now); };
  if (retries_->is_watched()) {
    duties.emplace_back([this](TimePoint now) -> std::optional<TimePoint> {
      if (!duties_->are_ours()) return std::nullopt;  // until they are
      return retries_->watch().look(now);
    });
  }
  // A processor does that itself.
  if (!retries_->runs()) {
    duties.push_back(taking_back_ended(depending_, retries_->take_back_after(), nullptr));
  }
  rounds_.start(std::move(duties));
}

Service::~Service() {
  stop();
}

Result<void> Service::send(const std::string& queue, std::span<const Publication> messages,
                           const std::string& who, TimePoint now) {
  if (hall_ == nullptr) {
    return Error{Code::not_found, "api.send", "This server has no queues to send anything to."};
  }
  const AddAudit audit{now, who, "declare", "queue/" + queue, "first message"};
  const auto window = hall_->get_or_make(queue, audit);
  if (!window) return window.error();
  const auto sent = (*window)->queue().publish(messages, (*window)->instant());
  if (!sent) return sent.error();
  (*window)->wake();
  return {};
}

std::vector<Error> Service::troubles() const {
  return hall_ == nullptr ? std::vector<Error>() : hall_->troubles();
}

Result<Profile> Service::profile_of(const DeadLetter& record) const {
  return rules_now()->find(record.profile, *record.message);
}

std::shared_ptr<const ProfileBook> Service::rules_now() const {
  const std::lock_guard lock(rules_mutex_);
  return rules_;
}

std::vector<RedirectRule> Service::redirects_now() const {
  const std::lock_guard lock(rules_mutex_);
  return redirects_;
}

std::vector<Error> Service::lost_redirects() const {
  std::vector<Error> lost;
  std::size_t number = 0;
  for (const RedirectRule& rule : redirects_now()) {
    ++number;
    Result<void> there;
    if (outside_.covers && outside_.covers(rule.to)) {
      there = outside_.check(rule.to);
    } else if (hall_ != nullptr) {
      if (const auto queue = hall_->get(rule.to); !queue) there = queue.error();
    }
    if (there) continue;
    lost.push_back({Code::not_found, "api.redirects",
                    "replay.redirects[" + std::to_string(number) + "]: " + there.error().detail});
  }
  return lost;
}

Result<void> Service::use(const ProfileBook& rules, std::vector<RedirectRule> redirects) {
  if (hall_ != nullptr) {
    if (auto used = hall_->use(rules); !used) return used;
  }
  desk_.use(rules);
  retries_->use(rules);
  const std::lock_guard lock(rules_mutex_);
  rules_ = std::make_shared<const ProfileBook>(rules);
  redirects_ = std::move(redirects);
  return {};
}

void Service::stop_waiting() {
  stopping_.store(true);
  events_.close();
  waits_.close();
  if (hall_ != nullptr) hall_->close();
}

void Service::stop() {
  stop_waiting();
  if (retries_ != nullptr) retries_->stop();
  if (duties_ != nullptr) duties_->end();
  quick_.close();
  slow_.close();
  if (hall_ != nullptr) hall_->give_all_back();
  rounds_.stop();
  if (retries_ != nullptr) (void)retries_->watch().tell(timer_.now().wall);
  desk_.shelf().close();
}

}  // namespace dlo::api
