#include "dlo/postgres/connection.h"

#include <algorithm>
#include <array>
#include <libpq-fe.h>
#include <poll.h>
#include <utility>

namespace dlo::postgres {
namespace {

constexpr const char* where = "postgres";

/// The first line, without the severity in front of it.
std::string first_line(std::string_view message) {
  std::string line(message.substr(0, message.find('\n')));
  for (const std::string_view severity : {"ERROR:  ", "FATAL:  "}) {
    if (line.starts_with(severity)) line.erase(0, severity.size());
  }
  return line;
}

/// What was said of each server that was tried, without advice about indented lines.
std::string all_lines(std::string_view message) {
  std::string all;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    if (!line.empty() && line.front() != '\t') {
      if (!all.empty()) all += "; ";
      all += first_line(line);
    }
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return all;
}

std::string state_of(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

std::string message_of(const PGresult* result, const PGconn* connection) {
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return primary != nullptr ? primary : first_line(PQerrorMessage(connection));
}

PGconn* connect(const std::string& address) {
  // What the address says later wins. A peer that is gone without a word is noticed in a minute.
  const std::array<const char*, 8> keys{
      "fallback_application_name", "connect_timeout",  "keepalives_idle", "keepalives_interval",
      "keepalives_count",          "tcp_user_timeout", "dbname",          nullptr};
  const std::array<const char*, 8> values{"dlo",           "10",   "20", "10", "3", "60000",
                                          address.c_str(), nullptr};
  return PQconnectdbParams(keys.data(), values.data(), 1);
}

}  // namespace

Result<void> check_address(const std::string& address) {
  char* why = nullptr;
  PQconninfoOption* options = PQconninfoParse(address.c_str(), &why);
  PQconninfoFree(options);
  PQfreemem(why);
  if (options != nullptr) return {};
  return Error{Code::invalid_argument, where,
               "the address of the PostgreSQL server is not understood (it is not repeated here: "
               "it may hold a password); write postgresql://user@host:port/database, or "
               "host=… dbname=… as libpq takes it"};
}

void Connection::Closer::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

Connection::Connection(const std::string& address, const std::string& settings)
    : connection_(connect(address)) {
  if (!connection_) {
    throw Failed{Error{Code::full, where, "not enough memory to connect"}, Trouble::lost, ""};
  }
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    const std::string message = all_lines(PQerrorMessage(connection_.get()));
    throw Failed{Error{Code::unavailable, where,
                       "no connection to PostgreSQL at " + place() + ": " + message},
                 Trouble::lost, ""};
  }
  PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
  if (!settings.empty()) run(settings);
}

Connection::~Connection() = default;

int Connection::process() const noexcept {
  return PQbackendPID(connection_.get());
}

std::string Connection::place() const {
  const auto text = [](const char* part) { return std::string(part == nullptr ? "" : part); };
  return text(PQhost(connection_.get())) + ":" + text(PQport(connection_.get())) + "/" +
         text(PQdb(connection_.get()));
}

bool Connection::is_lost() const noexcept {
  return is_spent_ || PQstatus(connection_.get()) != CONNECTION_OK;
}

bool Connection::in_transaction() const noexcept {
  return PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
}

void Connection::fail(const std::string& doing, const std::string& state,
                      const std::string& message) {
  const bool gone = is_lost();
  const Trouble trouble = gone ? Trouble::lost : trouble_of(state);
  const Code code = trouble == Trouble::lost ? Code::unavailable : code_of(state);
  is_spent_ = trouble == Trouble::lost;
  std::string detail = doing + " at " + place() + ": " + message;
  if (!state.empty()) detail += " (" + state + ")";
  if (state == read_only) {
    detail +=
        "; this server takes no writes: it is a standby, or was set read-only. Nothing was "
        "changed. Let it take writes, or name all servers, with target_session_attrs=read-write";
  }
  throw Failed{Error{code, where, std::move(detail)}, trouble, state};
}

void Connection::run(const std::string& sql) {
  PGresult* result = PQexec(connection_.get(), sql.c_str());
  const Rows answer(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) {
    return;
  }
  fail("a statement failed", state_of(result), message_of(result, connection_.get()));
}

std::vector<std::string> Connection::hear(std::chrono::milliseconds wait) {
  std::vector<std::string> told;
  const auto take = [&] {
    while (PGnotify* one = PQnotifies(connection_.get())) {
      told.emplace_back(one->extra);
      PQfreemem(one);
    }
  };
  take();  // what came along with an answer
  if (!told.empty()) return told;
  pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
  if (::poll(&socket, 1, static_cast<int>(wait.count())) <= 0) return told;
  if (PQconsumeInput(connection_.get()) == 0) {
    fail("listening failed", "", first_line(PQerrorMessage(connection_.get())));
  }
  take();
  return told;
}

Rows Connection::ask(const std::string& sql, const Params& params, Plan plan) {
  send(sql, params, plan);
  return std::move(finish().front());
}

Rows Connection::ask_text(const std::string& sql,
                          const std::vector<std::optional<std::string>>& values) {
  std::vector<const char*> texts;
  for (const auto& each : values) texts.push_back(each ? each->c_str() : nullptr);
  PGresult* result = PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()),
                                  nullptr, texts.data(), nullptr, nullptr, 1);
  Rows answer(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    fail("a statement failed", state_of(result), message_of(result, connection_.get()));
  }
  return answer;
}

