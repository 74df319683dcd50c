#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <string>
#include <system_error>
#include <unistd.h>

#include "dlo/cli/client.h"
#include "dlo/cli/draft_text.h"
#include "dlo/cli/editing.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

/// A file for an editor, for its owner alone. It goes when it is no longer needed.
class Scratch {
 public:
  explicit Scratch(const std::string& text) {
    std::error_code ignored;
    const auto where = std::filesystem::temp_directory_path(ignored);
    path_ = (ignored ? std::filesystem::path("/tmp") : where) / "dlo-edit-XXXXXX";
    const int file = ::mkstemp(path_.data());
    if (file < 0) return;
    ::close(file);
    made_ = true;
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~Scratch() {
    if (made_ && !kept_) std::remove(path_.c_str());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] bool made() const noexcept { return made_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// What somebody wrote is not thrown away because it was refused.
  void keep() noexcept { kept_ = true; }

 private:
  std::string path_;
  bool made_ = false;
  bool kept_ = false;
};

Error wrong(std::string text) {
  return {Code::invalid_argument, "cli.edit", std::move(text)};
}

std::string path_of(const EditArguments& arguments, const char* what = nullptr) {
  Address address("/v1/dead-letters");
  address.step(arguments.id);
  if (what != nullptr) address.step(what);
  return address.text();
}

/// What would be sent: the newest version, or the message as it died.
const JsonValue& content_of(const JsonValue& record) {
  const auto& versions = member(record, "versions").items;
  return versions.empty() ? member(record, "message") : versions.back();
}

std::string remarks_for(const EditArguments& arguments, const JsonValue& record) {
  return "# Dead letter " + arguments.id + ": " + printable(text_of(record, "error_type")) +
         "\n# Headers, an empty line, the payload. Lines with # are not part of it.\n"
         "# What is saved becomes a new version; the message as it died stays. Locked headers\n"
         "# (dlo-*, and what a broker wrote about the death) cannot be changed.\n";
}

/// The members of an edit, from a file that was named or from an editor; nothing if all is as it
/// was.
Result<std::optional<std::string>> wanted(Context& context, const EditArguments& arguments,
                                          const JsonValue& record, Scratch& scratch) {
  if (!arguments.payload.empty()) {
    auto payload = text_of_file(context, arguments.payload);
    if (!payload) return payload.error();
    JsonWriter json;
    json.begin_object().bytes("payload", *payload).end_object();
    return std::optional(json.take());
  }
  if (!context.edit) {
    return wrong("There is no editor here. Give the payload with --payload FILE.");
  }
  if (!scratch.made()) return wrong("No file could be made for the editor in the temporary place.");
  if (auto edited = context.edit(scratch.path()); !edited) return edited.error();
  const auto draft = read_draft(scratch.read());
  if (!draft) return draft.error();
  return edit_members(content_of(record), *draft);
}

/// `members` is an object; more of them come before its end.
std::string with(const std::string& members, const std::string& more) {
  const std::string inside = members.substr(0, members.size() - 1);
  return inside + (inside.size() > 1 ? "," : "") + more + "}";
}

std::string reason_for(Context& context, const EditArguments& arguments) {
  if (!arguments.reason.empty() || !context.asks || context.in == nullptr) return arguments.reason;
  context.err << "Why? " << std::flush;
  std::string reason;
  std::getline(*context.in, reason);
  return reason;
}

int make(Context& context, Client& client, const EditArguments& arguments,
         const std::string& members, const std::string& version) {
  const auto shown =
      ask_for(client, {"POST", path_of(arguments, "edit"), with(members, R"("dry_run":true)")});
  if (!shown) return refuse(context, shown.error());
  if (arguments.dry_run && !is_for_people(context)) {
    print_done(context, shown->value, arguments.id, [] {});
  } else if (is_for_people(context)) {
    print_difference(context, member(shown->value, "diff"));
  }
  for (const char* list : {"warnings", "complaints"}) {
    for (const JsonValue& each : member(shown->value, list).items) {
      context.err << "dlo: " << printable(each.text()) << "\n";
    }
  }
  if (arguments.dry_run) return exit_ok;
  const std::string reason = reason_for(context, arguments);
  if (reason.empty()) {
    return refuse(context, wrong("Say why with --reason TEXT: it stays with the version for ever. "
                                 "Nothing was changed."));
  }
  if (!confirmed(context, arguments.yes, "Make this version?")) return exit_usage;
  Ask change{"POST", path_of(arguments, "edit"), with(members, "\"reason\":" + json_text(reason))};
  change.headers.push_back({"If-Match", "\"" + version + "\""});
  const auto made = ask_for(client, change);
  if (!made) return refuse(context, made.error());
  print_done(context, made->value, arguments.id, [&] {
    context.out << arguments.id << "  version " << text_of(made->value, "number") << "\n";
  });
  return exit_ok;
}

}  // namespace

Result<std::string> text_of_file(Context& context, const std::string& file) {
  if (file == "-") {
    if (context.in == nullptr) return std::string();
    return std::string(std::istreambuf_iterator<char>(*context.in),
                       std::istreambuf_iterator<char>());
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) return wrong("The file " + in_quotes(file) + " cannot be read.");
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

int edit(Context& context, const EditArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto record = ask_for(**client, {"GET", path_of(arguments)});
  if (!record) return refuse(context, record.error());
  Scratch scratch(write_draft(content_of(record->value), remarks_for(arguments, record->value)));
  const auto members = wanted(context, arguments, record->value, scratch);
  if (!members) {
    scratch.keep();
    const int code = refuse(context, members.error());
    if (arguments.payload.empty()) context.err << "What you wrote is in " << scratch.path() << "\n";
    return code;
  }
  if (!*members) {
    context.err << "It says that already; nothing was changed.\n";
    return exit_ok;
  }
  const int code = make(context, **client, arguments, **members, text_of(record->value, "version"));
  if (code != exit_ok && arguments.payload.empty()) {
    scratch.keep();
    context.err << "What you wrote is in " << scratch.path() << "\n";
  }
  return code;
}

}  // namespace dlo::cli
