#include <algorithm>
#include <fstream>
#include <functional>
#include <istream>
#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/watching.h"

namespace dlo::cli {
namespace {

constexpr const char* rows_at_once = "500";
constexpr std::size_t lines_at_once = 100;

/// Calls `each` with the id of every match, oldest first.
Result<void> walk(Client& client, const Selection& selection,
                  const std::function<Result<void>(const std::string&)>& each) {
  std::string cursor;
  do {
    const auto page = ask_for(client, {"GET", Address("/v1/dead-letters")
                                                  .with_some("q", query_of(selection))
                                                  .with("order", "oldest")
                                                  .with("limit", rows_at_once)
                                                  .with_some("cursor", cursor)
                                                  .text()});
    if (!page) return page.error();
    for (const JsonValue& row : member(page->value, "dead_letters").items) {
      if (const auto done = each(text_of(row, "id")); !done) return done.error();
    }
    cursor = text_of(page->value, "next");
  } while (!cursor.empty());
  return {};
}

/// What became of the lines of an import.
struct Tally {
  std::size_t kept = 0;
  std::size_t merged = 0;
  std::size_t refused = 0;
};

Result<void> send(Context& context, Client& client, std::string& lines, std::size_t first,
                  Tally& tally) {
  Ask ask{"POST", "/v1/import", std::move(lines), "application/x-ndjson"};
  lines.clear();
  const auto answer = ask_for_bytes(client, ask);
  if (!answer) return answer.error();
  std::size_t from = 0;
  while (from < answer->body.size()) {
    const std::size_t end = std::min(answer->body.find('\n', from), answer->body.size());
    const std::string line = answer->body.substr(from, end - from);
    from = end + 1;
    const auto told = parse_json(line);
    if (!told) continue;
    const std::string effect = text_of(*told, "effect");
    if (effect == "kept") ++tally.kept;
    if (effect == "merged") ++tally.merged;
    if (!effect.empty()) continue;
    ++tally.refused;
    context.err << "dlo: line " << first + number_of(*told, "line") << ": "
                << text_of(*told, "detail") << "\n";
  }
  return {};
}

}  // namespace

int export_letters(Context& context, const PortableArguments& arguments) {
  const auto client = connect(context, arguments.reveal ? Need::act : Need::look);
  if (!client) return refuse(context, client.error());
  std::ofstream file;
  if (!arguments.file.empty()) file.open(arguments.file, std::ios::binary | std::ios::trunc);
  if (!arguments.file.empty() && !file) {
    return fail(context, {Code::refused, "cli.export",
                          "Cannot write '" + arguments.file + "'. Nothing was exported."});
  }
  std::ostream& out = arguments.file.empty() ? context.out : file;
  std::size_t count = 0;
  const auto walked =
      walk(**client, arguments.selection, [&](const std::string& id) -> Result<void> {
        const auto one =
            ask_for_bytes(**client, {"GET", Address("/v1/dead-letters")
                                                .step(id)
                                                .with_some("reveal", arguments.reveal ? "true" : "")
                                                .text()});
        if (!one && one.error().code == Code::not_found) return {};  // gone since it was listed
        if (!one) return one.error();
        out << one->body;
        ++count;
        if (out) return {};
        return Error{Code::full, "cli.export",
                     "Writing failed after " + std::to_string(count) + " dead letters."};
      });
  out.flush();
  if (!walked) return refuse(context, walked.error());
  context.err << "Exported " << count << " dead letters.\n";
  return count == 0 ? exit_nothing_matched : exit_ok;
}

int import_letters(Context& context, const PortableArguments& arguments) {
  std::ifstream file;
  const bool from_input = arguments.file.empty() || arguments.file == "-";
  if (!from_input) file.open(arguments.file, std::ios::binary);
  if (!from_input && !file) {
    return refuse(context,
                  {Code::not_found, "cli.import", "There is no file '" + arguments.file + "'."});
  }
  if (from_input && context.in == nullptr) return exit_nothing_matched;
  std::istream& in = from_input ? *context.in : file;
  const auto client = connect(context, Need::make);
  if (!client) return refuse(context, client.error());
  Tally tally;
  std::string lines;
  std::size_t number = 0;
  std::size_t first = 0;
  for (std::string line; std::getline(in, line);) {
    lines += line + "\n";
    if (++number % lines_at_once != 0) continue;
    if (auto sent = send(context, **client, lines, first, tally); !sent) {
      return refuse(context, sent.error());
    }
    first = number;
  }
  if (!lines.empty()) {
    if (auto sent = send(context, **client, lines, first, tally); !sent) {
      return refuse(context, sent.error());
    }
  }
  context.out << "imported " << tally.kept << ", were here already " << tally.merged << ", refused "
              << tally.refused << "\n";
  if (tally.refused > 0) return exit_partial;
  return tally.kept + tally.merged == 0 ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