void Connection::check_sent(int sent, const char* doing) {
  if (sent == 0) fail(doing, "", first_line(PQerrorMessage(connection_.get())));
}

void Connection::enter_pipeline() {
  if (PQpipelineStatus(connection_.get()) != PQ_PIPELINE_OFF) return;
  check_sent(PQenterPipelineMode(connection_.get()), "a pipeline could not begin");
}

const std::string& Connection::prepare(const std::string& sql, const Params& params) {
  const auto [found, added] = prepared_.try_emplace(sql);
  if (!added) return found->second;
  found->second = "dlo" + std::to_string(++names_);
  waiting_.push_back({found->second, sql});
  check_sent(PQsendPrepare(connection_.get(), found->second.c_str(), sql.c_str(), params.count(),
                           params.types().data()),
             "a statement could not be prepared");
  return found->second;
}

void Connection::send(const std::string& sql, const Params& params, Plan plan) {
  enter_pipeline();
  std::vector<const char*> values;
  std::vector<int> lengths;
  params.lay_out(values, lengths);
  const std::vector<int> binary(values.size(), 1);
  if (plan == Plan::kept) {
    const std::string& name = prepare(sql, params);
    waiting_.emplace_back();
    check_sent(PQsendQueryPrepared(connection_.get(), name.c_str(), params.count(), values.data(),
                                   lengths.data(), binary.data(), 1),
               "a statement could not be sent");
    return;
  }
  waiting_.emplace_back();
  check_sent(
      PQsendQueryParams(connection_.get(), sql.c_str(), params.count(), params.types().data(),
                        values.data(), lengths.data(), binary.data(), 1),
      "a statement could not be sent");
}

void Connection::drain(std::vector<Rows>& answers, std::string& state, std::string& message) {
  bool failed = false;
  for (const Waiting& each : waiting_) {
    PGresult* result = PQgetResult(connection_.get());
    Rows rows(result);
    const ExecStatusType status = PQresultStatus(result);
    const bool fine = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!fine && !failed) {
      failed = true;
      state = result == nullptr ? "" : state_of(result);
      message = message_of(result, connection_.get());
    }
    if (!fine && !each.name.empty()) prepared_.erase(each.sql);
    if (fine && each.name.empty()) answers.push_back(std::move(rows));
    if (result == nullptr) return;            // the connection is gone: nothing more will come
    PQclear(PQgetResult(connection_.get()));  // the end of this statement's answers
  }
}

std::vector<Rows> Connection::finish() {
  enter_pipeline();
  std::vector<Rows> answers;
  answers.reserve(waiting_.size());
  check_sent(PQpipelineSync(connection_.get()), "statements could not be sent");
  std::string state;
  std::string message;
  const std::size_t asked = waiting_.size();
  std::size_t preparing = 0;
  for (const Waiting& each : waiting_) preparing += each.name.empty() ? 0 : 1;
  drain(answers, state, message);
  waiting_.clear();
  if (!is_lost()) {
    PQclear(PQgetResult(connection_.get()));  // PGRES_PIPELINE_SYNC
    PQexitPipelineMode(connection_.get());
  }
  if (answers.size() != asked - preparing) fail("a statement failed", state, message);
  return answers;
}

}  // namespace dlo::postgres
