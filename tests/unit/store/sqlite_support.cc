#include "unit/store/sqlite_support.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sqlite3.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dlo::testing {

DeadLetter letter(std::uint64_t n) {
  Message message;
  message.id = "message-" + std::to_string(n);
  message.source = "orders";
  message.event_type = "OrderPlaced";
  message.key = "customer-" + std::to_string(n % 10);
  message.payload = "{\"order\":" + std::to_string(n) + "}";
  DeadLetter record;
  record.id.high = 7;
  record.id.low = n;
  record.message = std::make_shared<Message>(std::move(message));
  record.reason = "MaxDeliveryCountExceeded";
  record.category = "network";
  record.failure.type = "HttpException";
  record.failure.text = "timed out (" + std::to_string(n) + ")";
  record.fingerprint.hash = {1, n % 5};
  record.fingerprint.title = "HttpException";
  record.counters.attempt = 3;
  record.died_at = noon + Millis{static_cast<std::int64_t>(n)};
  return record;
}

Change append_of(DeadLetter record) {
  return Append{std::make_shared<DeadLetter>(std::move(record)), {}};
}

DeadLetter letter_with_payload(std::uint64_t n, std::string payload) {
  DeadLetter record = letter(n);
  Message message = *record.message;
  message.payload = std::move(payload);
  record.message = std::make_shared<Message>(std::move(message));
  return record;
}

std::unique_ptr<SqliteOffice> open_office(const std::string& directory, SqliteOptions options) {
  return must(SqliteOffice::open(directory, std::move(options)));
}

void must_apply(Office& office, const std::vector<Change>& changes) {
  (void)must(office.apply(changes));
}

std::vector<RecordId> all_pages(Office& office, Query query) {
  std::vector<RecordId> ids;
  for (int pages = 0; pages < 100'000; ++pages) {
    const Page page = must(office.list(query));
    for (const RecordHead& row : page.rows) ids.push_back(row.id);
    if (!page.next) return ids;
    query.after = page.next;
  }
  throw std::runtime_error("the pages do not come to an end");
}

void wait_for_index(Office& office) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (must(office.aggregate({})).unindexed_payloads > 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("the payload index does not follow");
    }
    std::this_thread::yield();
  }
}

std::string ask(const std::string& file, const std::string& sql) {
  sqlite3* db = nullptr;
  std::string answer;
  const auto row = [](void* out, int count, char** values, char**) {
    auto& text = *static_cast<std::string*>(out);
    if (!text.empty()) text += '\n';
    for (int i = 0; i < count; ++i) {
      if (i > 0) text += ',';
      text += values[i] == nullptr ? "NULL" : values[i];
    }
    return 0;
  };
  char* error = nullptr;
  if (sqlite3_open(file.c_str(), &db) == SQLITE_OK) {
    sqlite3_busy_timeout(db, 5000);
    sqlite3_exec(db, sql.c_str(), row, &answer, &error);
  }
  if (error != nullptr) answer += std::string("error: ") + error;
  sqlite3_free(error);
  sqlite3_close(db);
  return answer;
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    int answer = 255;
    try {
      answer = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    ::_exit(answer);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace dlo::testing
