#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlo/store/change.h"
#include "dlo/store/sql/edit.h"
#include "dlo/store/sql/head.h"

namespace dlo::postgres {

using DocumentKey = std::pair<std::string, std::string>;

/// What of an append can be made ready by the thread that asks for it.
struct PreparedAppend : sql::PreparedAppend {
  std::vector<std::int32_t> error_words;
};

/// What a transaction knows of one record, and what of that has not been sent to the server.
struct Sheet {
  std::optional<sql::Head> head;  // nothing: there is no such record
  bool has_facts = false;
  bool has_message = false;
  std::optional<std::vector<Version>> versions;  // if they were read

  // Not sent yet.
  bool is_new = false;
  bool head_moved = false;
  bool facts_moved = false;
  bool message_moved = false;
  std::uint64_t version_there = 0;  // the compare-and-set of the next update
  std::vector<std::pair<std::uint32_t, std::string>> attempts;
  std::vector<Version> added_versions;
  const PreparedAppend* prepared = nullptr;  // of a new record that nobody changed since

  [[nodiscard]] bool is_moved() const noexcept {
    return is_new || head_moved || facts_moved || message_moved || !attempts.empty() ||
           !added_versions.empty();
  }
};

struct DocumentSheet {
  std::optional<std::uint64_t> version;  // nothing: there is no such document
  std::optional<std::string> body;
  bool moved = false;
};

struct AuditSheet {
  std::uint64_t number = 0;
  AddAudit act;
  std::string hash;
};

/// How things lay before one list of changes: only what it touched.
struct WayBack {
  std::unordered_map<RecordId, Sheet> sheets;
  std::map<DocumentKey, DocumentSheet> documents;
  std::size_t audit = 0;
  std::size_t gone = 0;
};

/// The records, documents and audit entries of the transaction under way, as they are by now. What
/// is changed is changed here first and sent in one go; a list of changes that fails half-way is
/// undone here, so the server needs no savepoint.
class Desk {
 public:
  void clear();

  [[nodiscard]] Sheet* find(const RecordId& id);
  [[nodiscard]] Sheet* find(std::int64_t number);
  /// Lays down what was read; what lies there already is newer and stays.
  Sheet& lay(const RecordId& id, Sheet sheet);
  /// For a change: remembers how it was, if there is a way back to keep.
  Sheet& change(const RecordId& id);
  void name(std::int64_t number, const RecordId& id) { numbers_[number] = id; }
  /// The record leaves; rows with its number are to be deleted.
  void remove(const RecordId& id);

  [[nodiscard]] DocumentSheet* find(const DocumentKey& key);
  DocumentSheet& lay(const DocumentKey& key, DocumentSheet sheet);
  DocumentSheet& change(const DocumentKey& key);
  void add(AuditSheet entry) { audit_.push_back(std::move(entry)); }

  void set_way_back() {
    back_.emplace();
    back_->audit = audit_.size();
    back_->gone = gone_.size();
  }
  void drop_way_back() { back_.reset(); }
  void go_back();

  [[nodiscard]] std::unordered_map<RecordId, Sheet>& sheets() noexcept { return sheets_; }
  [[nodiscard]] std::map<DocumentKey, DocumentSheet>& documents() noexcept { return documents_; }
  [[nodiscard]] std::vector<AuditSheet>& audit() noexcept { return audit_; }
  [[nodiscard]] std::vector<std::int64_t>& gone() noexcept { return gone_; }

 private:
  std::unordered_map<RecordId, Sheet> sheets_;
  std::unordered_map<std::int64_t, RecordId> numbers_;
  std::map<DocumentKey, DocumentSheet> documents_;
  std::vector<AuditSheet> audit_;
  std::vector<std::int64_t> gone_;
  std::optional<WayBack> back_;
};

}  // namespace dlo::postgres
