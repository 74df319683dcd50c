#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/postgres/failed.h"
#include "dlo/postgres/params.h"
#include "dlo/postgres/rows.h"

struct pg_conn;

namespace dlo::postgres {

/// Whether a connection string can be understood at all. The answer never repeats it: it may hold
/// a password (GEN-16).
[[nodiscard]] Result<void> check_address(const std::string& address);

enum class Plan : std::uint8_t {
  kept,  // prepared under a name; for statements that come again and again
  once,  // planned for these very values
};

/// One connection, used by one thread at a time. Whatever fails throws `Failed`; after
/// `Trouble::lost` it is of no more use.
class Connection {
 public:
  /// `address` as libpq takes it: postgresql://… or key=value, TLS and files included. `settings`
  /// are statements to begin with.
  Connection(const std::string& address, const std::string& settings);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Any number of statements without values, one after the other; what they answer is dropped.
  void run(const std::string& sql);
  [[nodiscard]] Rows ask(const std::string& sql, const Params& params = Params(),
                         Plan plan = Plan::kept);

  /// A statement of somebody else's: values as text, which the server reads as the types it needs.
  [[nodiscard]] Rows ask_text(const std::string& sql,
                              const std::vector<std::optional<std::string>>& values);

  /// Adds a statement to the pipeline; nothing is waited for. Values may go after the call.
  void send(const std::string& sql, const Params& params = Params(), Plan plan = Plan::kept);
  /// The answers of all that was sent since the last call, in order. If one failed, those behind it
  /// were not carried out, and its error is thrown.
  std::vector<Rows> finish();
  [[nodiscard]] std::size_t in_pipeline() const noexcept { return waiting_.size(); }

  /// Waits for what somebody tells the channels this one listens to (LISTEN), `wait` at most. What
  /// was told; empty: nothing. Only between statements.
  [[nodiscard]] std::vector<std::string> hear(std::chrono::milliseconds wait);

  [[nodiscard]] bool is_lost() const noexcept;
  [[nodiscard]] bool in_transaction() const noexcept;
  /// By which the server knows it.
  [[nodiscard]] int process() const noexcept;
  /// Host, port and database, for people.
  [[nodiscard]] std::string place() const;

 private:
  struct Waiting {
    std::string name;  // of a statement that is being prepared; else empty
    std::string sql;
  };
  struct Closer {
    void operator()(pg_conn* connection) const noexcept;
  };
  [[noreturn]] void fail(const std::string& doing, const std::string& state,
                         const std::string& message);
  void enter_pipeline();
  const std::string& prepare(const std::string& sql, const Params& params);
  void drain(std::vector<Rows>& answers, std::string& state, std::string& message);
  void check_sent(int sent, const char* doing);

  std::unique_ptr<pg_conn, Closer> connection_;
  std::unordered_map<std::string, std::string> prepared_;
  std::vector<Waiting> waiting_;
  std::size_t names_ = 0;
  bool is_spent_ = false;
};

}  // namespace dlo::postgres
