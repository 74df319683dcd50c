#include "dlo/api/job_list.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/curtain.h"
#include "dlo/api/job_answers.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_jobs = 500;
constexpr std::size_t usual_jobs = 50;
constexpr std::size_t most_at_once = 100;  // of a stream
constexpr std::size_t longest_cursor = 100;
constexpr std::array<std::string_view, 7> states = {"planned", "running", "paused", "cancelled",
                                                    "done",    "failed",  "stopped"};

/// Every word of a list with commas, each of which must be one of `known`.
Result<std::vector<std::string>> words_of(const Request& request, std::string_view name,
                                          std::span<const std::string_view> known) {
  std::vector<std::string> words;
  const std::string text = request.text(name);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return Error{Code::invalid_argument, "api.jobs", unknown_name(name, word, known)};
    }
    words.emplace_back(word);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return words;
}

Result<JobFilter> read_filter(const Request& request) {
  JobFilter filter;
  const auto limit = request.number("limit", usual_jobs, 1, most_jobs);
  if (!limit) return limit.error();
  filter.limit = *limit;
  const auto wanted = words_of(request, "state", states);
  if (!wanted) return wanted.error();
  for (const std::string& each : *wanted) {
    if (const auto state = parse_job_state(each)) filter.states.push_back(*state);
  }
  auto acts = words_of(request, "act", job_act_names);
  if (!acts) return acts.error();
  filter.acts = std::move(*acts);
  filter.before = request.text("cursor");
  if (filter.before.size() > longest_cursor) {
    return Error{Code::invalid_argument, "api.jobs",
                 "That is not a cursor. Use the `next` of an earlier page."};
  }
  return filter;
}

/// A job of a list: what it is, and how far.
Result<std::string> row_of(JobBook& book, const Job& shown) {
  const auto progress = book.progress(shown.id);
  if (!progress) return progress.error();
  JsonWriter json;
  json.begin_object();
  write_members(json, shown);
  write_progress(json, shown, *progress);
  json.end_object();
  return json.take();
}

HttpResponse list_page(JobBook& book, const JobFilter& filter, const Request& request) {
  const auto page = book.list(filter);
  if (!page) return problem_of(page.error());
  JsonWriter json;
  json.begin_object().key("jobs").begin_array();
  for (const Job& job : page->jobs) {
    const auto row = row_of(book, curtain_of(request).hidden(job, request.actor));
    if (!row) return problem_of(row.error());
    json.raw(*row);
  }
  json.end_array().key("next");
  if (page->next.empty()) {
    json.null();
  } else {
    json.text(page->next);
  }
  json.end_object();
  return json_answer(json.take());
}

/// One job a line. Between two pages no thread is held.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(JobBook& book, WorkerPool& pool, const Request& request, JobFilter filter,
         std::optional<std::size_t> most, ExchangePtr exchange)
      : book_(book),
        pool_(pool),
        curtain_(curtain_of(request)),
        actor_(request.actor),
        filter_(std::move(filter)),
        left_(most),
        exchange_(std::move(exchange)) {}

  void start() {
    HttpResponse head;
    head.content_type = "application/x-ndjson";
    exchange_->begin(std::move(head));
    step();
  }

 private:
  void step() {
    filter_.limit = left_ ? std::min(*left_, most_at_once) : most_at_once;
    const auto page = book_.list(filter_);
    if (!page) return fail(page.error());
    if (left_) *left_ -= std::min(*left_, page->jobs.size());
    std::string lines;
    for (const Job& job : page->jobs) {
      const auto row = row_of(book_, curtain_.hidden(job, actor_));
      if (!row) return fail(row.error());
      lines += *row + "\n";
    }
    const Room room = exchange_->write(lines);
    const bool over = page->next.empty() || (left_ && *left_ == 0);
    if (room == Room::gone || over) return exchange_->end();
    filter_.before = page->next;
    if (room == Room::yes) return go_on();
    exchange_->when_room([self = shared_from_this()](bool alive) {
      if (alive) self->go_on();
    });
  }
  void go_on() {
    if (!pool_.post([self = shared_from_this()] { self->step(); })) {
      fail({Code::unavailable, "api.jobs", "the server is too busy to go on; ask again"});
    }
  }
  /// The status is sent long ago: the last line says that this is not all.
  void fail(const Error& error) {
    exchange_->write(problem_of(error).body);
    exchange_->end();
  }

  JobBook& book_;
  WorkerPool& pool_;
  const Curtain& curtain_;
  const Actor actor_;
  JobFilter filter_;
  std::optional<std::size_t> left_;  // of what was asked for; empty: everything
  const ExchangePtr exchange_;
};

void list(JobBook& book, WorkerPool& slow, const Request& request, const ExchangePtr& exchange) {
  auto filter = read_filter(request);
  if (!filter) return exchange->send(problem_of(filter.error()));
  if (request.http.header("Accept").find("application/x-ndjson") == std::string_view::npos) {
    return exchange->send(list_page(book, *filter, request));
  }
  std::optional<std::size_t> most;
  if (request.find("limit") != nullptr) most = filter->limit;
  std::make_shared<Stream>(book, slow, request, std::move(*filter), most, exchange)->start();
}

}  // namespace

std::vector<Route> job_list_routes(JobBook& book, WorkerPool& slow) {
  return {{"GET",
           "/v1/jobs",
           Role::reader,
           Lane::slow,
           {"limit", "cursor", "state", "act"},
           [&book, &slow](const Request& request, const ExchangePtr& exchange) {
             list(book, slow, request, exchange);
           }}};
}

}  // namespace dlo::api
