#include "dlo/cli/job_run.h"

#include <algorithm>
#include <istream>
#include <ostream>

#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/watch.h"
#include "dlo/core/spelling.h"
#include "dlo/jobs/replay_target.h"

namespace dlo::cli {
namespace {

constexpr Millis between_looks{250};
constexpr std::size_t longest_bar = 30;

bool is_over(const std::string& state) {
  return state != "running" && state != "planned" && state != "paused";
}

std::string job_path(const std::string& id, const char* verb = nullptr) {
  Address address("/v1/jobs");
  address.step(id);
  if (verb != nullptr) address.step(verb);
  return address.text();
}

void print_sample(Context& context, const JsonValue& preview) {
  const auto& sample = member(preview, "sample").items;
  if (sample.empty()) return;
  Table table({{"ID"}, {"STATUS"}, {"SOURCE"}, {"TYPE"}, {"ERROR", Align::left, true}});
  for (const JsonValue& head : sample) {
    table.add({text_of(head, "id"), text_of(head, "status"), text_of(head, "source"),
               text_of(head, "event_type"), text_of(head, "error_text")});
  }
  table.print(context.err, context.width, context.colour);
}

std::string target_of(const JsonValue& job) {
  if (text_of(job, "act") != "replay") return {};
  const std::string target = text_of(job, "target");
  std::string text =
      target.empty() ? (member(job, "redirects").items.empty()
                            ? ", each to the queue it came from"
                            : ", each to the queue it came from or is redirected to")
                     : (is_executor(target) ? ", each run by " : ", to queue ") + in_quotes(target);
  if (const auto canary = number_of(job, "canary"); canary > 0) {
    text += ", " + std::to_string(canary) + " of them first; it stops if fewer than " +
            text_of(job, "success_percent") + " % stay cured";
  }
  return text;
}

/// "replay 12 dead letters, each to the queue it came from".
std::string describe(const Reply& planned) {
  const JsonValue& job = member(planned.value, "job");
  const JsonValue& preview = member(planned.value, "preview");
  return text_of(job, "act") + (is_true(preview, "at_least") ? " at least " : " ") +
         text_of(preview, "count") + " dead letters" + target_of(job);
}

/// Where they go and why they died, for whoever only wants to know.
void print_shares(Context& context, const JsonValue& preview) {
  for (const JsonValue& each : member(preview, "targets").items) {
    if (each.find("redirect") != nullptr || each.find("problem") != nullptr) continue;
    context.err << "  target " << printable(text_of(each, "target")) << ": "
                << text_of(each, "count") << "\n";
  }
  for (const JsonValue& each : member(preview, "reasons").items) {
    context.err << "  reason " << printable(text_of(each, "reason")) << ": "
                << text_of(each, "count") << "\n";
  }
}

void print_plan(Context& context, const Reply& planned, bool in_detail) {
  const JsonValue& job = member(planned.value, "job");
  const JsonValue& preview = member(planned.value, "preview");
  context.err << "Plan: " << describe(planned) << ".\n";
  if (const std::string former = text_of(job, "from_job"); !former.empty()) {
    context.err << "  from   job " << printable(former) << ", what became "
                << text_of(job, "outcome") << " of it\n";
  } else {
    context.err << "  query  " << printable(text_of(job, "query")) << "\n";
  }
  if (in_detail) print_shares(context, preview);
  if (const auto takes = number_of(preview, "takes_ms"); takes > 0) {
    context.err << (is_true(preview, "at_least") ? "  takes  at least " : "  takes  about ")
                << duration_text(Millis{takes}) << " at " << text_of(job, "rate") << " a second\n";
  }
  if (const auto followers = number_of(member(preview, "keys"), "followers"); followers > 0) {
    context.err << "  keys   " << text_of(member(preview, "keys"), "count") << ", " << followers
                << " stand behind another of their key\n";
  }
  for (const JsonValue& each : member(preview, "targets").items) {
    const std::string problem = text_of(each, "problem");
    if (const std::string rule = text_of(each, "redirect"); !rule.empty()) {
      context.err << "  target " << printable(text_of(each, "target")) << ": "
                  << text_of(each, "count") << " by redirect rule " << text_of(each, "rule") << " ("
                  << printable(rule) << ")\n";
    }
    if (problem.empty()) continue;
    context.err << "  target " << printable(text_of(each, "target")) << ": " << printable(problem)
                << " " << text_of(each, "count") << " stay where they are.\n";
  }
  for (const JsonValue& each : member(preview, "strip").items) {
    context.err << "  strip  " << printable(text_of(each, "name")) << " (of the sample "
                << text_of(each, "in_sample") << " have it)\n";
  }
  for (const JsonValue& each : member(preview, "set_headers").items) {
    context.err << "  set    " << printable(each.text()) << "\n";
  }
  print_sample(context, preview);
}

/// What a job did so far, against what it set out to do.
struct Sight {
  std::string state;
  std::string problem;
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total;  // empty: not known yet
  std::uint64_t written = 0;           // ... but so many at least
  std::string words;                   // "ok 12, changed 1"
  bool flawless = true;
};

Sight sight_of(const Reply& reply) {
  const JsonValue& job = member(reply.value, "job");
  const JsonValue& progress = member(reply.value, "progress");
  Sight sight;
  sight.state = text_of(job, "state");
  sight.problem = text_of(job, "problem");
  sight.done = number_of(progress, "total");
  sight.written = number_of(progress, "planned");
  sight.total = size_of_job(progress);
  for (const JsonMember& each : progress.members) {
    if (each.name == "returned_to") {  // "20 came back as group G"
      for (const JsonValue& to : each.value.items) {
        sight.words += ", " + text_of(to, "count") + " as group " + text_of(to, "group");
      }
    } else if (each.name == "unreachable") {
      for (const JsonValue& to : each.value.items) {
        sight.words += ", " + text_of(to, "count") + " not to " + text_of(to, "target") + " (" +
                       text_of(to, "reason") + ")";
      }
    }
    if (each.name == "blocked") sight.words += ", waits: " + printable(each.value.text());
    if (each.value.kind != JsonKind::number || each.name == "taken") continue;
    const auto count = each.value.to_uint64().value_or(0);
    const bool size = each.name == "total" || each.name == "planned";
    if (size || (count == 0 && each.name != "ok")) continue;
    sight.words += (sight.words.empty() ? "" : ", ") + each.name + " " + std::to_string(count);
    const bool fine = each.name == "ok" || each.name == "verified" || each.name == "presumed";
    if (!fine) sight.flawless = false;
  }
  return sight;
}

std::string bar(const Sight& sight, double rate, std::size_t width) {
  if (!sight.total) {
    const std::string so_far = sight.done > 0 ? std::to_string(sight.done) + " done, "
                                              : std::to_string(sight.written) + " written down, ";
    return cut(so_far + "their number is not known yet", width - 1);
  }
  const std::uint64_t total = *sight.total;
  const std::uint64_t percent = total == 0 ? 100 : sight.done * 100 / total;
  std::string text;
  if (width > 80) {
    const std::size_t full = longest_bar * percent / 100;
    text = "[" + std::string(full, '#') + std::string(longest_bar - full, '.') + "] ";
  }
  text += std::to_string(percent) + " %  " + std::to_string(sight.done) + "/" +
          std::to_string(total) + "  " + std::to_string(static_cast<std::uint64_t>(rate)) + "/s";
  if (rate > 0 && sight.done < total) {
    const double seconds = static_cast<double>(total - sight.done) / rate;
    text += "  ETA " + duration_text(Millis{static_cast<std::int64_t>(seconds * 1000)});
  }
  text += "  " + sight.words + (sight.state == "running" ? "" : "  " + sight.state);
  return cut(text, width == 0 ? 200 : width - 1);
}

int report(Context& context, const std::string& id, const Reply& reply, bool silent) {
  const Sight sight = sight_of(reply);
  if (!silent && context.format != Format::id) {  // an id was printed first of all
    print_job_answer(context, reply, [&] {
      context.out << "Job " << id << " is " << sight.state << ": "
                  << (sight.words.empty() ? "nothing to do" : sight.words) << "\n";
    });
  }
  if (!sight.problem.empty()) context.err << "dlo: " << printable(sight.problem) << "\n";
  if (number_of(member(reply.value, "progress"), "refused") > 0 && !silent) {
    const bool replay = text_of(member(reply.value, "job"), "act") == "replay";
    context.err << "Refused is what cannot be done in the state it is in"
                << (replay
                        ? " (what is quarantined goes only with --quarantined-too, what was sent "
                          "and is awaited only with --again)"
                        : "")
                << ": dlo job items " << id << " --outcome refused\n";
  }
  if (sight.state == "paused") {
    context.err << "It is paused; dlo job resume " << id << " goes on.\n";
    return exit_partial;
  }
  if (sight.state == "failed" || sight.state == "stopped") return exit_error;
  return sight.state == "done" && sight.flawless ? exit_ok : exit_partial;
}

}  // namespace

std::optional<std::uint64_t> size_of_job(const JsonValue& progress) {
  if (progress.find("planned") == nullptr) return std::nullopt;  // an older server
  const std::uint64_t planned = number_of(progress, "planned");
  const bool known = !is_true(progress, "freezing") && number_of(progress, "total") <= planned;
  return known ? std::optional(planned) : std::nullopt;
}

std::string extent_of_job(const JsonValue& progress) {
  const std::string done = text_of(progress, "total");
  if (const auto size = size_of_job(progress)) return done + "/" + std::to_string(*size);
  return is_true(progress, "freezing") ? done + "/>=" + text_of(progress, "planned") : done;
}

std::string duration_text(Millis length) {
  if (length < Millis{1'000}) return "1s";
  std::string text = relative(TimePoint{}, TimePoint{} + length);
  return text.substr(0, text.rfind(" ago"));
}

bool confirmed(Context& context, bool yes, const std::string& question) {
  if (yes) return true;
  if (!context.asks || context.in == nullptr) {
    context.err << "dlo: Say --yes if that is meant; nothing was changed.\n";
    return false;
  }
  context.err << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(*context.in, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return true;
  context.err << "Nothing was changed.\n";
  return false;
}

void print_job_answer(Context& context, const Reply& reply, const std::function<void()>& people) {
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << *reply.text;
  } else {
    print_one(context, member(reply.value, "job"), "id", people);
  }
}

int watch_job(Context& context, Client& client, const std::string& id, bool silent) {
  auto last = ask_for(client, {"GET", job_path(id)});
  if (!last) return refuse(context, last.error());
  Sight sight = sight_of(*last);
  const std::uint64_t begun = sight.done;
  refresh(context);
  TimePoint since = context.now;
  while (!is_over(sight.state) && sight.state != "paused" && context.pause) {
    context.pause(between_looks);
    last = ask_for(client, {"GET", job_path(id)});
    if (!last) return refuse(context, last.error());
    sight = sight_of(*last);
    refresh(context);
    if (!sight.total)
      since = context.now;  // a rate is of what is done, not of what is written down
    const double seconds =
        std::max(0.001, static_cast<double>((context.now - since).count()) / 1000);
    if (context.width > 0) {
      context.err << "\r\x1b[K"
                  << bar(sight, static_cast<double>(sight.done - begun) / seconds, context.width)
                  << std::flush;
    }
  }
  if (context.width > 0) context.err << "\r\x1b[K" << std::flush;
  return report(context, id, *last, silent);
}

bool some_are_unknown(Context& context, std::uint64_t named, std::uint64_t found) {
  if (found >= named) return false;
  context.err << "dlo: " << named - found << " of " << named
              << " ids are no dead letters here; the others are dealt with.\n";
  return true;
}

int run_job(Context& context, Client& client, const std::string& body, const JobWill& will) {
  const auto planned = ask_for(client, {"POST", "/v1/jobs", body});
  if (!planned) return refuse(context, planned.error());
  const std::string id = text_of(member(planned->value, "job"), "id");
  // First of all: whatever happens, it can be found. Where a program reads the answer, beside it.
  const bool first = is_for_people(context) && !will.silent;
  if (context.format == Format::id && !will.silent) {
    context.out << id << std::endl;
  } else {
    (first ? context.out : context.err) << "job " << id << std::endl;
  }
  const auto answer = [&](const Reply& reply) {
    const bool told = will.silent || context.format == Format::id;
    if (!told) print_job_answer(context, reply, [] {});
  };
  print_plan(context, *planned, will.dry_run);
  const JsonValue& preview = member(planned->value, "preview");
  const std::uint64_t count = number_of(preview, "count");
  const bool empty = count == 0 && !is_true(preview, "at_least");
  if (empty || will.dry_run) {
    context.err << (empty ? "Nothing matches; there is nothing to do.\n"
                          : "Nothing was changed. To do it: dlo job start " + id + "\n");
    const auto cancelled =
        empty ? ask_for(client, {"POST", job_path(id, "cancel")}) : Result<Reply>(*planned);
    answer(cancelled ? *cancelled : *planned);
    return empty ? exit_nothing_matched : exit_ok;
  }
  if (!confirmed(context, will.yes, describe(*planned) + "?")) {
    (void)ask_for(client, {"POST", job_path(id, "cancel")});
    return exit_usage;
  }
  const auto started = ask_for(client, {"POST", job_path(id, "start")});
  if (!started) return refuse(context, started.error());
  const int best = some_are_unknown(context, will.named, count) ? exit_partial : exit_ok;
  if (client.is_server() && !will.wait) {
    context.err << "The server works on it. To follow it: dlo job watch " << id << "\n";
    answer(*started);
    return best;
  }
  const int ended = watch_job(context, client, id, will.silent);
  return ended == exit_ok ? best : ended;
}

}  // namespace dlo::cli
