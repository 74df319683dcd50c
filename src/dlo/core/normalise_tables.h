#pragma once

#include <array>
#include <string_view>

#include "dlo/core/word_list.h"

/// What normalise.cc folds or keeps, as data. All in lower case.
namespace dlo::normalise_tables {

inline constexpr WordList units({"ns",           "us",           "ms",      "s",    "sec",
                                 "secs",         "second",       "seconds", "min",  "mins",
                                 "minute",       "minutes",      "h",       "hr",   "hrs",
                                 "hour",         "hours",        "day",     "days", "d",
                                 "milliseconds", "microseconds", "millis",  "m"});
inline constexpr WordList months({"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
                                  "oct", "nov", "dec"});
inline constexpr WordList weekdays({"mon", "tue", "wed", "thu", "fri", "sat", "sun"});
inline constexpr WordList half_days({"am", "pm"});
/// Y: four digits, d: one or two, D: two, M: month name, W: weekday name; the rest as it stands.
inline constexpr auto dates = std::to_array<std::string_view>(
    {"Y-D-D", "Y/D/D", "W, d M Y", "W M d", "d/M/Y", "d M Y", "M d, Y", "M d Y", "D.D.Y"});
/// The number behind one of these says which error it is, so it is kept.
inline constexpr WordList codes({"http", "status", "code", "errno", "error", "sqlstate", "ora",
                                 "tns", "pls", "signal", "aadsts", "hresult"});
inline constexpr auto scratch =
    std::to_array<std::string_view>({"/tmp/", "/var/tmp/", "/var/folders/", "/dev/shm/"});

}  // namespace dlo::normalise_tables
