#include <filesystem>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/findings.h"
#include "dlo/cli/job_run.h"
#include "dlo/cli/open_office.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/cli/watching.h"
#include "dlo/store/sealed/key_book.h"
#include "dlo/store/sqlite/soundness.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

constexpr std::uintmax_t little_room = std::uintmax_t{1} << 30U;
constexpr Millis fair_skew{2'000};
constexpr Millis long_wait{3'600'000};
constexpr Millis longest_look{5'000};
constexpr Millis recently = std::chrono::hours{24};

void check_description(Findings& findings, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/openapi.json"});
  if (!reply) {
    const bool closed = reply.error().code == Code::refused;
    findings.warn("version", reply.error().detail,
                  closed ? "ask an admin for a token that may look"
                         : "the server is older than this program; update one of them");
    return;
  }
  const std::string version = text_of(member(reply->value, "info"), "version");
  if (version == "v1") {
    findings.ok("version", "it speaks " + version + ", as this program does");
  } else {
    findings.fail("version", "it speaks " + version + ", this program v1", "update one of them");
  }
}

std::string joined(const JsonValue& names) {
  std::string all;
  for (const JsonValue& each : names.items) all += (all.empty() ? "" : ", ") + each.text();
  return all;
}

/// What the token may do, and what it may not.
void check_token(Findings& findings, const JsonValue& me) {
  const std::string role = text_of(me, "role");
  std::string who = "you are " + text_of(me, "name") + ", role " + role;
  const std::string sources = joined(member(me, "sources"));
  const std::string actions = joined(member(me, "actions"));
  if (!sources.empty()) who += ", for the sources " + sources;
  if (!actions.empty()) who += ", for the actions " + actions;
  if (role == "reader") {
    findings.warn("rights", who, "you may look but not act; an operator's token may");
  } else if (!sources.empty()) {
    findings.warn("rights", who, "groups, jobs, numbers and the audit trail are closed to it");
  } else if (!actions.empty()) {
    findings.warn("rights", who, "everything else is closed to it");
  } else {
    findings.ok("rights", who);
  }
}

void check_program(Findings& findings, const JsonValue& me, const Context& context) {
  const std::string theirs = text_of(me, "version");
  if (theirs == context.version) {
    findings.ok("program", "both are dlo " + theirs);
  } else {
    findings.warn("program",
                  "the server is dlo " + (theirs.empty() ? std::string("of before") : theirs) +
                      ", this program " + context.version,
                  "what only the newer one knows is refused by name; update the older");
  }
}

/// Moments that one side says ("--at", "snooze 4h") and the other keeps need clocks that agree.
void check_clock(Findings& findings, const JsonValue& me, TimePoint asked, TimePoint answered) {
  const auto theirs = time_of(me, "now");
  if (!theirs) return;
  // It looked at its clock somewhere in between: only what is outside of that is a difference.
  const Millis off = *theirs < asked      ? asked - *theirs
                     : *theirs > answered ? *theirs - answered
                                          : Millis{0};
  if (off <= fair_skew) {
    findings.ok("clock", "the server's agrees with this one's");
  } else {
    findings.warn("clock",
                  "the server's is " + duration_text(off) +
                      (*theirs < asked ? " behind this one's" : " ahead of this one's"),
                  "times you give are read by the server's clock; let both follow NTP");
  }
}

/// Of several servers on one office: which one answers, and who leads.
void check_node(Findings& findings, const JsonValue& alive) {
  const std::string node = text_of(alive, "node");
  if (node.empty()) return;  // it is alone
  const std::string leader = text_of(alive, "leader");
  if (is_true(alive, "leads")) {
    findings.ok("node", node + " answers, and leads");
  } else if (!leader.empty()) {
    findings.ok("node", node + " answers; " + leader + " leads");
  } else {
    findings.warn("node", node + " answers; nobody leads at the moment",
                  "jobs, retention and alerts wait; if it lasts, look at the servers' output");
  }
}

/// What the token that was given is for. False: it is good for nothing, and neither is what else
/// would be asked with it.
bool check_me(Findings& findings, Client& client, Context& context,
              std::vector<std::string>& only) {
  refresh(context);
  const TimePoint asked = context.now;
  const auto reply = ask_for(client, {"GET", "/v1/me"});
  if (!reply) {
    findings.fail("rights", reply.error().detail, "dlo doctor --token-file FILE");
    return false;
  }
  refresh(context);
  check_token(findings, reply->value);
  for (const JsonValue& each : member(reply->value, "sources").items) only.push_back(each.text());
  if (!client.is_server()) return true;  // it is this program, and this clock
  check_program(findings, reply->value, context);
  check_clock(findings, reply->value, asked, context.now);
  return true;
}

/// A token for single sources: what is about all of them is closed to it, and rightly so.
void check_list(Findings& findings, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/dead-letters?limit=1"});
  if (!reply) {
    findings.fail("office", reply.error().detail, "look at the server's output");
  } else {
    findings.ok("office",
                "it lists what your token is for; numbers, queues and jobs of all are "
                "not looked at");
  }
}

void check_office(Findings& findings, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/stats"});
  if (!reply) {
    findings.fail("office", reply.error().detail,
                  reply.error().code == Code::refused ? "ask an admin for a token that may look"
                                                      : "look at the server's output");
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

/// Calls `each` for every job in one of these states; false if the server does not answer.
bool walk_jobs(Client& client, const char* states,
               const std::function<void(const JsonValue&)>& each) {
  std::string cursor;
  do {
    const auto reply = ask_for(client, {"GET", Address("/v1/jobs")
                                                   .with("limit", "500")
                                                   .with("state", states)
                                                   .with_some("cursor", cursor)
                                                   .text()});
    if (!reply) return false;
    for (const JsonValue& job : member(reply->value, "jobs").items) each(job);
    cursor = text_of(reply->value, "next");
  } while (!cursor.empty());
  return true;
}

void check_jobs(Findings& findings, Client& client, TimePoint now) {
  std::size_t running = 0;
  const bool read = walk_jobs(client, "running,paused,failed", [&](const JsonValue& job) {
    const std::string state = text_of(job, "state");
    if (state == "running") ++running;
    const auto ended = time_of(job, "ended_at");
    const bool lately = !ended || now - *ended < recently;  // older ones are history
    if (lately && (state == "failed" || state == "paused")) {
      findings.warn("job", text_of(job, "id") + " is " + state,
                    "dlo job show " + text_of(job, "id"));
    }
  });
  if (read) findings.ok("jobs", std::to_string(running) + " running");
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

/// Pages that a list never reads may be damaged too: whoever asks a doctor wants to know.
void check_pages(Findings& findings, const Context& context) {
  const auto found = look_through(context.data, longest_look);
  if (!found) return;  // there is none here: the server's business
  if (!found->damage.empty()) {
    findings.fail("pages", "office.db is damaged: " + found->damage,
                  "stop the server, copy the directory away, then restore a backup or try sqlite3 "
                  "office.db .recover");
  } else if (found->whole) {
    findings.ok("pages", "every page of office.db is sound");
  } else {
    findings.ok("pages", "no damage in what could be looked through in " +
                             std::to_string(longest_look.count() / 1000) + " s");
  }
}

/// Of an office on this machine: the files say it, whoever serves them.
void check_keys(Findings& findings, const Context& context) {
  const auto settings = office_settings(context);
  if (settings && is_open_to_all(settings->key_file)) {
    findings.warn("keys", "everybody on this machine can read '" + settings->key_file + "'",
                  "chmod 600 " + settings->key_file);
  }
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

/// What serving needs of the directory: the office and its queues are written there.
void check_writing(Findings& findings, const Context& context) {
  for (const std::string& place : {context.data, context.data + "/queues"}) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(place, ignored)) continue;
    if (access(place.c_str(), R_OK | W_OK | X_OK) == 0) {
      findings.ok("files", "'" + place + "' can be written");
    } else {
      findings.warn("files", "'" + place + "' cannot be written by you",
                    "whoever serves it or acts on it here needs that; looking needs it not");
    }
  }
}

/// `only`: the sources of a token for single ones.
void check_what_is_kept(Findings& findings, Client& client, const Context& context,
                        const std::vector<std::string>& only) {
  if (client.is_server()) check_brokers(findings, client, only);
  if (!only.empty()) return check_list(findings, client);
  check_office(findings, client);
  if (client.is_server()) check_queues(findings, client, context.now);
  check_jobs(findings, client, context.now);
}

}  // namespace

int doctor(Context& context, const DoctorArguments& arguments) {
  Findings findings(context);
  const auto client = connect(context, Need::look);
  if (!client) {
    findings.fail("server", client.error().detail, "then run dlo doctor again");
    return findings.end();
  }
  const auto alive = ask_for(**client, {"GET", "/healthz"});
  if (!alive) {
    findings.fail("server", alive.error().detail, "then run dlo doctor again");
    return findings.end();
  }
  findings.ok("server", (*client)->name() + " answers");
  check_node(findings, alive->value);
  std::vector<std::string> only;
  if (check_me(findings, **client, context, only)) {
    check_description(findings, **client);
    check_what_is_kept(findings, **client, context, only);
  }
  if (context.server.empty()) {
    check_directory(findings, context);
    check_writing(findings, context);
    check_pages(findings, context);
    check_keys(findings, context);
  }
  if (!arguments.deep) return findings.end();
  std::ostringstream unread;  // the verdict is one of the findings
  Context beside{unread, context.err};
  beside.data = context.data;
  beside.server = context.server;
  beside.token = context.token;
  beside.token_file = context.token_file;
  beside.ca_file = context.ca_file;
  beside.environment = context.environment;
  const int whole = audit_verify(beside, {});
  if (whole == exit_ok) {
    findings.ok("audit", "every entry is as it was written");
  } else {
    findings.fail("audit", "the trail is not whole", "dlo audit verify says where");
  }
  return findings.end();
}

}  // namespace dlo::cli
