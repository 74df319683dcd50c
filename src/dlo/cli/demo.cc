#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/cli/demo_story.h"
#include "dlo/cli/open_office.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/engine/processor.h"
#include "dlo/regex/re2_compiler.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

/// The standard rules, hurried, so that a story of minutes is told in a second.
Result<std::shared_ptr<const RuleBook>> hurried_rules() {
  auto profile = find_profile(default_profile_name);
  if (!profile) return profile.error();
  profile->retry.base = Millis{20};
  profile->retry.cap = Millis{200};
  profile->rules.insert(
      profile->rules.begin(),
      Rule{"bad-order", MatchKind::type, {"std::invalid_argument"}, {}, "validation"});
  profile->categories["validation"] = CategoryRule{Action::terminal, {}, {}, {}};
  auto book = RuleBook::build(std::move(*profile), re2_compiler());
  if (!book) return book.error();
  return std::make_shared<const RuleBook>(std::move(*book));
}

/// Prints what happens as it happens, and knows when everything has ended.
class Narrator final : public EngineEvents {
 public:
  Narrator(Context& context, std::uint64_t expected) : context_(context), expected_(expected) {}

  void succeeded(const Message& message, const Counters& counters, Millis /*took*/) override {
    const std::string after =
        counters.attempt > 1 ? " after " + std::to_string(counters.attempt) + " attempts" : "";
    tell(message, "done" + after, "\x1b[32m");
    end();
  }
  void failed(const Message& message, const Failure& failure, const Decision& decision,
              Millis /*took*/) override {
    std::string text = "attempt " + std::to_string(decision.counters.attempt) +
                       " failed: " + (failure.text.empty() ? failure.code : failure.text);
    if (const auto* retry = std::get_if<RetryAt>(&decision.verdict)) {
      text += "  -> again in " + std::to_string(retry->delay.count()) + " ms";
    }
    tell(message, text, "\x1b[33m");
  }
  void dead_lettered(const DeadLetter& record) override {
    tell(*record.message, "dead letter: " + record.reason + " (" + record.category + ")",
         "\x1b[31m");
    end();
  }
  void repeated(const Message& message, const RecordId& record) override {
    tell(message, "known already as dead letter " + to_string(record), "\x1b[31m");
    end();
  }
  /// An office that fails stays as it is: nobody is there who would mend it.
  void store_down(const Error& error) override {
    const std::lock_guard lock(mutex_);
    if (!trouble_) trouble_ = error;
    changed_.notify_all();
  }
  /// Until everything has ended, or the office cannot keep it.
  std::optional<Error> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return trouble_ || ended_ >= expected_; });
    return ended_ >= expected_ ? std::nullopt : trouble_;
  }

 private:
  void tell(const Message& message, const std::string& text, const char* colour) {
    const std::lock_guard lock(mutex_);
    std::string kind = message.event_type;
    kind.resize(10, ' ');
    context_.out << message.id << "  " << kind << "  ";
    const std::string safe = printable(text);
    if (context_.colour) {
      context_.out << colour << safe << "\x1b[0m\n";
    } else {
      context_.out << safe << "\n";
    }
    context_.out.flush();  // it is told as it happens, to a pipe too
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  Context& context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::uint64_t expected_;
  std::uint64_t ended_ = 0;
  std::optional<Error> trouble_;
};

/// A directory of our own, gone afterwards.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code none;
    const auto where = std::filesystem::temp_directory_path(none);
    std::string pattern = (none ? std::filesystem::path("/tmp") : where) / "dlo-demo-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Whoever is interrupted leaves no directory behind. Signals are blocked before there are threads.
class Interruption {
 public:
  explicit Interruption(std::string directory) : directory_(std::move(directory)) {
    sigemptyset(&signals_);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, each);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    std::signal(SIGPIPE, SIG_IGN);  // a reader who left: the demo ends as ever
    waiting_ = std::jthread([this](const std::stop_token& stop) { wait(stop); });
  }
  ~Interruption() {
    waiting_.request_stop();
    waiting_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  void wait(const std::stop_token& stop) const {
    constexpr timespec a_moment{0, 50'000'000};
    while (!stop.stop_requested()) {
      const int number = sigtimedwait(&signals_, nullptr, &a_moment);
      if (number <= 0) continue;
      std::error_code ignored;
      if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
      std::_Exit(128 + number);
    }
  }

  const std::string directory_;
  sigset_t signals_{};
  sigset_t before_{};
  std::jthread waiting_;
};

