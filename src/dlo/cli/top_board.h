#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/context.h"

namespace dlo::cli {

/// What `dlo top` shows to somebody who sits there: one tab at a time, a page of its rows, one of
/// which is chosen and some of which are ticked.
///   Tab, 1 to 4  tabs     j k  down, up     h l  pages     x  tick     A  all of the page
///   r s a d      replay, resolve, archive, discard what is ticked; asks first     q  the end
class TopBoard {
 public:
  TopBoard(Context& context, Client& client);

  /// Looks again; answers why not if it cannot.
  void refresh();
  void draw() const;
  /// False: that was the end.
  [[nodiscard]] bool press(const std::string& key);

 private:
  enum class Tab : std::size_t { letters, groups, jobs, queues };
  static constexpr std::size_t tab_count = 4;

  struct Row {
    std::string id;
    std::vector<std::string> cells;
  };
  /// Where somebody is in a tab.
  struct Place {
    std::vector<std::string> pages{std::string()};  // where each page begins, the last is shown
    std::size_t chosen = 0;
    std::set<std::string> ticked;
  };

  [[nodiscard]] Place& place() { return places_[static_cast<std::size_t>(tab_)]; }
  [[nodiscard]] const Place& place() const { return places_[static_cast<std::size_t>(tab_)]; }
  [[nodiscard]] std::size_t rows_at_once() const;
  [[nodiscard]] bool can_act() const;
  [[nodiscard]] Result<std::string> fetch();
  void read_rows(const JsonValue& answer);
  void add_row(const JsonValue& item);
  void go_to(Tab tab);
  void move(int by);
  void turn_page(bool forward);
  void tick();
  void tick_all();
  void ask_for_act(const char* act);
  void act();

  Context& context_;
  Client& client_;
  Tab tab_ = Tab::letters;
  std::vector<Place> places_;
  std::vector<Row> rows_;
  std::string next_;     // of the page behind this one; empty: this is the last
  std::string numbers_;  // one line about everything
  std::string message_;  // what happened last
  std::string asked_;    // the act that waits for a yes
};

}  // namespace dlo::cli
