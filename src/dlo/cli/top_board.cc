#include "dlo/cli/top_board.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "dlo/cli/job_run.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/core/encoding.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

constexpr std::size_t lines_around = 8;  // of the screen, above and below the rows
constexpr std::size_t fewest_rows = 3;
constexpr std::size_t most_rows = 200;
constexpr std::array<const char*, 4> tab_names = {"dead letters", "groups", "jobs", "queues"};

struct ActKey {
  std::string_view key;
  const char* act;
};
constexpr std::array<ActKey, 4> act_keys = {
    {{"r", "replay"}, {"s", "resolve"}, {"a", "archive"}, {"d", "discard"}}};

std::vector<Column> columns_of(std::size_t tab) {
  std::vector<Column> columns{{""}};
  const auto add = [&columns](std::vector<Column> more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  const Column state{"STATUS", Align::left, false, colour_of_status};
  switch (tab) {
    case 0:
      add({{"ID"}, state, {"SOURCE"}, {"DIED"}, {"ERROR", Align::left, true}});
      break;
    case 1:
      add({{"ID"}, state, {"OPEN", Align::right}, {"SEEN"}, {"TITLE", Align::left, true}});
      break;
    case 2:
      add({{"JOB"}, state, {"ACT"}, {"DONE"}, {"PLANNED"}, {"QUERY", Align::left, true}});
      break;
    default:
      add({{"QUEUE"}, state, {"READY", Align::right}, {"LEASED", Align::right}, {"OLDEST"}});
      break;
  }
  return columns;
}

std::size_t number_in(const std::string& text) {
  std::size_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<std::size_t>(c - '0');
  return value;
}

}  // namespace

TopBoard::TopBoard(Context& context, Client& client)
    : context_(context), client_(client), places_(tab_count) {}

std::size_t TopBoard::rows_at_once() const {
  const std::size_t height = context_.height == 0 ? 24 : context_.height;
  const std::size_t rows = height > lines_around ? height - lines_around : 0;
  return std::clamp(rows, fewest_rows, most_rows);
}

bool TopBoard::can_act() const {
  return tab_ == Tab::letters || tab_ == Tab::groups;
}

/// Lists that have cursors begin where the page does; the others come whole.
Result<std::string> TopBoard::fetch() {
  const std::string& from = place().pages.back();
  const std::string limit = std::to_string(rows_at_once());
  std::string target;
  switch (tab_) {
    case Tab::letters:
      target = Address("/v1/dead-letters")
                   .with("q", "status:open")
                   .with("limit", limit)
                   .with_some("cursor", from)
                   .text();
      break;
    case Tab::groups:
      target = Address("/v1/groups")
                   .with("order", "open")
                   .with("limit", limit)
                   .with_some("cursor", from)
                   .text();
      break;
    case Tab::jobs:
      target = Address("/v1/jobs").with("limit", limit).with_some("cursor", from).text();
      break;
    case Tab::queues:
      target = "/v1/queues";
      break;
  }
  const auto reply = ask_for(client_, {"GET", target});
  if (!reply) return reply.error();
  read_rows(reply->value);
  const auto numbers = ask_for(client_, {"GET", "/v1/stats"});
  if (!numbers) return numbers.error();
  std::string text = "open " + text_of(numbers->value, "open");
  for (const JsonMember& each : member(numbers->value, "statuses").members) {
    if (each.value.raw != "0") text += "   " + each.name + " " + std::string(each.value.raw);
  }
  return text;
}

void TopBoard::read_rows(const JsonValue& answer) {
  rows_.clear();
  next_ = text_of(answer, "next");
  for (const char* name : {"dead_letters", "groups", "jobs", "queues"}) {
    for (const JsonValue& item : member(answer, name).items) add_row(item);
  }
  if (tab_ != Tab::queues) return;
  const std::size_t from = std::min(number_in(place().pages.back()), rows_.size());
  const std::size_t to = std::min(from + rows_at_once(), rows_.size());
  next_ = to < rows_.size() ? std::to_string(to) : std::string();
  rows_ = std::vector<Row>(rows_.begin() + static_cast<std::ptrdiff_t>(from),
                           rows_.begin() + static_cast<std::ptrdiff_t>(to));
}

void TopBoard::add_row(const JsonValue& item) {
  const auto age = [&](const char* name) { return when(context_, time_of(item, name)); };
  switch (tab_) {
    case Tab::letters: {
      const std::string error = text_of(item, "error_text");
      rows_.push_back({text_of(item, "id"),
                       {text_of(item, "status"), text_of(item, "source"), age("died_at"),
                        error.empty() ? text_of(item, "error_type") : error}});
      break;
    }
    case Tab::groups:
      rows_.push_back({text_of(item, "id"),
                       {text_of(item, "status"), text_of(item, "open"), age("last_seen"),
                        text_of(item, "title")}});
      break;
    case Tab::jobs:
      rows_.push_back(
          {text_of(item, "id"),
           {text_of(item, "state"), text_of(item, "act"), extent_of_job(member(item, "progress")),
            age("created_at"), text_of(item, "query")}});
      break;
    case Tab::queues:
      rows_.push_back({text_of(item, "queue"),
                       {is_true(item, "paused") ? "paused" : "", text_of(item, "ready"),
                        text_of(item, "leased"), age("oldest")}});
      break;
  }
}

