#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>

#include "dlo/cli/client.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/cli/watching.h"
#include "dlo/store/sealed/key_book.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

constexpr std::uintmax_t little_room = std::uintmax_t{1} << 30U;
constexpr Millis long_wait{3'600'000};

/// Collects what was found and the worst of it.
class Findings {
 public:
  explicit Findings(Context& context) : context_(context) {}

  void ok(const std::string& what, const std::string& found) { add("ok", what, found, ""); }
  void warn(const std::string& what, const std::string& found, const std::string& todo) {
    add("warn", what, found, todo);
    if (worst_ == exit_ok) worst_ = exit_partial;
  }
  void fail(const std::string& what, const std::string& found, const std::string& todo) {
    add("fail", what, found, todo);
    worst_ = exit_error;
  }
  [[nodiscard]] int worst() const noexcept { return worst_; }

 private:
  void add(const std::string& mark, const std::string& what, const std::string& found,
           const std::string& todo) {
    const std::string_view colour = context_.colour ? colour_of_status(mark) : "";
    context_.out << colour << mark << std::string(6 - mark.size(), ' ')
                 << (colour.empty() ? "" : paint::plain) << what
                 << std::string(what.size() < 10 ? 10 - what.size() : 1, ' ') << printable(found)
                 << "\n";
    if (!todo.empty()) context_.out << "                → " << todo << "\n";
  }

  Context& context_;
  int worst_ = exit_ok;
};

void check_description(Findings& findings, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/openapi.json"});
  if (!reply) {
    findings.warn("version", reply.error().detail,
                  "the server is older than this program; update one of them");
    return;
  }
  const std::string version = text_of(member(reply->value, "info"), "version");
  if (version == "v1") {
    findings.ok("version", "it speaks " + version + ", as this program does");
  } else {
    findings.fail("version", "it speaks " + version + ", this program v1", "update one of them");
  }
}

void check_rights(Findings& findings, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/me"});
  if (!reply) {
    findings.fail("rights", reply.error().detail, "dlo doctor --token-file FILE");
    return;
  }
  const std::string role = text_of(reply->value, "role");
  const std::string who = "you are " + text_of(reply->value, "name") + ", role " + role;
  if (role == "reader") {
    findings.warn("rights", who, "you may look but not act; an operator's token may");
  } else {
    findings.ok("rights", who);
  }
}

void check_office(Findings& findings, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/stats"});
  if (!reply) {
    findings.fail("office", reply.error().detail, "look at the server's output");
    return;
  }
  findings.ok("office", text_of(reply->value, "open") + " dead letters are open");
  const auto late = number_of(reply->value, "unindexed_payloads");
  if (late > 100'000) {
    findings.warn("search", std::to_string(late) + " payloads are not searchable yet",
                  "payload: queries miss them until the index has caught up");
  }
}

void check_queues(Findings& findings, Client& client, TimePoint now) {
  const auto reply = ask_for(client, {"GET", "/v1/queues"});
  if (!reply) {
    findings.warn("queues", reply.error().detail, "look at the server's output");
    return;
  }
  std::size_t healthy = 0;
  for (const JsonValue& queue : member(reply->value, "queues").items) {
    const std::string name = text_of(queue, "queue");
    const auto oldest = time_of(queue, "oldest");
    if (is_true(queue, "paused")) {
      findings.warn("queue", name + " is paused", "dlo queue resume " + name);
    } else if (oldest && now - *oldest > long_wait && number_of(queue, "ready") > 0) {
      findings.warn("queue", name + ": the oldest message waits since " + relative(*oldest, now),
                    "are its workers running? dlo queue peek " + name);
    } else {
      ++healthy;
    }
  }
  findings.ok("queues", std::to_string(healthy) + " without trouble");
}

void check_jobs(Findings& findings, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/jobs"});
  if (!reply) return;
  std::size_t running = 0;
  for (const JsonValue& job : member(reply->value, "jobs").items) {
    const std::string state = text_of(job, "state");
    if (state == "running") ++running;
    if (state == "failed" || state == "paused") {
      findings.warn("job", text_of(job, "id") + " is " + state,
                    "dlo job show " + text_of(job, "id"));
    }
  }
  findings.ok("jobs", std::to_string(running) + " running");
}

void check_directory(Findings& findings, const Context& context) {
  std::error_code failed;
  const auto room = std::filesystem::space(context.data, failed);
  if (failed) return;  // it is somewhere else: the server's business
  const std::string free = std::to_string(room.available / (std::uintmax_t{1} << 20U)) + " MB free";
  if (room.available < little_room) {
    findings.warn("disk", free + " at '" + context.data + "'",
                  "make room: a full disk stops all intake");
  } else {
    findings.ok("disk", free + " at '" + context.data + "'");
  }
}

/// Of an office on this machine: the files say it, whoever serves them.
void check_keys(Findings& findings, const Context& context) {
  SqliteOptions looking;
  looking.read_only = true;
  const auto office = SqliteOffice::open(context.data, looking);
  if (!office) return;
  const auto keys = read_data_keys(**office);
  if (!keys) {
    findings.fail("keys", keys.error().detail, "dlo key list");
  } else if (keys->empty()) {
    findings.ok("keys", "nothing is encrypted (docs/security.md)");
  } else {
    findings.ok("keys", "what is kept is encrypted under key " + to_string(keys->back().master));
  }
}

}  // namespace

int doctor(Context& context, const DoctorArguments& arguments) {
  Findings findings(context);
  const auto client = connect(context, Need::look);
  if (!client) {
    findings.fail("server", client.error().detail, "then run dlo doctor again");
    return findings.worst();
  }
  const auto alive = ask_for(**client, {"GET", "/healthz"});
  if (!alive) {
    findings.fail("server", alive.error().detail, "then run dlo doctor again");
    return findings.worst();
  }
  findings.ok("server", (*client)->name() + " answers");
  check_description(findings, **client);
  check_rights(findings, **client);
  check_office(findings, **client);
  if ((*client)->is_server()) check_queues(findings, **client, context.now);
  check_jobs(findings, **client);
  if (context.server.empty()) {
    check_directory(findings, context);
    check_keys(findings, context);
  }
  if (!arguments.deep) return findings.worst();
  const int whole = audit_verify(context, {});
  if (whole == exit_ok) {
    findings.ok("audit", "every entry is as it was written");
  } else {
    findings.fail("audit", "the trail is not whole", "dlo audit verify says where");
  }
  return findings.worst();
}

}  // namespace dlo::cli
