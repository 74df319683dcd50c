#include "dlo/store/rules.h"

namespace dlo {
namespace {

constexpr const char* where = "office.apply";

Error refusal(std::string detail) {
  return {Code::invalid_argument, where, std::move(detail)};
}

struct Checker {
  Result<void> operator()(const Append& change) const {
    if (!change.record) return refusal("there is no record to append");
    const DeadLetter& record = *change.record;
    if (!record.message) return refusal("the record has no message");
    if (record.occurrence == 0) return refusal("occurrences are counted from 1, not from 0");
    if (carries_lease(record.status)) {
      return refusal("a record cannot arrive as `" + std::string(name_of(record.status)) +
                     "`, which exists only under a lease: append it as `pending`");
    }
    return {};
  }
  Result<void> operator()(const Transition& change) const {
    if (!change.lease_for) {
      if (change.lease && carries_lease(change.to)) {
        return refusal("settling a lease cannot leave the record `" +
                       std::string(name_of(change.to)) +
                       "`: give `lease_for` to carry the lease on");
      }
      return {};
    }
    if (!carries_lease(change.to) && change.to != Status::waiting) {
      return refusal("a record that is `" + std::string(name_of(change.to)) +
                     "` cannot be leased: only waiting, retrying and replaying can");
    }
    return check_lease_for(*change.lease_for);
  }
  Result<void> operator()(const PutDocument& change) const {
    if (change.kind.empty()) return refusal("a document needs a kind");
    if (change.key.empty()) return refusal("a document needs a key");
    return {};
  }
  Result<void> operator()(const ExpectDocument& change) const {
    if (change.kind.empty()) return refusal("a document needs a kind");
    if (change.key.empty()) return refusal("a document needs a key");
    return {};
  }
  Result<void> operator()(const JobCheckpoint& change) const {
    if (change.job.empty()) return refusal("a checkpoint needs the id of its job");
    return {};
  }
  Result<void> operator()(const SourceSettled&) const { return {}; }
  Result<void> operator()(const AddAttempt&) const { return {}; }
  Result<void> operator()(const AddVersion&) const { return {}; }
  Result<void> operator()(const EditGroup&) const { return {}; }
  Result<void> operator()(const MergeGroups& change) const {
    if (change.from == change.into) return refusal("a group cannot be merged into itself");
    return {};
  }
  Result<void> operator()(const SplitGroup&) const { return {}; }
  Result<void> operator()(const AddAudit&) const { return {}; }
  Result<void> operator()(const Remove&) const { return {}; }
};

struct Describer {
  std::string operator()(const Append& c) const {
    return "append of record " + (c.record ? to_string(c.record->id) : std::string("(none)"));
  }
  std::string operator()(const Transition& c) const {
    return "transition of record " + to_string(c.id) + " to `" + std::string(name_of(c.to)) + "`";
  }
  std::string operator()(const SourceSettled& c) const {
    return "settled source of record " + to_string(c.id);
  }
  std::string operator()(const AddAttempt& c) const {
    return "attempt of record " + to_string(c.id);
  }
  std::string operator()(const AddVersion& c) const { return "edit of record " + to_string(c.id); }
  std::string operator()(const EditGroup& c) const {
    return "edit of group " + to_string(c.fingerprint);
  }
  std::string operator()(const MergeGroups& c) const {
    return "merge of group " + to_string(c.from) + " into " + to_string(c.into);
  }
  std::string operator()(const SplitGroup& c) const {
    return "split of " + to_string(c.fingerprint);
  }
  std::string operator()(const PutDocument& c) const { return "document " + c.kind + "/" + c.key; }
  std::string operator()(const ExpectDocument& c) const {
    return "expected document " + c.kind + "/" + c.key;
  }
  std::string operator()(const JobCheckpoint& c) const { return "checkpoint of job " + c.job; }
  std::string operator()(const AddAudit& c) const { return "audit of `" + c.act + "`"; }
  std::string operator()(const Remove& c) const { return "removal of record " + to_string(c.id); }
};

Result<void> check_words(std::string_view field, std::string_view text) {
  if (text.empty() || !words_of(text).empty()) return {};
  return Error{Code::invalid_argument, "office.list",
               "`" + std::string(field) + "` holds no word to search for (got \"" +
                   std::string(text.substr(0, 80)) + "\"): give letters or digits"};
}

}  // namespace

Result<void> check(const Change& change) {
  return std::visit(Checker{}, change);
}

Result<void> check(const Query& query) {
  if (auto fine = check_words("error_words", query.error_words); !fine) return fine;
  if (auto fine = check_words("payload_words", query.payload_words); !fine) return fine;
  if (query.ids.size() > most_values) {
    return Error{Code::invalid_argument, "office.list",
                 std::to_string(query.ids.size()) + " ids are asked for: give at most " +
                     std::to_string(most_values)};
  }
  if (auto fine = check(query.tests); !fine) return fine;
  const bool searches = !query.error_words.empty() || !query.payload_words.empty();
  if (query.after && query.after->walk == Walk::by_arrival && !searches) {
    return foreign_cursor(*query.after);
  }
  return {};
}

Error foreign_cursor(const Cursor& cursor) {
  return {Code::invalid_argument, "office.list",
          "the cursor " + to_string(cursor) +
              " did not come from this listing; start again without a cursor"};
}

Error at_place(Error error, std::size_t index, std::size_t size, const Change& change) {
  error.detail = "change " + std::to_string(index + 1) + " of " + std::to_string(size) + " (" +
                 std::visit(Describer{}, change) + "): " + error.detail +
                 (size > 1 ? "; none of the list was carried out" : "");
  return error;
}

}  // namespace dlo
