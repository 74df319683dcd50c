#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "dlo/api/service.h"
#include "dlo/cli/client.h"
#include "dlo/cli/config_file.h"
#include "dlo/cli/entity_effects.h"
#include "dlo/cli/open_office.h"
#include "dlo/cli/open_queues.h"
#include "dlo/engine/clock.h"
#include "dlo/regex/re2_compiler.h"
#include "dlo/server/http_exchange.h"

namespace dlo::cli {
namespace {

/// An exchange without a socket: collects the answer for a thread that waits for it.
class Collected final : public HttpExchange {
 public:
  void send(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    answer_ = std::move(response);
    done_ = true;
    ended_.notify_all();
  }
  void begin(HttpResponse head) override {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(head);
  }
  Room write(std::string_view piece) override {
    const std::lock_guard lock(mutex_);
    answer_.body += piece;
    return Room::yes;
  }
  void when_room(std::function<void(bool)> then) override { then(true); }
  void end() override {
    const std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }
  [[nodiscard]] bool gone() const noexcept override { return false; }

  /// Nothing if patience ends first.
  std::optional<HttpResponse> wait(Millis patience) {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, patience, [this] { return done_; })) return std::nullopt;
    return std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  HttpResponse answer_;
  bool done_ = false;
};

/// As configured, but this process is over before an office could be written again: nothing is
/// kept in memory.
ProfileBook lasting_rules(const Config& config) {
  std::vector<std::string> names;
  for (const Profile& profile : builtin_profiles()) names.push_back(profile.name);
  constexpr std::string_view section = "profiles.";
  for (const auto& [name, line] : config.sections) {
    if (name.starts_with(section)) names.push_back(name.substr(section.size()));
  }
  ProfileBook rules = config.rules;
  for (const std::string& name : names) {
    auto profile = rules.find(name);
    if (!profile || profile->store_failure != StoreFailure::memory_fallback) continue;
    profile->store_failure = StoreFailure::reject;
    rules.set(std::move(*profile));
  }
  return rules;
}

/// The API in this process, over a data directory.
class LocalClient final : public Client {
 public:
  LocalClient(const Context& context, Need need, const Config& config, OpenedOffice opened,
              std::unique_ptr<OwnQueues> queues)
      : name_(opened.place.empty() ? "the office in '" + context.data + "'"
                                   : "the office in " + opened.place),
        office_(std::move(opened.office)),
        queues_(std::move(queues)) {
    api::ServiceOptions options;
    options.version = context.version;
    options.quick_threads = 2;
    options.slow_threads = 1;
    options.owner_asks = true;
    options.masked = std::move(opened.masked);
    options.works_on_jobs = need == Need::work;
    options.rules = lasting_rules(config);
    options.regex = re2_compiler();
    options.entities.kinds = entity_kinds(config);
    options.retries.enabled = config.flag("workflow.enabled");
    options.retries.processor = false;
    options.retries.interval = config.duration("workflow.retry_interval");
    options.retries.depends_timeout = config.duration("workflow.depends_timeout");
    service_.emplace(*office_, queues_.get(), context.clock == nullptr ? clock_ : *context.clock,
                     options);
  }
  ~LocalClient() override {
    service_->stop();
    service_.reset();
    if (queues_ != nullptr) (void)queues_->close();
  }
  LocalClient(const LocalClient&) = delete;
  LocalClient& operator=(const LocalClient&) = delete;

  Result<HttpResponse> ask(const Ask& ask) override {
    HttpRequest request;
    request.method = ask.method;
    request.target = ask.target;
    request.headers = ask.headers;
    if (!ask.body.empty()) request.headers.push_back({"Content-Type", ask.type});
    request.body = ask.body;
    request.client = "local";
    const auto exchange = std::make_shared<Collected>();
    service_->handle(std::move(request), exchange);
    auto answer = exchange->wait(ask.patience);
    if (answer) return std::move(*answer);
    return Error{Code::timed_out, "cli.ask",
                 name() + " took longer than " + std::to_string(ask.patience.count() / 1000) +
                     " s to answer. Look before you repeat it."};
  }

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool is_server() const noexcept override { return false; }

 private:
  const std::string name_;
  const SystemClock clock_;
  std::unique_ptr<Office> office_;
  std::unique_ptr<OwnQueues> queues_;
  std::optional<api::Service> service_;
};

Error explained(Error error, const Context& context) {
  if (error.code == Code::not_found) {
    error.detail = "There is no office in '" + context.data +
                   "'. Name the directory with --data DIR or a server with --server URL, or start "
                   "one: dlo serve --data " +
                   context.data;
  } else if (error.code == Code::refused && error.where.starts_with("sqlite")) {
    error.detail += ". If it is a server, name it: --server URL (or DLO_SERVER)";
  }
  return error;
}

/// True also for one that cannot be opened: what is wrong with it is for those who open it to say.
bool has_office(const Context& context) {
  std::error_code unseen;
  return std::filesystem::exists(context.data + "/office.db", unseen) || unseen;
}

}  // namespace

Result<std::unique_ptr<Client>> connect_to_directory(const Context& context, Need need) {
  const auto reading = usual_config(context);
  if (!reading) return reading.error();
  // Who only looks is not kept from it by a word that concerns others.
  if (need == Need::make && !reading->problems.empty()) {
    return Error{Code::invalid_argument, "cli.config",
                 "The configuration cannot be used: " + reading->problems.front().text};
  }
  const OfficeSettings settings = office_settings(reading->config);
  const bool here = settings.address.empty();
  Opening options;
  options.read_only = need == Need::look;
  std::error_code ignored;
  // A directory may have been a queue's alone so far.
  const bool queues_only = std::filesystem::is_directory(context.data + "/queues", ignored);
  if (here && !options.read_only && need != Need::make && !queues_only && !has_office(context)) {
    return explained({Code::not_found, "cli.connect", ""}, context);
  }
  auto opened_office = open_office(context.data, options, settings, context.now);
  if (!opened_office && !here) return opened_office.error();
  if (!opened_office) return explained(opened_office.error(), context);
  std::unique_ptr<OwnQueues> queues;
  if (need != Need::look) {
    auto opened = open_queues(context, reading->config, *opened_office, context.now, false);
    if (!opened) return opened.error();
    queues = std::move(opened->queues);
  }
  return std::unique_ptr<Client>(std::make_unique<LocalClient>(
      context, need, reading->config, std::move(*opened_office), std::move(queues)));
}

}  // namespace dlo::cli
