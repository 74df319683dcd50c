#include "dlo/store/sealed/sealing.h"

#include <memory>
#include <utility>

namespace dlo {
namespace {

std::string owner_of(const RecordId& id) {
  return "record " + to_string(id);
}

/// Seals a text in place; nothing stays nothing.
Result<void> seal_text(const Sealer& sealer, const std::string& place, std::string& text) {
  if (text.empty()) return {};
  auto sealed = sealer.seal(place, text);
  if (!sealed) return sealed.error();
  text = std::move(*sealed);
  return {};
}

Result<void> open_text(const Sealer& sealer, const std::string& place, std::string& text) {
  if (!is_sealed(std::string_view(text))) return {};
  auto plain = sealer.open(place, text);
  if (!plain) return plain.error();
  text = std::move(*plain);
  return {};
}

std::string metadata_place(const RecordId& id) {
  return "metadata of " + owner_of(id);
}
std::string stack_place(const RecordId& id) {
  return "stack of " + owner_of(id);
}
std::string attempt_place(const RecordId& id) {
  return "attempt of " + owner_of(id);
}
std::string document_place(std::string_view kind, std::string_view key) {
  return "document " + std::string(kind) + "/" + std::string(key);
}

/// Headers sealed, with a header more for each declared path that has a value.
Result<Headers> sealed_headers(const Sealing& sealing, const RecordId& id, const Headers& headers,
                               const std::optional<std::string>& payload) {
  auto out = seal_headers(sealing.sealer, owner_of(id), headers);
  if (!out || sealing.indexed.empty()) return out;
  const auto values = values_at(sealing.indexed, headers,
                                payload ? std::string_view(*payload) : std::string_view());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const auto tokens = sealing.sealer.tokens(sealing.indexed[i].name(), *values[i]);
    out->push_back({index_header(sealing.indexed[i]), tokens.front(), HeaderType::text});
  }
  return out;
}

Result<void> seal_message(const Sealing& sealing, const RecordId& id, Headers& headers,
                          std::optional<std::string>& payload) {
  auto out = sealed_headers(sealing, id, headers, payload);
  if (!out) return out.error();
  headers = std::move(*out);
  if (!payload) return {};
  auto sealed = sealing.sealer.seal(payload_place(owner_of(id)), *payload);
  if (!sealed) return sealed.error();
  payload = std::move(*sealed);
  return {};
}

Result<void> seal_record(const Sealing& sealing, DeadLetter& record) {
  auto message = std::make_shared<Message>(*record.message);
  if (auto done = seal_message(sealing, record.id, message->headers, message->payload); !done) {
    return done;
  }
  record.message = std::move(message);
  if (auto done = seal_text(sealing.sealer, metadata_place(record.id), record.metadata); !done) {
    return done;
  }
  return seal_text(sealing.sealer, stack_place(record.id), record.failure.stack);
}

Result<void> seal_attempts(const Sealer& sealer, const RecordId& id,
                           std::vector<Attempt>& attempts) {
  for (Attempt& attempt : attempts) {
    if (auto done = seal_text(sealer, attempt_place(id), attempt.error_text); !done) return done;
  }
  return {};
}

/// One overload per change that holds something secret; all others pass.
struct SealChange {
  const Sealing& sealing;

