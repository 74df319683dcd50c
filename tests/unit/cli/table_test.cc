#include "dlo/cli/table.h"

#include <gtest/gtest.h>
#include <sstream>

namespace dlo::cli {
namespace {

std::string printed(const Table& table, std::size_t width = 0) {
  std::ostringstream out;
  table.print(out, width);
  return out.str();
}

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"NAME"}, {"COUNT", Align::right}});
  table.add({"orders", "7"});
  table.add({"a", "4112"});
  EXPECT_EQ(printed(table), "NAME    COUNT\norders      7\na        4112\n");
}

TEST(Table, AFlexibleColumnGivesWayToANarrowTerminal) {
  Table table({{"ID"}, {"ERROR", Align::left, true}, {"AGE"}});
  table.add({"17", "connection refused by billing", "3m"});
  EXPECT_EQ(printed(table, 20), "ID  ERROR        AGE\n17  connection…  3m\n");
}

TEST(Table, ColumnsThatAreNotNeededAreLeftOutOfANarrowTerminal) {
  Table table({{"ID"},
               {"KIND", Align::left, false, nullptr, true},
               {"WHEN", Align::left, false, nullptr, true},
               {"ERROR", Align::left, true}});
  table.add({"0123456789", "kind-of-it", "yesterday", "the connection was refused by the other"});
  const auto titles = [&](std::size_t width) {
    std::ostringstream out;
    table.print(out, width);
    const std::string text = out.str();
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(titles(80), "ID          KIND        WHEN       ERROR");
  EXPECT_EQ(titles(50), "ID          KIND        ERROR");
  EXPECT_EQ(titles(40), "ID          ERROR");
  EXPECT_EQ(titles(0), "ID          KIND        WHEN       ERROR");
}

TEST(Table, OneAbsurdCellCannotFillTheScreen) {
  Table table({{"ID"}, {"TYPE"}, {"ERROR", Align::left, true}});
  table.add({std::string(32, 'f'), std::string(70'000, 't'), "connection refused"});
  table.add({std::string(32, 'e'), "Order", "no"});
  std::istringstream cut_lines(printed(table, 100));
  for (std::string line; std::getline(cut_lines, line);) {
    EXPECT_LE(display_width(line), 100U) << line.substr(0, 200);
  }
  EXPECT_NE(printed(table, 100).find(std::string(32, 'f')), std::string::npos) << "ids are whole";
  const std::string cut_type = std::string(39, 't').append("…");
  EXPECT_NE(printed(table, 100).find(cut_type), std::string::npos);
  EXPECT_NE(printed(table, 100).find("connection refused"), std::string::npos);

  const std::string whole = printed(table);
  EXPECT_NE(whole.find(std::string(70'000, 't')), std::string::npos) << "nothing is cut in a pipe";
  EXPECT_LT(whole.size(), 71'000U) << "and nobody else pays for it";
}

TEST(Table, SignsThatTakeTwoColumnsOrNoneAreCountedAsSuch) {
  Table table({{"ID"}, {"COUNT", Align::right}});
  table.add({"注文", "7"});
  table.add({"orde\u0301r", "8"});
  table.add({"orders", "9"});
  EXPECT_EQ(printed(table), "ID      COUNT\n注文        7\norde\u0301r       8\norders      9\n");
  EXPECT_EQ(cut("注文番号", 5), "注文…");
  EXPECT_EQ(cut("注文番号", 4), "注…");
}

TEST(Table, HostileTextCannotMoveTheCursor) {
  Table table({{"ERROR"}});
  table.add(
      {"\x1b[2Jgone\r\n\xc2\x9b"
       "31m"});
  const std::string text = printed(table);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
}

TEST(Table, BrokenUtf8IsReplacedAndEverythingElseKept) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(printable("Grüße 漢字"), "Grüße 漢字");
  EXPECT_EQ(printable("cut\xe6\xbc"), "cut\xEF\xBF\xBD");
}

TEST(Table, CuttingNeverSplitsACharacter) {
  EXPECT_EQ(cut("Grüße", 4), "Grü…");
  EXPECT_EQ(cut("Grüße", 5), "Grüße");
  EXPECT_EQ(cut("Grüße", 1), "…");
}

TEST(Table, CsvQuotesWhatNeedsQuoting) {
  Table table({{"a"}, {"b"}});
  table.add({"x,y", "say \"hi\""});
  std::ostringstream out;
  table.print_csv(out);
  EXPECT_EQ(out.str(), "a,b\r\n\"x,y\",\"say \"\"hi\"\"\"\r\n");
}

}  // namespace
}  // namespace dlo::cli
