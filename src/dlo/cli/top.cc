#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/job_run.h"
#include "dlo/cli/table.h"
#include "dlo/cli/top_board.h"
#include "dlo/cli/verbs.h"
#include "dlo/cli/watching.h"
#include "dlo/core/encoding.h"

namespace dlo::cli {
namespace {

constexpr std::size_t most_rows = 8;
constexpr Millis between_looks{2'000};
constexpr const char* other_screen = "\x1b[?1049h";  // what was there before comes back at the end
constexpr const char* first_screen = "\x1b[?1049l";
constexpr const char* clear_screen = "\x1b[H\x1b[2J";

/// The first rows of a list, or why there is none.
void section(Context& context, Client& client, const char* title, const std::string& target,
             const char* name, const std::function<void(Context&, std::vector<JsonValue>)>& show) {
  context.out << "\n"
              << (context.colour ? paint::bold : "") << title
              << (context.colour ? paint::plain : "") << "\n";
  const auto reply = ask_for(client, {"GET", target});
  if (!reply) {
    context.out << "  " << printable(reply.error().detail) << "\n";
    return;
  }
  std::vector<JsonValue> rows = member(reply->value, name).items;
  if (rows.empty()) {
    context.out << "  none\n";
    return;
  }
  const std::size_t left = rows.size() - std::min(rows.size(), most_rows);
  rows.resize(rows.size() - left);
  show(context, std::move(rows));
  if (left > 0) context.out << "  and " << left << " more\n";
}

void show_jobs(Context& context, const std::vector<JsonValue>& jobs) {
  Table table({{"JOB"},
               {"STATE", Align::left, false, colour_of_status},
               {"ACT"},
               {"DONE", Align::right},
               {"QUERY", Align::left, true}});
  for (const JsonValue& job : jobs) {
    table.add({text_of(job, "id"), text_of(job, "state"), text_of(job, "act"),
               extent_of_job(member(job, "progress")), text_of(job, "query")});
  }
  print(context, table);
}

void show_queues(Context& context, const std::vector<JsonValue>& queues) {
  Table table({{"QUEUE"},
               {"READY", Align::right},
               {"LEASED", Align::right},
               {"OLDEST"},
               {"STATE", Align::left, false, colour_of_status}});
  for (const JsonValue& queue : queues) {
    const auto oldest = time_of(queue, "oldest");
    table.add({text_of(queue, "queue"), text_of(queue, "ready"), text_of(queue, "leased"),
               oldest ? relative(*oldest, context.now) : "-",
               is_true(queue, "paused") ? "paused" : ""});
  }
  print(context, table);
}

int screen(Context& context, Client& client) {
  const auto numbers = ask_for(client, {"GET", "/v1/stats"});
  if (!numbers) return refuse(context, numbers.error());
  context.out << "dlo top   " << client.name() << "   " << to_iso8601(context.now) << "\n"
              << "open " << text_of(numbers->value, "open");
  for (const JsonMember& each : member(numbers->value, "statuses").members) {
    if (each.value.raw != "0") context.out << "   " << each.name << " " << each.value.raw;
  }
  context.out << "\n";
  section(context, client, "GROUPS", "/v1/groups?order=open&limit=50", "groups",
          [](Context& c, const std::vector<JsonValue>& rows) { print_groups(c, rows); });
  section(context, client, "JOBS", "/v1/jobs?limit=50", "jobs", show_jobs);
  if (client.is_server()) section(context, client, "QUEUES", "/v1/queues", "queues", show_queues);
  return exit_ok;
}

/// Somebody sits there: keys move about, and what is shown is looked at again every two seconds.
int sit_at(Context& context, Client& client) {
  TopBoard board(context, client);
  context.out << other_screen;
  bool goes_on = true;
  bool look = true;
  while (goes_on && context.out) {
    refresh(context);
    if (look) board.refresh();
    context.out << clear_screen;
    board.draw();
    const std::string key = context.key(between_looks);
    look = key.empty();
    if (!look) goes_on = board.press(key);
  }
  context.out << first_screen << std::flush;
  return exit_ok;
}

}  // namespace

int top(Context& context) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  if (context.width > 0 && context.key) return sit_at(context, **client);
  WatchArguments watch;
  watch.on = context.width > 0;  // without a terminal nobody could stop it
  return watched(context, watch, [&]() -> int { return screen(context, **client); });
}

}  // namespace dlo::cli
