#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/cli/context.h"
#include "dlo/cli/selection.h"
#include "dlo/cli/table.h"
#include "dlo/cli/watch.h"
#include "dlo/json/text/value.h"

namespace dlo::cli {

// One function per verb; each answers an Exit. The command line is parsed in cli.cc only.

struct ExplainArguments {
  std::string config;      // a file whose profiles and sources count too
  std::string source;      // of the message, for what is overridden there
  std::string event_type;  // the same
  std::string what;        // error text, or the id of a dead letter (R11)
  std::string profile;     // empty: that of the dead letter, or `standard`
  std::optional<std::string> error;
  std::string type;
  std::optional<int> status;
  std::string code;
  std::optional<std::uint32_t> attempt;  // empty: that of the dead letter, or 1
  std::vector<std::string> counters;     // name=value
};
int explain(Context& context, const ExplainArguments& arguments);

int profile_list(Context& context);
int profile_show(Context& context, const std::string& name);

struct ListArguments {
  Selection selection;
  std::size_t limit = 50;
  std::string cursor;
  bool oldest_first = false;
  std::vector<std::string> columns;  // title=body.PATH or title=header.NAME
  std::string form;                  // the words of a document (R14)
  WatchArguments watch;
};
int list(Context& context, const ListArguments& arguments);
/// The rows of a listing; `first` has the columns that were lifted out of payloads.
[[nodiscard]] Table letter_table(const Context& context, const std::vector<const JsonValue*>& rows);
int count(Context& context, const Selection& selection);

/// `ids` are whole ids; each is shown in turn.
/// `reveal`: masked places too, by whoever may; that is audited.
/// `form`: in the words of a document (R14).
int show(Context& context, const std::vector<std::string>& ids, bool reveal = false,
         const std::string& form = {});
int stats(Context& context, const WatchArguments& watch);
// Scheduled retries: their numbers, and the circuits of executors.
int retries(Context& context);
int retries_circuit(Context& context, const std::string& executor, bool open);

/// The groups of an answer, as a table.
[[nodiscard]] Table group_table(const Context& context, const std::vector<JsonValue>& groups);
void print_groups(Context& context, const std::vector<JsonValue>& groups);

struct QueueArguments {
  std::string queue;
  std::string target;
  std::string payload;
  std::string id;
  std::string type;
  std::string key;
  std::string delay;  // as parse_duration reads it
  std::string priority;
  std::string dedupe_id;
  std::string outcome = "complete";
  std::string error;
  std::string reason;
  std::string settings;  // JSON, of a declaration
  std::size_t limit = 10;
  bool yes = false;
  bool all = false;  // also what is done with
};
// Queues of a server, or of a directory that no server works in.
int queue_list(Context& context);
int queue_peek(Context& context, const QueueArguments& arguments);
int queue_receive(Context& context, const QueueArguments& arguments);
int queue_settle(Context& context, const QueueArguments& arguments);
int queue_declare(Context& context, const QueueArguments& arguments);
int queue_send(Context& context, const QueueArguments& arguments);
int queue_purge(Context& context, const QueueArguments& arguments);
int queue_pause(Context& context, const QueueArguments& arguments, bool paused);
int queue_move(Context& context, const QueueArguments& arguments);
// Files of queues that nobody works in.
int queue_fsck(Context& context);
int queue_repair(Context& context, const QueueArguments& arguments);
// ... and beside somebody, too: it only looks.
int queue_dump(Context& context, const QueueArguments& arguments);

struct DemoArguments {
  std::uint64_t messages = 60;
  std::uint64_t seed = 1;
  bool keep = false;  // leave the office in `data` to look at
};
int demo(Context& context, const DemoArguments& arguments);

struct AuditArguments {
  std::uint64_t after = 0;
  std::uint64_t limit = 100;
  bool limited = false;  // somebody said so: an export is otherwise everything
  bool all = false;
  bool newest = false;  // first
  bool refused = false;
  std::string actor{};
  std::vector<std::string> acts{};
  std::string subject{};
  std::string since{};
  std::string until{};
  std::string head;  // a hash that has to be in the trail
};
int audit_list(Context& context, const AuditArguments& arguments);
int audit_verify(Context& context, const AuditArguments& arguments);

struct PoisonArguments {
  std::string kind;  // orchestrations or activities
  std::string instance;
  std::size_t limit = 100;
  std::int64_t after = 0;
  std::int64_t id = 0;
  bool yes = false;
  std::string orchestrator_queue;  // of the runtime; empty: as it is usually called
  std::string worker_queue;
};
// Poisoned items of durable runtimes (S3-31..39).
int poison_list(Context& context, const PoisonArguments& arguments);
int poison_show(Context& context, const PoisonArguments& arguments);
int poison_remove(Context& context, const PoisonArguments& arguments);
int poison_retry(Context& context, const PoisonArguments& arguments);
int poison_stats(Context& context, const PoisonArguments& arguments);

struct TokenArguments {
  std::string name;
  std::string role = "reader";
  std::string expires_in;  // as parse_duration reads it; empty: never
  std::vector<std::string> sources;
  std::vector<std::string> actions;
  std::uint32_t rate = 0;      // requests a second; 0: as the server says
  std::uint64_t max_body = 0;  // bytes; 0: as the server says
  std::string id;
};
int token_create(Context& context, const TokenArguments& arguments);
int token_list(Context& context);
int token_revoke(Context& context, const TokenArguments& arguments);

struct ConfigArguments {
  std::string file;        // empty: the environment alone
  bool effective = false;  // defaults too
};
int config_check(Context& context, const ConfigArguments& arguments);
int config_show(Context& context, const ConfigArguments& arguments);
int config_keys_list(Context& context);

/// What is not given comes from the configuration.
struct ServeArguments {
  std::string config;
  std::string data;
  std::string office;  // a database, if it is not in `data`
  std::string listen;
  bool plain_http = false;  // beyond loopback without encryption
  std::string certificate;  // PEM files; both or none
  std::string key;
};
int serve(Context& context, const ServeArguments& arguments);

}  // namespace dlo::cli
