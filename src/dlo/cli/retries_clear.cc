#include <CLI/CLI.hpp>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/grammar_on.h"
#include "dlo/cli/job_run.h"
#include "dlo/cli/output.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

struct ClearArguments {
  std::optional<std::uint64_t> count;
  bool yes = false;
};

/// Everything goes, so a "yes" that is typed without reading is not enough (S2-23).
bool typed(Context& context, std::uint64_t open, bool yes) {
  const std::string number = std::to_string(open);
  if (!context.asks || context.in == nullptr || yes) {
    context.err << "dlo: " << number
                << " dead letters are open. If all of them are meant, say --count " << number
                << (yes ? ": --yes alone is not enough" : "") << "; nothing was changed.\n";
    return false;
  }
  context.err << number << " dead letters are open, of every source. All of them are discarded; "
              << "archived ones stay.\nType their number to go on: " << std::flush;
  std::string answer;
  std::getline(*context.in, answer);
  if (answer == number) return true;
  context.err << "Nothing was changed.\n";
  return false;
}

std::string body_of(std::uint64_t count) {
  JsonWriter json;
  json.begin_object().member("act", "discard").member("query", "status:open");
  json.member("expect", count).key("start").boolean(true).end_object();
  return json.take();
}

/// It is over when it is known how many went.
int clear(Context& context, const ClearArguments& arguments) {
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  const auto numbers = ask_for(**client, {"GET", "/v1/stats"});
  if (!numbers) return refuse(context, numbers.error());
  const std::uint64_t open = number_of(numbers->value, "open");
  if (open == 0 && !arguments.count) {
    context.err << "Nothing is open; there is nothing to clear.\n";
    return exit_nothing_matched;
  }
  if (!arguments.count && !typed(context, open, arguments.yes)) return exit_usage;
  const auto begun =
      ask_for(**client, {"POST", "/v1/jobs", body_of(arguments.count.value_or(open))});
  if (!begun) return refuse(context, begun.error());
  const std::string id = text_of(member(begun->value, "job"), "id");
  const int ended = watch_job(context, **client, id, true);
  const auto done = ask_for(**client, {"GET", Address("/v1/jobs").step(id).text()});
  if (!done) return refuse(context, done.error());
  print_job_answer(context, *done, [&] {
    context.out << "Removed " << number_of(member(done->value, "progress"), "ok")
                << " dead letters (job " << id
                << "; dlo restore brings them back while their grace lasts).\n";
  });
  return ended;
}

}  // namespace

void add_retries_clear(const Grammar& grammar, CLI::App* retries) {
  auto* command = retries->add_subcommand(
      "clear", "Discard everything that is open; asks for the number to be typed");
  const auto arguments = std::make_shared<ClearArguments>();
  command->add_option("--count", arguments->count,
                      "How many there are; if it is another number nothing happens");
  command->add_flag("--yes", arguments->yes, "Not enough here: say --count");
  on(grammar, command, arguments,
     [](Context& context, const ClearArguments& said) { return clear(context, said); });
}

}  // namespace dlo::cli