/// Sent = done + waiting + dead, each counted where it is, not where it was announced.
Result<bool> balance(Context& context, Office& office, MemoryBroker& source, std::uint64_t before,
                     const Instant& now) {
  const auto queue = source.stats(now);
  if (!queue) return queue.error();
  AggregateRequest request;
  request.groups = 10;
  request.group_order = GroupOrder::open_count;
  const auto numbers = office.aggregate(request);
  if (!numbers) return numbers.error();
  std::uint64_t dead = 0;
  for (const Tally& tally : numbers->tallies) {
    if (!is_live(tally.status)) dead += tally.count;
  }
  dead -= before;
  const std::uint64_t waiting = queue->ready + queue->delayed + queue->leased + queue->held;
  const bool balanced = queue->published == queue->completed + waiting + dead;
  context.out << "\nThe books: sent " << queue->published << " = done " << queue->completed
              << " + waiting " << waiting << " + dead " << dead << ".  "
              << (balanced ? "They balance." : "THEY DO NOT BALANCE.") << "\n\n";
  Table table({{"OPEN", Align::right}, {"CATEGORY"}, {"WHAT WENT WRONG", Align::left, true}});
  for (const GroupSummary& group : numbers->groups) {
    table.add({std::to_string(group.open), group.category, group.title});
  }
  table.print(context.out, context.width);
  return balanced;
}

Result<std::uint64_t> dead_before(Office& office) {
  const auto numbers = office.aggregate({});
  if (!numbers) return numbers.error();
  std::uint64_t dead = 0;
  for (const Tally& tally : numbers->tallies) {
    if (!is_live(tally.status)) dead += tally.count;
  }
  return dead;
}

}  // namespace

int demo(Context& context, const DemoArguments& arguments) {
  if (context.data_named && !arguments.keep) {
    return refuse(context, {Code::invalid_argument, "cli.demo",
                            "--data is where --keep leaves the office of a demo, and without "
                            "--keep nothing is left. Say --keep too, or leave --data out."});
  }
  const TemporaryDirectory temporary;
  const Interruption interruption(temporary.path());
  const std::string directory = arguments.keep ? context.data : temporary.path();
  auto settings = office_settings(context);
  if (!settings) return fail(context, settings.error());
  settings->address.clear();  // a demo never touches a database
  auto opened = open_office(directory, {}, *settings, context.now);
  if (!opened) return fail(context, opened.error());
  Office* const office = opened->office.get();
  const auto before = dead_before(*office);
  if (!before) return fail(context, before.error());
  const auto rules = hurried_rules();
  if (!rules) return fail(context, rules.error());
  auto handlers = demo_handlers();
  if (!handlers) return fail(context, handlers.error());

  SystemClock clock;
  MemoryBroker source(SourceOptions{.source = "orders"});
  Narrator narrator(context, arguments.messages);
  ProcessorOptions options;
  options.origin.node = "demo";
  options.seed = arguments.seed;
  options.receive_wait = Millis{10};
  Processor processor({.source = source,
                       .office = *office,
                       .rules = *rules,
                       .handlers = std::move(*handlers),
                       .clock = clock,
                       .events = &narrator},
                      options);
  context.out << arguments.messages
              << " messages: good, transient, permanent, poison, crashing.\n\n";
  std::vector<Publication> publications;
  for (MessagePtr& message : demo_messages(arguments.messages, arguments.seed)) {
    publications.push_back(Publication{.message = std::move(message)});
  }
  const auto published = source.publish(publications, clock.instant());
  if (!published) return fail(context, published.error());
  std::optional<Error> trouble;
  {
    std::jthread worker([&](const std::stop_token& stop) { processor.run(stop); });
    trouble = narrator.wait();
    if (trouble) processor.stop(Millis{500});  // what it holds cannot be written anyway
  }  // the engine settles what it has and stops
  if (trouble) return fail(context, *trouble);
  const auto balanced = balance(context, *office, source, *before, clock.instant());
  if (!balanced) return fail(context, balanced.error());
  if (arguments.keep) {
    context.out << "\nLook around:  dlo list --data " << directory << "   dlo stats --data "
                << directory << "\n";
  }
  return *balanced ? exit_ok : exit_error;
}

}  // namespace dlo::cli
