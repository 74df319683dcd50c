#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <istream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/watching.h"

namespace dlo::cli {
namespace {

constexpr const char* rows_at_once = "500";
constexpr std::size_t lines_at_once = 100;
constexpr std::size_t bytes_at_once = std::size_t{4} << 20U;  // servers take 8 MB unless told

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

/// Lines that are sent together, and the number of the one before them.
struct Batch {
  std::vector<std::string> lines{};
  std::size_t bytes = 0;
  std::size_t before = 0;

  [[nodiscard]] bool has_room_for(const std::string& line) const noexcept {
    return lines.empty() ||
           (lines.size() < lines_at_once && bytes + line.size() + 1 <= bytes_at_once);
  }
  void add(std::string line) {
    bytes += line.size() + 1;
    lines.push_back(std::move(line));
  }
};

class Importer {
 public:
  Importer(Context& context, Client& client) : context_(context), client_(client) {}

  /// Whoever takes less at once than is sent is sent half of it; one that is too large by itself
  /// is refused like any other, and harms no other.
  Result<void> send(const Batch& batch) {
    if (batch.lines.empty()) return {};
    std::string body;
    for (const std::string& line : batch.lines) body.append(line).append("\n");
    const auto answer =
        client_.ask({"POST", "/v1/import", std::move(body), "application/x-ndjson"});
    if (!answer) return answer.error();
    if (answer->status == 413) return too_large(batch);
    if (answer->status >= 300) return error_of(client_, *answer);
    count(answer->body, batch.before);
    return {};
  }
  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }

 private:
  Result<void> too_large(const Batch& batch) {
    if (batch.lines.size() == 1) {
      refused(batch.before + 1, "It is larger than the server takes at once (" +
                                    std::to_string(batch.bytes) +
                                    " bytes); server.max_body says how much that is.");
      return {};
    }
    Batch first;
    Batch second;
    first.before = batch.before;
    for (const std::string& line : batch.lines) {
      (first.lines.size() < batch.lines.size() / 2 ? first : second).add(line);
    }
    second.before = batch.before + first.lines.size();
    if (auto sent = send(first); !sent) return sent;
    return send(second);
  }
  void count(const std::string& answer, std::size_t before) {
    std::size_t from = 0;
    while (from < answer.size()) {
      const std::size_t end = std::min(answer.find('\n', from), answer.size());
      const std::string line = answer.substr(from, end - from);
      from = end + 1;
      const auto told = parse_json(line);
      if (!told) continue;
      const std::string effect = text_of(*told, "effect");
      if (effect == "kept") ++tally_.kept;
      if (effect == "merged") ++tally_.merged;
      if (effect.empty()) refused(before + number_of(*told, "line"), text_of(*told, "detail"));
    }
  }
  void refused(std::size_t line, const std::string& why) {
    ++tally_.refused;
    context_.err << "dlo: line " << line << ": " << why << "\n";
  }

  Context& context_;
  Client& client_;
  Tally tally_;
};

}  // namespace

namespace {

/// Where an export goes. A file that is there already stays what it is until the new one is whole.
class Target {
 public:
  explicit Target(Context& context, const std::string& path) : context_(context), path_(path) {
    if (path_.empty()) return;
    std::error_code none;
    const auto there = std::filesystem::status(path_, none);
    // A pipe or a terminal has nothing to lose, and cannot be renamed.
    beside_ = !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
    file_.open(written(), std::ios::binary | std::ios::trunc);
  }
  ~Target() {
    std::error_code none;
    if (beside_ && !kept_) std::filesystem::remove(written(), none);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  [[nodiscard]] bool usable() const { return path_.empty() || file_.is_open(); }
  [[nodiscard]] std::ostream& out() { return path_.empty() ? context_.out : file_; }
  /// False: it could not be written to its end, and what was there is still there.
  [[nodiscard]] bool keep() {
    out().flush();
    if (path_.empty() || !beside_) return static_cast<bool>(out());
    file_.close();
    std::error_code failed;
    if (file_) std::filesystem::rename(written(), path_, failed);
    kept_ = static_cast<bool>(file_) && !failed;
    return kept_;
  }

 private:
  [[nodiscard]] std::string written() const { return beside_ ? path_ + ".part" : path_; }

  Context& context_;
  const std::string path_;
  bool beside_ = false;
  bool kept_ = false;
  std::ofstream file_;
};

}  // namespace

namespace {

/// What is masked cannot be had back from a file. So nobody gets one by mistake.
Result<void> check_masks(const PortableArguments& arguments, const std::string& id,
                         const std::string& line) {
  if (arguments.masked || !arguments.form.empty()) return {};
  const auto value = parse_json(line);
  if (!value || !is_true(*value, "masked")) return {};
  return Error{Code::refused, "cli.export",
               "Values of dead letter " + id +
                   " are masked: no office could take in what would be exported. Say --reveal for "
                   "the true ones (that needs the right, and is audited), or --masked for a file "
                   "to look at."};
}

}  // namespace

int export_letters(Context& context, const PortableArguments& arguments) {
  const auto client = connect(context, arguments.reveal ? Need::act : Need::look);
  if (!client) return refuse(context, client.error());
  Target target(context, arguments.file);
  if (!target.usable()) {
    return fail(context, {Code::refused, "cli.export",
                          "Cannot write '" + arguments.file + "'. Nothing was exported."});
  }
  std::size_t count = 0;
  const auto full = [&] {
    return Error{Code::full, "cli.export",
                 "Writing failed after " + std::to_string(count) + " dead letters."};
  };
  const auto walked =
      walk(**client, arguments.selection, [&](const std::string& id) -> Result<void> {
        const auto one =
            ask_for_bytes(**client, {"GET", Address("/v1/dead-letters")
                                                .step(id)
                                                .with_some("reveal", arguments.reveal ? "true" : "")
                                                .with_some("form", arguments.form)
                                                .text()});
        if (!one && one.error().code == Code::not_found) return {};  // gone since it was listed
        if (!one) return one.error();
        if (auto fine = check_masks(arguments, id, one->body); !fine) return fine;
        target.out() << one->body;
        if (!target.out()) return full();
        ++count;
        return {};
      });
  if (!walked) return refuse(context, walked.error());
  if (!target.keep()) return refuse(context, full());
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
  Importer importer(context, **client);
  Batch batch;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    if (!batch.has_room_for(line)) {
      if (auto sent = importer.send(batch); !sent) return refuse(context, sent.error());
      batch = {};
      batch.before = number;
    }
    batch.add(std::move(line));
  }
  if (auto sent = importer.send(batch); !sent) return refuse(context, sent.error());
  const Tally& tally = importer.tally();
  context.out << "imported " << tally.kept << ", were here already " << tally.merged << ", refused "
              << tally.refused << "\n";
  if (tally.refused > 0) return exit_partial;
  return tally.kept + tally.merged == 0 ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
