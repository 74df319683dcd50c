#include "dlo/store/sqlite/readers.h"

#include <utility>

namespace dlo::sqlite {
namespace {

// Pages beyond this stay in the kernel's cache, where every connection shares them.
constexpr const char* reader_settings =
    "PRAGMA query_only = 1; PRAGMA cache_size = -2000; PRAGMA temp_store = MEMORY;";

}  // namespace

Reader::Reader(const std::string& path, Access access)
    : db_(path, access), begin_(db_.raw(), "BEGIN"), commit_(db_.raw(), "COMMIT") {
  db_.run(reader_settings);
}

bool Reader::end() noexcept {
  try {
    if (db_.in_transaction()) commit_.run();
    return true;
  } catch (...) {
    return false;
  }
}

Statement& Reader::statement(std::string_view sql, char slot) {
  Statements& known = statements_[slot];
  const auto found = known.find(sql);
  if (found != known.end()) return *found->second;
  auto made = std::make_unique<Statement>(db_.raw(), sql);
  return *known.emplace(sql, std::move(made)).first->second;
}

Readers::Readers(std::string path, Access access, std::size_t most)
    : path_(std::move(path)), access_(access), most_(most) {
  idle_.reserve(most);
}

std::unique_ptr<Reader> Readers::take() {
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return !idle_.empty() || opened_ < most_; });
    if (!idle_.empty()) {
      std::unique_ptr<Reader> reader = std::move(idle_.back());
      idle_.pop_back();
      return reader;
    }
    ++opened_;
  }
  try {
    return std::make_unique<Reader>(path_, access_);
  } catch (...) {
    drop(nullptr);
    throw;
  }
}

void Readers::drop(std::unique_ptr<Reader> reader) noexcept {
  reader.reset();
  {
    const std::lock_guard lock(mutex_);
    --opened_;
  }
  returned_.notify_one();
}

void Readers::give_back(std::unique_ptr<Reader> reader) noexcept {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(reader));
  }
  returned_.notify_one();
}

Readers::Turn::Turn(Readers& readers) : readers_(readers), reader_(readers.take()) {
  try {
    reader_->begin();
  } catch (...) {
    readers_.give_back(std::move(reader_));
    throw;
  }
}

Readers::Turn::~Turn() {
  if (reader_->end()) {
    readers_.give_back(std::move(reader_));
  } else {
    readers_.drop(std::move(reader_));
  }
}

}  // namespace dlo::sqlite