void TopBoard::refresh() {
  auto numbers = fetch();
  if (numbers) {
    numbers_ = std::move(*numbers);
  } else {
    rows_.clear();
    next_.clear();
    message_ = numbers.error().detail;
  }
  place().chosen = rows_.empty() ? 0 : std::min(place().chosen, rows_.size() - 1);
}

void TopBoard::draw() const {
  std::ostream& out = context_.out;
  out << "dlo top   " << client_.name() << "   " << to_iso8601(context_.now) << "\n"
      << printable(numbers_) << "\n";
  for (std::size_t i = 0; i < tab_count; ++i) {
    const bool here = i == static_cast<std::size_t>(tab_);
    out << (here ? "[" : " ") << i + 1 << " " << tab_names[i] << (here ? "]" : " ") << "  ";
  }
  out << "\n\n";
  Table table(columns_of(static_cast<std::size_t>(tab_)));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::string mark = i == place().chosen ? ">" : " ";
    mark += place().ticked.contains(rows_[i].id) ? "x" : " ";
    std::vector<std::string> cells{mark, rows_[i].id};
    cells.insert(cells.end(), rows_[i].cells.begin(), rows_[i].cells.end());
    table.add(std::move(cells));
  }
  if (rows_.empty()) {
    out << "  none\n";
  } else {
    table.print(out, context_.width, context_.colour);
  }
  out << "\npage " << place().pages.size() << (next_.empty() ? ", the last" : "") << "   ticked "
      << place().ticked.size() << "   j k h l  x A  Tab  "
      << (can_act() ? "r replay  s resolve  a archive  d discard  " : "") << "q quit\n";
  if (!message_.empty()) out << printable(message_) << "\n";
  out << std::flush;
}

void TopBoard::go_to(Tab tab) {
  tab_ = tab;
  message_.clear();
  refresh();
}

void TopBoard::move(int by) {
  if (rows_.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1;
  const auto to = static_cast<std::ptrdiff_t>(place().chosen) + by;
  place().chosen = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(to, 0, last));
}

void TopBoard::turn_page(bool forward) {
  if (forward && !next_.empty()) {
    place().pages.push_back(next_);
  } else if (!forward && place().pages.size() > 1) {
    place().pages.pop_back();
  } else {
    return;
  }
  place().chosen = 0;
  refresh();
}

void TopBoard::tick() {
  if (rows_.empty()) return;
  const std::string& id = rows_[place().chosen].id;
  if (place().ticked.erase(id) == 0) place().ticked.insert(id);
  move(1);
}

/// All of the page, or none of it if all of it is ticked.
void TopBoard::tick_all() {
  const bool all = std::all_of(rows_.begin(), rows_.end(),
                               [this](const Row& row) { return place().ticked.contains(row.id); });
  for (const Row& row : rows_) {
    if (all) {
      place().ticked.erase(row.id);
    } else {
      place().ticked.insert(row.id);
    }
  }
}

void TopBoard::ask_for_act(const char* act) {
  if (!can_act()) return;
  if (place().ticked.empty()) {
    message_ = "Nothing is ticked: x ticks, A all of the page.";
  } else if (!client_.is_server()) {
    message_ = "No server works here, and this only looks; use dlo " + std::string(act) + ".";
  } else {
    asked_ = act;
    message_ = asked_ + " " + std::to_string(place().ticked.size()) +
               (tab_ == Tab::letters ? " dead letters" : " groups") + "? y or n";
  }
}

void TopBoard::act() {
  std::vector<Ask> asks;
  if (tab_ == Tab::letters) {
    JsonWriter json;
    json.begin_object().member("act", asked_).key("start").boolean(true).key("ids").begin_array();
    for (const std::string& id : place().ticked) json.text(id);
    json.end_array().end_object();
    asks.push_back({"POST", "/v1/jobs", json.take()});
  } else {
    for (const std::string& id : place().ticked) {
      asks.push_back({"POST", Address("/v1/groups").step(id).step(asked_).text(), "{}"});
    }
  }
  message_ = asked_ + ":";
  for (const Ask& each : asks) {
    const auto reply = ask_for(client_, each);
    message_ +=
        " " + (reply ? "job " + text_of(member(reply->value, "job"), "id") : reply.error().detail);
  }
  place().ticked.clear();
  refresh();
}

bool TopBoard::press(const std::string& key) {
  if (!asked_.empty()) {
    if (key == "y" || key == "Y") {
      act();
    } else {
      message_ = "Nothing was changed.";
    }
    asked_.clear();
    return true;
  }
  message_.clear();
  if (key == "q" || key == "\x03") return false;
  if (key == "\t") go_to(static_cast<Tab>((static_cast<std::size_t>(tab_) + 1) % tab_count));
  if (key.size() == 1 && key[0] >= '1' && key[0] <= '4') {
    go_to(static_cast<Tab>(static_cast<std::size_t>(key[0] - '1')));
  }
  if (key == "j" || key == "\x1b[B") move(1);
  if (key == "k" || key == "\x1b[A") move(-1);
  if (key == "h" || key == "\x1b[D") turn_page(false);
  if (key == "l" || key == "\x1b[C") turn_page(true);
  if (key == "x") tick();
  if (key == "A") tick_all();
  for (const ActKey& each : act_keys) {
    if (key == each.key) ask_for_act(each.act);
  }
  return true;
}

}  // namespace dlo::cli
