#include "dlo/cli/cli.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "dlo/cli/grammar.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/spelling.h"

namespace dlo::cli {
namespace {

/// Everything the command line can say, and the verb it chose.
struct Parsed {
  ListArguments list;
  DemoArguments demo;
  ServeArguments serve;
  ConfigArguments config;
  TokenArguments token;
  bool reveal = false;
  std::string form;
  PoisonArguments poison;
  QueueArguments queue;
  std::string executor;
  std::vector<std::string> ids;
  std::function<int(Context&)> verb;
};

void add_config_file(CLI::App* command, std::string& file) {
  command->add_option("--config", file, "Configuration file (docs/config.md); also DLO_CONFIG");
}

void add_list(CLI::App& app, Parsed& parsed, Context& context) {
  auto* command = app.add_subcommand("list", "Dead letters, newest first")->alias("search");
  auto& arguments = parsed.list;
  add_selection(command, arguments.selection, true);
  command
      ->add_option("--columns", arguments.columns,
                   "More columns: payment_id=body.PaymentId,tenant=header.tenant")
      ->delimiter(',');
  command->add_option("--limit", arguments.limit)
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command->add_option("--cursor", arguments.cursor, "Go on after an earlier list");
  command->add_flag("--oldest-first", arguments.oldest_first);
  command->add_option("--form", arguments.form, "In the words of a document: booking, kafka, …");
  add_watch(command, arguments.watch);
  add_target(command, context);
  add_output(command, context);
  command->callback(
      [&parsed] { parsed.verb = [&parsed](Context& c) { return list(c, parsed.list); }; });
  auto* number = app.add_subcommand("count", "How many dead letters match, or a bound");
  add_selection(number, arguments.selection, true);
  add_target(number, context);
  add_output(number, context);
  number->callback([&parsed] {
    parsed.verb = [&parsed](Context& c) { return count(c, parsed.list.selection); };
  });
}

void add_show_and_stats(CLI::App& app, Parsed& parsed, Context& context) {
  auto* command = app.add_subcommand("show", "Everything known about one dead letter");
  command->add_option("id", parsed.ids, "Ids, as 'dlo list -o id' prints them")->required();
  command->add_flag("--reveal", parsed.reveal, "Masked places too; that is audited");
  command->add_option("--form", parsed.form, "In the words of a document: booking, kafka, …");
  add_target(command, context);
  add_output(command, context);
  command->callback([&parsed] {
    parsed.verb = [&parsed](Context& c) { return show(c, parsed.ids, parsed.reveal, parsed.form); };
  });
  auto* numbers = app.add_subcommand("stats", "How many of what, and the largest groups");
  add_watch(numbers, parsed.list.watch);
  add_target(numbers, context);
  add_output(numbers, context);
  numbers->callback(
      [&parsed] { parsed.verb = [&parsed](Context& c) { return stats(c, parsed.list.watch); }; });
}

void add_retries(CLI::App& app, Parsed& parsed, Context& context) {
  auto* command = app.add_subcommand("retries", "Scheduled retries and who runs them");
  command->require_subcommand(1);
  auto* numbers = command->add_subcommand("stats", "What is scheduled, what became of retries");
  add_target(numbers, context);
  add_output(numbers, context);
  numbers->callback([&parsed] { parsed.verb = [](Context& c) { return retries(c); }; });
  for (const bool open : {true, false}) {
    auto* circuit = command->add_subcommand(
        open ? "open" : "close", open ? "Send nothing to an executor until its circuit is closed"
                                      : "Send what is due to an executor again");
    circuit->add_option("executor", parsed.executor, "As `dlo retries stats` names it")->required();
    add_target(circuit, context);
    circuit->callback([&parsed, open] {
      parsed.verb = [&parsed, open](Context& c) {
        return retries_circuit(c, parsed.executor, open);
      };
    });
  }
  add_retries_clear({app, context, parsed.verb}, command);
}

void add_config(CLI::App& app, Parsed& parsed, Context& context) {
  auto* command = app.add_subcommand("config", "What a configuration says")->require_subcommand(1);
  auto& arguments = parsed.config;
  auto* checked = command->add_subcommand("check", "Every problem of a file, with its line");
  checked->add_option("file", arguments.file)->required();
  checked->callback([&parsed] {
    parsed.verb = [&parsed](Context& c) { return config_check(c, parsed.config); };
  });
  auto* shown = command->add_subcommand("show", "What is set, and by whom");
  add_config_file(shown, arguments.file);
  shown->add_flag("--effective", arguments.effective, "Defaults too");
  add_output(shown, context);
  shown->callback(
      [&parsed] { parsed.verb = [&parsed](Context& c) { return config_show(c, parsed.config); }; });
  auto* keys = command->add_subcommand("keys", "Every setting there is, as a table");
  keys->callback([&parsed] { parsed.verb = [](Context& c) { return config_keys_list(c); }; });
}

void add_demo_and_serve(CLI::App& app, Parsed& parsed, Context& context) {
  auto* shown =
      app.add_subcommand("demo", "Run a mixed workload and watch what becomes of every message");
  shown->add_option("--messages", parsed.demo.messages)
      ->capture_default_str()
      ->check(CLI::Range(5, 1'000'000));
  shown->add_option("--seed", parsed.demo.seed, "The same seed gives the same story")
      ->capture_default_str();
  shown->add_flag("--keep", parsed.demo.keep, "Keep the office in --data to look at afterwards");
  add_data(shown, context);
  shown->callback(
      [&parsed] { parsed.verb = [&parsed](Context& c) { return demo(c, parsed.demo); }; });
  auto* command = app.add_subcommand("serve", "Run the office");
  add_config_file(command, parsed.serve.config);
  command->add_option("--data", parsed.serve.data, "Directory of the office [dlo-data]");
  command->add_option("--listen", parsed.serve.listen,
                      "HOST:PORT; port 0 takes any free one [127.0.0.1:8080]");
  command->add_flag("--plain-http", parsed.serve.plain_http,
                    "Listen beyond loopback without encryption: behind a proxy that has it");
  command->add_option("--office", parsed.serve.office,
                      "A database instead of the directory: postgresql://USER@HOST/NAME");
  command->add_option("--tls-certificate", parsed.serve.certificate, "Speak TLS (PEM file)");
  command->add_option("--tls-key", parsed.serve.key, "The certificate's key (PEM file)");
  command->callback(
      [&parsed] { parsed.verb = [&parsed](Context& c) { return serve(c, parsed.serve); }; });
}

void add_token(CLI::App& app, Parsed& parsed, Context& context) {
  auto* command =
      app.add_subcommand("token", "Who may use a server of this office: users are tokens")
          ->alias("user")
          ->require_subcommand(1);
  auto* create = command->add_subcommand("create", "Make a token; its secret is shown this once");
  create->add_option("name", parsed.token.name, "Who will use it")->required();
  create->add_option("--role", parsed.token.role, "reader, operator or admin")
      ->capture_default_str();
  create->add_option("--expires-in", parsed.token.expires_in, "Such as 90d; default: never");
  create->add_option("--source", parsed.token.sources, "Only for these sources")->delimiter(',');
  create
      ->add_option("--action", parsed.token.actions,
                   "Only for these, such as read or queues.* (docs/access.md)")
      ->delimiter(',');
  create->add_option("--rate", parsed.token.rate, "Requests a second")
      ->check(CLI::Range(1, 1'000'000));
  create->add_option("--max-body", parsed.token.max_body, "Largest request, in bytes");
  add_target(create, context);
  add_output(create, context);
  create->callback(
      [&parsed] { parsed.verb = [&parsed](Context& c) { return token_create(c, parsed.token); }; });
  auto* all = command->add_subcommand("list", "Every token, also those that ended");
  add_target(all, context);
  add_output(all, context);
  all->callback([&parsed] { parsed.verb = [](Context& c) { return token_list(c); }; });
  auto* revoke = command->add_subcommand("revoke", "End a token for good");
  revoke->add_option("id", parsed.token.id, "As `dlo token list` shows it")->required();
  add_target(revoke, context);
  add_output(revoke, context);
  revoke->callback(
      [&parsed] { parsed.verb = [&parsed](Context& c) { return token_revoke(c, parsed.token); }; });
}

void add_poison(CLI::App& app, Parsed& parsed, Context& context) {
  auto* command =
      app.add_subcommand("poison", "Poisoned items of durable runtimes")->require_subcommand(1);
  auto& arguments = parsed.poison;
  const auto verb = [&](const char* name, const char* about,
                        int (*run)(Context&, const PoisonArguments&)) {
    auto* sub = command->add_subcommand(name, about);
    add_target(sub, context);
    add_output(sub, context);
    sub->callback([&parsed, run] {
      parsed.verb = [&parsed, run](Context& c) { return run(c, parsed.poison); };
    });
    return sub;
  };
  const auto of_kind = [&](CLI::App* sub) {
    sub->add_option("kind", arguments.kind, "orchestrations or activities")->required();
    return sub;
  };
  auto* all = of_kind(verb("list", "What is poisoned", poison_list));
  all->add_option("--instance", arguments.instance, "Of this instance only");
  all->add_option("--limit", arguments.limit, "So many at once, 100 unless told")
      ->check(CLI::Range(1, 1000));
  all->add_option("--after", arguments.after, "Behind this id, to read on");
  of_kind(verb("show", "One item with its input", poison_show))
      ->add_option("id", arguments.id)
      ->required();
  auto* remove =
      of_kind(verb("remove", "Acknowledge and discard; prints true or false", poison_remove));
  remove->add_option("id", arguments.id)->required();
  remove->add_flag("--yes", arguments.yes, "It is meant");
  of_kind(verb("retry", "Back to its queue, count reset; prints true or false", poison_retry))
      ->add_option("id", arguments.id)
      ->required();
  auto* numbers = verb("stats", "How many wait in both queues and are poisoned", poison_stats);
  numbers->add_option("--orchestrator-queue", arguments.orchestrator_queue, "Its queue");
  numbers->add_option("--worker-queue", arguments.worker_queue, "The queue of activities");
}

/// `command` runs `verb` with the queue arguments.
void on_files(CLI::App* command, Parsed& parsed, Context& context,
              int (*verb)(Context&, const QueueArguments&)) {
  add_data(command, context);
  command->callback([&parsed, verb] {
    parsed.verb = [&parsed, verb](Context& c) { return verb(c, parsed.queue); };
  });
}

/// The same, at a server or a directory.
void on_queue(CLI::App* command, Parsed& parsed, Context& context,
              int (*verb)(Context&, const QueueArguments&)) {
  on_files(command, parsed, context, verb);
  add_server(command, context);
  if (command->get_option_no_throw("--output") == nullptr) add_output(command, context);
}

void add_queue_name(CLI::App* command, QueueArguments& arguments) {
  command->add_option("queue", arguments.queue, "Name of the queue")->required();
}

/// `dlo queue send`, and `dlo send` for short.
CLI::App* add_send(CLI::App& app, Parsed& parsed, Context& context) {
  auto& arguments = parsed.queue;
  auto* send = app.add_subcommand("send", "Put a message into a queue, which is made if it is new");
  add_queue_name(send, arguments);
  send->add_option("payload", arguments.payload, "The payload; - reads it from standard input")
      ->required();
  send->add_option("--id", arguments.id);
  send->add_option("--type", arguments.type, "Event type");
  send->add_option("--key", arguments.key, "Messages of one key keep their order");
  send->add_option("--delay", arguments.delay, "Such as 30s, 5m, 1h");
  send->add_option("--priority", arguments.priority, "low, normal or high");
  send->add_option("--dedupe-id", arguments.dedupe_id,
                   "Sent once, however often it is sent within the queue's dedupe window");
  on_queue(send, parsed, context, queue_send);
  return send;
}

void add_queue_changes(CLI::App* command, Parsed& parsed, Context& context) {
  auto& arguments = parsed.queue;
  add_send(*command, parsed, context);
  auto* declare = command->add_subcommand("declare", "Make a queue, or change its settings");
  add_queue_name(declare, arguments);
  arguments.settings = "{}";
  declare->add_option("settings", arguments.settings,
                      R"(JSON, such as '{"profile":"kafka","lease_ms":60000}' (docs/api.md))");
  on_queue(declare, parsed, context, queue_declare);
  auto* purge = command->add_subcommand("purge", "Remove what waits; says how much, until --yes");
  add_queue_name(purge, arguments);
  purge->add_flag("--yes", arguments.yes, "Really");
  on_queue(purge, parsed, context, queue_purge);
  auto* pause = command->add_subcommand("pause", "Hand out nothing until resumed");
  add_queue_name(pause, arguments);
  on_queue(pause, parsed, context,
           [](Context& c, const QueueArguments& a) { return queue_pause(c, a, true); });
  auto* resume = command->add_subcommand("resume", "Go on handing out");
  add_queue_name(resume, arguments);
  on_queue(resume, parsed, context,
           [](Context& c, const QueueArguments& a) { return queue_pause(c, a, false); });
  auto* move = command->add_subcommand("move", "Everything that waits goes to another queue");
  add_queue_name(move, arguments);
  move->add_option("target", arguments.target, "Name of the other queue")->required();
  on_queue(move, parsed, context, queue_move);
}

void add_queue(CLI::App& app, Parsed& parsed, Context& context) {
  add_send(app, parsed, context)->alias("publish");
  auto* command =
      app.add_subcommand("queue", "Queues of the server or the directory")->require_subcommand(1);
  auto& arguments = parsed.queue;
  auto* all = command->add_subcommand("list", "Every queue and what is in it");
  add_output(all, context);
  on_queue(all, parsed, context, [](Context& c, const QueueArguments&) { return queue_list(c); });
  auto* peek = command->add_subcommand("peek", "The oldest messages that nobody has leased");
  add_queue_name(peek, arguments);
  peek->add_option("--limit", arguments.limit)->capture_default_str()->check(CLI::Range(1, 10'000));
  add_output(peek, context);
  on_queue(peek, parsed, context, queue_peek);
  auto* receive = command->add_subcommand(
      "receive", "Take messages under a lease, as a worker does; each counts as an attempt");
  add_queue_name(receive, arguments);
  receive->add_option("--limit", arguments.limit)
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  on_queue(receive, parsed, context, queue_receive);
  auto* settle =
      command->add_subcommand("settle", "Say what became of a message that was received");
  add_queue_name(settle, arguments);
  settle->add_option("lease", arguments.id, "As receive printed it")->required();
  settle
      ->add_option("outcome", arguments.outcome, "complete, fail, release, abandon or dead_letter")
      ->capture_default_str();
  settle->add_option("--error", arguments.error, "Why it failed");
  settle->add_option("--reason", arguments.reason, "Of a dead_letter [Rejected]");
  on_queue(settle, parsed, context, queue_settle);
  add_queue_changes(command, parsed, context);
  auto* fsck = command->add_subcommand("fsck", "Read every byte and say what is damaged");
  on_files(fsck, parsed, context, [](Context& c, const QueueArguments&) { return queue_fsck(c); });
  auto* repair = command->add_subcommand(
      "repair", "Say what damage affects; --yes sets the damaged bytes aside and goes on");
  repair->add_flag("--yes", arguments.yes, "Really");
  on_files(repair, parsed, context, queue_repair);
  auto* dump = command->add_subcommand(
      "dump", "Every message in the files, with its state; -o ndjson: with its payload");
  dump->add_option("--queue", arguments.queue, "Only this one");
  dump->add_flag("--all", arguments.all, "Every record, and messages that are done with");
  add_output(dump, context);
  on_files(dump, parsed, context, queue_dump);
}

/// What was mistyped and what it may have been: the parser only says that something is wrong.
std::string mistake_in(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;  // the verb that was reached
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  const auto extras = app.remaining(true);
  if (extras.empty()) return error.what();
  const std::string& wrong = extras.front();
  std::vector<std::string> known;
  if (wrong.starts_with('-')) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    return unknown_name("option", wrong, std::vector<std::string_view>(known.begin(), known.end()));
  }
  for (const CLI::App* verb : at->get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(verb->get_name());
  }
  if (known.empty()) return in_quotes(wrong) + " was not expected here.";
  return unknown_name("verb", wrong, std::vector<std::string_view>(known.begin(), known.end()));
}

/// `--source=`, as a shell writes it from a variable that is not set: the parser would take the
/// next word for its value, whatever that is. Empty: there is none.
std::string_view valueless(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1) return word;
  }
  return {};
}

}  // namespace

