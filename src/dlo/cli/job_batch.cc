#include "dlo/cli/job_batch.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

Result<Reply> tell(Client& client, const std::string& id, const char* verb) {
  return ask_for(client, {"POST", Address("/v1/jobs").step(id).step(verb).text()});
}

/// Jobs that together are one act.
class Batch {
 public:
  Batch(Context& context, Client& client, const JobWill& will)
      : context_(context), client_(client), will_(will) {}

  Result<void> plan(const std::vector<std::string>& ids, const BodyOf& body_of) {
    for (std::size_t from = 0; from < ids.size(); from += ids_of_a_job) {
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(from);
      const auto count = std::min(ids_of_a_job, ids.size() - from);
      const auto body =
          body_of(std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(count)));
      if (!body) return body.error();
      auto planned = ask_for(client_, {"POST", "/v1/jobs", *body});
      if (!planned) return planned.error();
      jobs_.push_back(text_of(member(planned->value, "job"), "id"));
      act_ = text_of(member(planned->value, "job"), "act");
      count_ += number_of(member(planned->value, "preview"), "count");
      say_id(jobs_.back());
    }
    return {};
  }

  [[nodiscard]] std::string described() const {
    return act_ + " " + std::to_string(count_) + " dead letters, in " +
           std::to_string(jobs_.size()) + " jobs";
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  void cancel(std::size_t from = 0) {
    for (std::size_t i = from; i < jobs_.size(); ++i) (void)tell(client_, jobs_[i], "cancel");
  }

  int start(bool in_turn) {
    const bool waits = will_.wait || in_turn || !client_.is_server();
    int worst = exit_ok;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (const auto begun = tell(client_, jobs_[i], "start"); !begun) {
        cancel(i);
        return refuse(context_, begun.error());
      }
      if (!in_turn) continue;
      worst = std::max(worst, watch_job(context_, client_, jobs_[i], true));
      if (worst == exit_error) {
        cancel(i + 1);
        context_.err << "The jobs behind it were cancelled; nothing of them was done.\n";
        break;
      }
    }
    for (std::size_t i = 0; waits && !in_turn && i < jobs_.size(); ++i) {
      worst = std::max(worst, watch_job(context_, client_, jobs_[i], true));
    }
    if (!waits) context_.err << "The server works on them. To follow them: dlo job list --watch\n";
    const int told = answer();
    return told == exit_ok ? worst : told;
  }

  /// What became of all of them, as of one.
  int answer() {
    std::map<std::string, std::uint64_t> sums;
    JsonWriter json;
    json.begin_object().member("act", act_).member("count", count_).key("jobs").begin_array();
    std::string states;
    for (const std::string& id : jobs_) {
      const auto job = ask_for(client_, {"GET", Address("/v1/jobs").step(id).text()});
      if (!job) return refuse(context_, job.error());
      json.raw(member(job->value, "job").raw);
      for (const JsonMember& each : member(job->value, "progress").members) {
        if (const auto count = each.value.to_uint64()) sums[each.name] += *count;
      }
      const std::string state = text_of(member(job->value, "job"), "state");
      if (states.find(state) == std::string::npos) states += (states.empty() ? "" : ", ") + state;
    }
    json.end_array().key("progress").begin_object();
    for (const auto& [name, count] : sums) json.member(name, count);
    json.end_object().end_object();
    if (will_.silent || context_.format == Format::id) return exit_ok;
    const std::string text = json.take();
    const auto value = parse_json(text);
    if (!value) return refuse(context_, value.error());
    print_one(context_, *value, "act", [&] {
      context_.out << jobs_.size() << " jobs are " << states << ":";
      for (const auto& [name, count] : sums) {
        if (name != "total" && (count > 0 || name == "ok")) {
          context_.out << " " << name << " " << count;
        }
      }
      context_.out << "\n";
    });
    return exit_ok;
  }

 private:
  /// First of all: whatever happens, it can be found. Where a program reads the answer, beside it.
  void say_id(const std::string& id) {
    if (context_.format == Format::id && !will_.silent) {
      context_.out << id << std::endl;
    } else {
      (is_for_people(context_) && !will_.silent ? context_.out : context_.err)
          << "job " << id << std::endl;
    }
  }

  Context& context_;
  Client& client_;
  const JobWill& will_;
  std::vector<std::string> jobs_;
  std::string act_;
  std::uint64_t count_ = 0;
};

}  // namespace

int run_jobs(Context& context, Client& client, const std::vector<std::string>& ids,
             const BodyOf& body_of, const JobWill& will, bool in_turn) {
  std::vector<std::string> once;
  std::set<std::string> seen;
  for (const std::string& id : ids) {
    if (seen.insert(id).second) once.push_back(id);
  }
  if (once.size() <= ids_of_a_job) {
    const auto body = body_of(once);
    JobWill named = will;
    named.named = once.size();
    return body ? run_job(context, client, *body, named) : refuse(context, body.error());
  }
  Batch batch(context, client, will);
  if (const auto planned = batch.plan(once, body_of); !planned) {
    batch.cancel();
    return refuse(context, planned.error());
  }
  context.err << "Plan: " << batch.described() << ".\n";
  if (batch.count() == 0) {
    batch.cancel();
    context.err << "Nothing matches; there is nothing to do.\n";
    return exit_nothing_matched;
  }
  if (will.dry_run) {
    context.err << "Nothing was changed. To do it: dlo job start each of them.\n";
    return batch.answer();
  }
  if (!confirmed(context, will.yes, batch.described() + "?")) {
    batch.cancel();
    return exit_usage;
  }
  const bool some = some_are_unknown(context, once.size(), batch.count());
  const int ended = batch.start(in_turn);
  return ended == exit_ok && some ? exit_partial : ended;
}

}  // namespace dlo::cli
