#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "dlo/cli/shell_help.h"

namespace dlo::cli {
namespace {

/// The character that begins at `at`, as troff writes what is not ASCII: \[u2026]. Moves `at` to
/// its last byte.
std::string escaped(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  std::uint32_t point = lead & (0x3FU >> more);
  for (std::size_t i = 0; i < more && at + 1 < text.size(); ++i) {
    point = (point << 6U) | (static_cast<unsigned char>(text[++at]) & 0x3FU);
  }
  char name[16];
  std::snprintf(name, sizeof name, "\\[u%04X]", static_cast<unsigned>(point));
  return name;
}

/// Text that troff takes as it is: no escapes, no requests at the beginning of a line.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      out += escaped(text, i);
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void add_options(std::string& page, const VerbInfo& verb) {
  for (const auto& option : verb.options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
    if (names.empty()) names = option.value;
    page += ".TP\n.B " + plain(names);
    if (!option.names.empty() && !option.value.empty())
      page += " \\fI" + plain(option.value) + "\\fR";
    page += "\n" + plain(option.about) + "\n";
  }
}

void add_verb(std::string& page, const VerbInfo& verb) {
  if (verb.verbs.empty()) {
    page += ".SS dlo" + plain(verb.path) + "\n" + plain(verb.about) + ".\n";
    if (!verb.aliases.empty()) {
      page += "Also:";
      for (const std::string& alias : verb.aliases) page += " " + plain(alias);
      page += ".\n";
    }
    add_options(page, verb);
  }
  for (const VerbInfo& each : verb.verbs) add_verb(page, each);
}

}  // namespace

std::string manual(const VerbInfo& program, const std::string& version) {
  std::string page =
      ".TH DLO 1 \"\" \"" + plain(version) + "\"\n.SH NAME\ndlo \\- " + plain(program.about) +
      "\n.SH SYNOPSIS\n.B dlo\n.I verb\n[options]\n" +
      ".SH DESCRIPTION\n"
      "One program: \\fBdlo serve\\fR is the server, everything else asks it, or works on "
      "a data directory that no server works in.\n"
      ".SH COMMANDS\n";
  for (const VerbInfo& each : program.verbs) add_verb(page, each);
  return page +
         ".SH EXIT STATUS\n"
         ".TP\n.B 0\ndone\n"
         ".TP\n.B 1\nit failed; the error says what to do\n"
         ".TP\n.B 2\nthe command line or the query is wrong\n"
         ".TP\n.B 3\nsome of it was done, or the answer is not complete\n"
         ".TP\n.B 4\nnothing matched, or there is no such thing\n"
         ".SH ENVIRONMENT\n"
         "DLO_SERVER, DLO_TOKEN, DLO_TOKEN_FILE, DLO_CA_FILE and DLO_DATA stand for the options of "
         "these names; NO_COLOR turns colours off.\n"
         ".SH FILES\n"
         ".TP\n.I dlo\\-data/\nthe office, unless \\-\\-data says otherwise\n"
         ".TP\n.I dlo\\-data/server.url\nwhere its server listens\n";
}

}  // namespace dlo::cli