  Result<Change> operator()(Append change) const {
    if (!change.record || !change.record->message) return Change{std::move(change)};
    auto record = std::make_shared<DeadLetter>(*change.record);
    if (auto done = seal_record(sealing, *record); !done) return done.error();
    change.record = std::move(record);
    auto done = seal_attempts(sealing.sealer, change.record->id, change.attempts);
    if (!done) return done.error();
    return Change{std::move(change)};
  }
  Result<Change> operator()(Transition change) const {
    if (change.failure) {
      auto done = seal_text(sealing.sealer, stack_place(change.id), change.failure->stack);
      if (!done) return done.error();
    }
    return Change{std::move(change)};
  }
  Result<Change> operator()(AddAttempt change) const {
    auto done = seal_text(sealing.sealer, attempt_place(change.id), change.attempt.error_text);
    if (!done) return done.error();
    return Change{std::move(change)};
  }
  Result<Change> operator()(AddVersion change) const {
    auto done = seal_message(sealing, change.id, change.headers, change.payload);
    if (!done) return done.error();
    return Change{std::move(change)};
  }
  Result<Change> operator()(PutDocument change) const {
    if (!change.body || change.kind == data_key_kind) return Change{std::move(change)};
    auto done = seal_text(sealing.sealer, document_place(change.kind, change.key), *change.body);
    if (!done) return done.error();
    return Change{std::move(change)};
  }
  Result<Change> operator()(JobCheckpoint change) const {
    const std::string cursor = document_place(job_cursor_kind, change.job);
    if (auto done = seal_text(sealing.sealer, cursor, change.cursor); !done) return done.error();
    const std::string kind = job_item_kind(change.job);
    for (auto& [id, outcome] : change.outcomes) {
      auto done = seal_text(sealing.sealer, document_place(kind, to_string(id)), outcome);
      if (!done) return done.error();
    }
    return Change{std::move(change)};
  }
  template <typename Other>
  Result<Change> operator()(Other change) const {
    return Change{std::move(change)};
  }
};

Result<void> open_message(const Sealer& sealer, const RecordId& id, Headers& headers,
                          std::optional<std::string>& payload) {
  const bool had_headers = is_sealed(headers);
  auto plain = open_headers(sealer, owner_of(id), headers);
  if (!plain) return plain.error();
  headers = std::move(*plain);
  if (!payload) return {};
  // A message without headers may have had declared paths: then all it has now are tokens.
  if (!had_headers && is_sealed(std::string_view(*payload))) headers.clear();
  return open_text(sealer, payload_place(owner_of(id)), *payload);
}

bool is_fresh(KeyId current, std::string_view bytes) {
  return bytes.empty() || (is_sealed(bytes) && key_of(bytes) == current);
}

bool is_fresh(KeyId current, const Headers& headers, const std::optional<std::string>& payload) {
  const bool no_secret = headers.empty() || headers.front().name.starts_with(index_prefix);
  const bool headers_fresh =
      no_secret || (is_sealed(headers) && key_of(headers.front().value) == current);
  return headers_fresh &&
         (!payload || (is_sealed(std::string_view(*payload)) && key_of(*payload) == current));
}

}  // namespace

std::string index_header(const FieldPath& path) {
  return std::string(index_prefix) + path.name();
}

Result<Change> sealed(const Sealing& sealing, const Change& change) {
  return std::visit(SealChange{sealing}, change);
}

Result<MessagePtr> opened(const Sealer& sealer, const RecordId& id, const MessagePtr& message) {
  const bool plain = !is_sealed(message->headers) &&
                     (!message->payload || !is_sealed(std::string_view(*message->payload)));
  if (plain) return message;
  auto copy = std::make_shared<Message>(*message);
  if (auto done = open_message(sealer, id, copy->headers, copy->payload); !done) {
    return done.error();
  }
  return MessagePtr{std::move(copy)};
}

Result<void> open_record(const Sealer& sealer, DeadLetter& record) {
  auto message = opened(sealer, record.id, record.message);
  if (!message) return message.error();
  record.message = std::move(*message);
  if (auto done = open_text(sealer, metadata_place(record.id), record.metadata); !done) return done;
  return open_text(sealer, stack_place(record.id), record.failure.stack);
}

Result<void> open_detail(const Sealer& sealer, RecordDetail& detail) {
  const RecordId id = detail.record.id;
  if (auto done = open_record(sealer, detail.record); !done) return done;
  for (Attempt& attempt : detail.attempts) {
    if (auto done = open_text(sealer, attempt_place(id), attempt.error_text); !done) return done;
  }
  for (Version& version : detail.versions) {
    if (auto done = open_message(sealer, id, version.headers, version.payload); !done) return done;
  }
  return {};
}

Result<void> open_document(const Sealer& sealer, const std::string& kind, Document& document) {
  return open_text(sealer, document_place(kind, document.key), document.body);
}

Result<RecordDetail> sealed(const Sealing& sealing, RecordDetail plain) {
  const RecordId id = plain.record.id;
  if (auto done = seal_record(sealing, plain.record); !done) return done.error();
  if (auto done = seal_attempts(sealing.sealer, id, plain.attempts); !done) return done.error();
  for (Version& version : plain.versions) {
    auto done = seal_message(sealing, id, version.headers, version.payload);
    if (!done) return done.error();
  }
  return plain;
}

bool is_sealed_with(KeyId current, const RecordDetail& kept) {
  const DeadLetter& record = kept.record;
  bool fresh = is_fresh(current, record.message->headers, record.message->payload) &&
               is_fresh(current, record.metadata) && is_fresh(current, record.failure.stack);
  for (const Attempt& attempt : kept.attempts) {
    fresh = fresh && is_fresh(current, attempt.error_text);
  }
  for (const Version& version : kept.versions) {
    fresh = fresh && is_fresh(current, version.headers, version.payload);
  }
  return fresh;
}

}  // namespace dlo
