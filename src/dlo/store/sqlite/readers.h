#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// A read connection with the statements it has prepared so far.
class Reader {
 public:
  Reader(const std::string& path, Access access);
  /// Statements of one text but different slots can be stepped side by side.
  [[nodiscard]] Statement& statement(const std::string& sql, char slot = 0);
  [[nodiscard]] Connection& connection() noexcept { return db_; }
  void begin() { begin_.run(); }
  /// False: nobody may use this connection again.
  [[nodiscard]] bool end() noexcept;

 private:
  Connection db_;
  Statement begin_, commit_;
  std::unordered_map<std::string, std::unique_ptr<Statement>> statements_;
};

/// A few read connections, opened when first needed. Readers never wait for the writer; they wait
/// for each other only when all connections are in use.
class Readers {
 public:
  Readers(std::string path, Access access, std::size_t most);

  /// A reader for one block, inside one read transaction: everything read belongs together.
  class Turn {
   public:
    explicit Turn(Readers& readers);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Statement& operator()(const std::string& sql, char slot = 0) {
      return reader_->statement(sql, slot);
    }
    [[nodiscard]] Connection& connection() noexcept { return reader_->connection(); }

   private:
    Readers& readers_;
    std::unique_ptr<Reader> reader_;
  };

 private:
  [[nodiscard]] std::unique_ptr<Reader> take();
  void give_back(std::unique_ptr<Reader> reader) noexcept;
  void drop(std::unique_ptr<Reader> reader) noexcept;

  const std::string path_;
  const Access access_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Reader>> idle_;
  std::size_t opened_ = 0;
};

}  // namespace dlo::sqlite
