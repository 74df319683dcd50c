#include "dlo/config/keys.h"

#include <algorithm>

#include "dlo/config/values.h"

namespace dlo {
namespace {

constexpr std::uint64_t second = 1'000;
constexpr std::uint64_t minute = 60 * second;
constexpr std::uint64_t hour = 60 * minute;
constexpr std::uint64_t kilobyte = 1024;
constexpr std::uint64_t megabyte = 1024 * kilobyte;
constexpr std::uint64_t gigabyte = 1024 * megabyte;

constexpr std::string_view no_service_bus = "this version has no Service Bus source";

// clang-format off: a table is read in rows
std::vector<ConfigKey> server_keys() {
  using enum ValueKind;
  return {
      {"data", text, "dlo-data", "Directory of the office and its queues"},
      {.path = "office",
       .kind = text,
       .about = "Where the office is, if not in `data`: a database, such as "
                "`postgresql://dlo@db.example/dlo`; queues stay in `data` unless `queues` says more",
       .secret = true},
      {"queues", choice, "data", "Where queues are: in the directory `data`, or in the database of `office`, where every server on it hands out their messages", 0, 0,
       {"data", "office"}},
      {"server.listen", address, "127.0.0.1:8080", "Where to listen; port 0 takes any free one"},
      {"server.node", text, "", "Name of this server among several on one office, shown to others; otherwise that of its machine"},
      {"server.plain_http", flag, "false", "Listen beyond loopback without encryption"},
      {"server.io_threads", count, "1", "Threads that read and write", 1, 64},
      {"server.workers", count, "8", "Threads for quick requests; most of them wait for a sync", 1, 256},
      {"server.slow_workers", count, "2", "Threads for long lists and searches", 1, 64},
      {"server.max_waiting", count, "4096", "Requests that wait for a thread; more are answered 503", 16, 1'000'000},
      {"server.max_connections", count, "10000", "Connections at once; more are answered 503", 1, 1'000'000},
      {"server.max_body", size, "8MB", "Largest body of a request", kilobyte, gigabyte},
      {"server.max_body_memory", size, "256MB", "Of all bodies that are here at once", megabyte, 64 * gigabyte},
      {"server.max_header", size, "64KB", "Largest head of a request", kilobyte, megabyte},
      {"server.idle_timeout", duration, "1m", "Between two requests of a connection", second, hour},
      {"server.header_timeout", duration, "10s", "For the head of a request", 100, 10 * minute},
      {"server.body_timeout", duration, "1m", "For the body of a request", 100, hour},
      {"server.write_timeout", duration, "30s", "Without the client taking a byte", 100, hour},
      {"server.create_queues", flag, "true", "The first message sent to a queue makes it; if not, queues are declared first (PUT /v1/queues/NAME)"},
      {"server.drain", duration, "10s", "For requests that have begun when the server stops", 0, 10 * minute},
  };
}

std::vector<ConfigKey> tls_keys() {
  using enum ValueKind;
  return {
      {"tls.certificate", text, "", "PEM file: the certificate and what leads to its root; with it and its key the server speaks TLS",
       0, 0, {}, {}, true},
      {"tls.key", text, "", "PEM file: the key of the certificate", 0, 0, {}, {}, true},
      {"tls.handshake_timeout", duration, "10s", "For a client to agree on keys", 100, 10 * minute},
      {"tls.handshake_threads", count, "2", "Threads that do nothing else", 1, 64},
      {"tls.hsts", duration, "0s", "Browsers are told (Strict-Transport-Security) to speak only TLS to this host name for so long, on every port of it; 0: they are not told", 0, 3660 * 24 * hour},
  };
}

std::vector<ConfigKey> access_keys() {
  using enum ValueKind;
  return {
      {"access.rate", count, "0", "Requests a second of each token that has no rate of its own; 0: any number", 0, 1'000'000},
  };
}

std::vector<ConfigKey> discard_keys() {
  using enum ValueKind;
  return {
      {"discard.grace", duration, "7d", "What was discarded can be restored for so long, then it is removed", 0, 366 * 24 * hour},
  };
}

std::vector<ConfigKey> job_keys() {
  using enum ValueKind;
  return {
      {"jobs.keep", duration, "30d", "Bulk acts that ended so long ago, or were planned then and never started, are removed with what became of each item; their report stays in the audit trail", hour, 3660 * 24 * hour},
  };
}

std::vector<ConfigKey> search_keys() {
  using enum ValueKind;
  return {
      {"search.unsearched_payloads", text, "", "Sources, with commas between, whose payloads are not made searchable by word; their errors are"},
  };
}

std::vector<ConfigKey> vault_keys() {
  using enum ValueKind;
  return {
      {"vault.key_file", text, "", "File with the master keys (`dlo key create FILE`); with it what is kept is encrypted, without it an encrypted office is not opened"},
      {"masked", places, "", "Places whose values nobody is shown without the right `reveal`, and which are in no text index"},
      {"vault.indexed", places, "", "Places by which encrypted messages can be searched nevertheless, by equality"},
  };
}

std::vector<ConfigKey> rabbitmq_keys() {
  using enum ValueKind;
  return {
      {.path = "rabbitmq.address",
       .kind = text,
       .about = "The RabbitMQ server of `collectors`, `outboxes` and replays `--to amqp:…`, such as "
                "`amqp://dlo:PASSWORD@mq.example:5672/vhost`",
       .secret = true},
      {"rabbitmq.password_file", text, "", "File with the password, if it is not in the address"},
      {"rabbitmq.ca_file", text, "", "PEM file: whose certificates are believed, for `amqps://…`; without it those that the system trusts"},
      {"rabbitmq.certificate_file", text, "", "PEM file: a certificate to show, if RabbitMQ wants to see one"},
      {"rabbitmq.key_file", text, "", "PEM file: its key, if that is in a file of its own"},
      {"rabbitmq.verify", flag, "true", "Whoever answers must have a certificate for that host that is believed; `false`: anybody may answer, and read what is sent"},
      {"rabbitmq.prefetch", count, "512", "Messages of a collector that are here and not yet in the office", 1, 65'535},
      {"rabbitmq.heartbeat", duration, "10s", "A server that is silent for twice as long is taken for dead", second, hour},
      {"rabbitmq.confirm_within", duration, "30s", "For RabbitMQ to confirm what was sent; after that it is in doubt, and sent again under the same id", second, 10 * minute},
  };
}

std::vector<ConfigKey> service_bus_keys() {
  using enum ValueKind;
  return {
      {"service_bus.max_delivery_count", count, "3", "Deliveries before profile `service-bus` gives up", 1, 1'000, {},
       {{"ServiceBusConnector.MaxDeliveryCount"}}, true},
      {"service_bus.auto_complete", choice, "false", "Messages are always settled by those who worked on them", 0, 0,
       {"false"}, {{"ServiceBusConnector.AutoComplete"}}, false, false,
       "a message that settles itself cannot become a dead letter"},
      {"service_bus.receive_mode", choice, "PeekLock", "Messages are always leased", 0, 0, {"PeekLock"},
       {{"ServiceBusConnector.ReceiveMode"}}, false, false,
       "what is deleted when it is received cannot become a dead letter"},
      {"service_bus.connection_string", text, "", "Where the namespace is", 0, 0, {},
       {{"ServiceBusConnector.ConnectionString"}}, false, true, {}, no_service_bus},
      {"service_bus.queue_name", text, "", "Which queue to work on", 0, 0, {},
       {{"ServiceBusConnector.QueueName"}}, false, false, {}, no_service_bus},
      {"service_bus.prefetch_count", count, "16", "Received before they are needed", 0, 10'000, {},
       {{"ServiceBusConnector.PrefetchCount"}}, false, false, {}, no_service_bus},
      {"service_bus.max_concurrent_calls", count, "5", "Handlers at once", 1, 1'000, {},
       {{"ServiceBusConnector.MaxConcurrentCalls"}}, false, false, {}, no_service_bus},
      {"service_bus.max_wait_time", duration, "5s", "How long a receive waits", 0, hour, {},
       {{"ServiceBusConnector.MaxWaitTime"}}, false, false, {}, no_service_bus},
  };
}

std::vector<ConfigKey> workflow_keys() {
  using enum ValueKind;
  return {
      {"workflow.enabled", flag, "true", "Reports are taken in; false: they are answered 409 `dlq_disabled`, nothing is kept or retried", 0, 0, {},
       {{"dlq_enabled"}}},
      {"workflow.retry_policy", choice, "exponential", "How profile `workflow` waits where no category says otherwise",
       0, 0, {"never", "linear", "exponential", "immediate"}, {{"dlq_default_retry_policy"}}, true},
      {"workflow.max_retries", count, "3", "Retries before profile `workflow` gives up", 0, 10, {},
       {{"dlq_default_max_retries"}}, true},
      {"workflow.retry_processor", flag, "true", "Retries that are due are run by their executors; false: they are kept, and wait", 0, 0, {},
       {{"dlq_retry_processor_enabled"}}},
      {"workflow.retry_interval", duration, "", "Runs what is due only so often; without it each retry runs at its own moment", 10 * second, hour, {},
       {{"dlq_retry_interval_seconds", "s"}}},
      {"workflow.max_size", count, "10000", "Open dead letters at which the next report under profile `workflow` is refused", 100, 100'000, {},
       {{"dlq_max_size"}}, true},
      {"workflow.strategy", choice, "automatic", "Which failures profile `workflow` keeps", 0, 0,
       {"automatic", "selective", "manual", "disabled"}, {}, true},
      {"workflow.store_failure", choice, "", "What becomes of reports while the office cannot be written: kept in memory, or refused; without it memory under `workflow`, reject under `workflow+safe`", 0, 0,
       {"memory", "reject"}, {}, true},
      {"workflow.adapter", text, "llamaindex", "Executor of tasks that name none"},
      {"workflow.at_once", count, "8", "Retries that run at the same time", 1, 1'000},
      {"workflow.lease", duration, "30s", "Renewed while a retry runs; a run whose process died is due again after it", second, hour},
      {"workflow.timeout", duration, "5m", "For one retry; after that it has failed", second, 24 * hour},
      {"workflow.depends_timeout", duration, "1d",
       "How long a task waits for others that nobody has reported", minute, 30 * 24 * hour},
  };
}
// clang-format on

std::string upper(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::string join(const std::vector<std::string_view>& words) {
  std::string out;
  for (const auto word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

}  // namespace

std::string_view name_of(ValueKind kind) noexcept {
  switch (kind) {
    case ValueKind::text:
      return "text";
    case ValueKind::flag:
      return "flag";
    case ValueKind::count:
      return "number";
    case ValueKind::size:
      return "size";
    case ValueKind::duration:
      return "duration";
    case ValueKind::choice:
      return "choice";
    case ValueKind::address:
      return "address";
    case ValueKind::places:
      return "places";
  }
  return "text";
}

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all = server_keys();
    for (auto&& part : {tls_keys(), access_keys(), discard_keys(), job_keys(), search_keys(),
                        vault_keys(), rabbitmq_keys(), service_bus_keys(), workflow_keys()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return keys;
}

std::size_t find_key(std::string_view path) {
  const auto& keys = config_keys();
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const ConfigKey& each) { return each.path == path; });
  return static_cast<std::size_t>(found - keys.begin());
}

std::string variable_of(std::string_view path) {
  return "DLO_" + upper(path);
}

std::string bounds_of(const ConfigKey& key) {
  switch (key.kind) {
    case ValueKind::text:
      return "";
    case ValueKind::flag:
      return "true, false";
    case ValueKind::choice:
      return join(key.choices);
    case ValueKind::address:
      return "HOST:PORT";
    case ValueKind::places:
      return "header.NAME, body.PATH";
    case ValueKind::count:
    case ValueKind::size:
    case ValueKind::duration:
      return print_number(key.kind, key.least) + " to " + print_number(key.kind, key.most);
  }
  return "";
}

std::string markdown_row(const ConfigKey& key) {
  std::string row = "| `" + std::string(key.path) + "` | ";
  row += key.otherwise.empty() ? "" : "`" + std::string(key.otherwise) + "`";
  const std::string bounds = bounds_of(key);
  row += " | " + (bounds.empty() ? std::string(name_of(key.kind)) : bounds) + " | ";
  row += key.about;
  row += ".";
  if (key.reloadable) row += " *Reloads.*";
  if (key.secret) row += " *Secret.*";
  if (!key.refused.empty()) row += " *Refused: " + std::string(key.refused) + ".*";
  row += " |";
  for (const OldName& old : key.old_names) row += " `" + std::string(old.name) + "`";
  return row + " |";
}

}  // namespace dlo
