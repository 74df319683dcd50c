#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// A read connection with the statements it has prepared so far.
class Reader {
 public:
  Reader(const std::string& path, Access access);
  /// Statements of one text but different slots can be stepped side by side.
  [[nodiscard]] Statement& statement(std::string_view sql, char slot = 0);
  [[nodiscard]] Connection& connection() noexcept { return db_; }
  void begin() { begin_.run(); }
  /// False: nobody may use this connection again.
  [[nodiscard]] bool end() noexcept;

 private:
  Connection db_;
  Statement begin_, commit_;
  /// A text is found without being copied: some are long, and every read asks for a few.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view sql) const noexcept {
      return std::hash<std::string_view>{}(sql);
    }
  };
  using Statements =
      std::unordered_map<std::string, std::unique_ptr<Statement>, Hash, std::equal_to<>>;
  std::map<char, Statements> statements_;  // by slot
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
    Statement& operator()(std::string_view sql, char slot = 0) {
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