int run(int argc, const char* const* argv, Context& context) {
  if (const std::string_view option = valueless(argc, argv); !option.empty()) {
    context.err << "dlo: " << option << " has no value. Write "
                << option.substr(0, option.size() - 1)
                << " '' if it is to be empty, or leave it out.\n";
    return exit_usage;
  }
  Parsed parsed;
  context.version = DLO_VERSION;
  CLI::App app("Dead Letter Office: failed messages, kept, understood and sent back", "dlo");
  app.require_subcommand(1);
  app.set_version_flag("--version", "dlo " DLO_VERSION);
  const Grammar grammar{app, context, parsed.verb};
  add_rules(grammar);
  add_list(app, parsed, context);
  add_show_and_stats(app, parsed, context);
  add_retries(app, parsed, context);
  add_report(grammar);
  add_acts(grammar);
  add_replay(grammar);
  add_jobs(grammar);
  add_groups(grammar);
  add_editing(grammar);
  add_watching(grammar);
  add_queue(app, parsed, context);
  add_demo_and_serve(app, parsed, context);
  add_config(app, parsed, context);
  add_token(app, parsed, context);
  add_sources(grammar);
  add_entities(grammar);
  add_keys(grammar);
  add_audit(grammar);
  add_poison(app, parsed, context);
  auto* version = app.add_subcommand("version", "Which dlo this is");
  version->callback([&parsed] {
    parsed.verb = [](Context& c) {
      c.out << "dlo " DLO_VERSION "\n";
      return int{exit_ok};
    };
  });
  add_help(grammar, "dlo " DLO_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error, context.out, context.err) == 0 ? exit_ok : exit_usage;
    }
    context.err << "dlo: " << mistake_in(app, error) << "\nRun with --help for more.\n";
    return exit_usage;
  }
  fill_from_environment(context);
  for (std::string* file : {&parsed.serve.config, &parsed.config.file}) {
    if (file->empty()) *file = variable(context, "DLO_CONFIG");
  }
  try {
    return parsed.verb(context);
  } catch (const std::exception& error) {  // nothing should: then it ends with a sentence
    context.err << "dlo: This went wrong in a way nobody thought of: " << error.what()
                << "\nWhat was acknowledged before is kept. Please report it with the command.\n";
    return exit_error;
  }
}

}  // namespace dlo::cli
