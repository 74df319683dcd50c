#include "dlo/store/sqlite/rewriting.h"

#include <utility>
#include <vector>

#include "dlo/core/sealed.h"
#include "dlo/store/sql/codec.h"

namespace dlo::sqlite {
namespace {

/// Statements for records that stay what they are.
class Rewriting {
 public:
  explicit Rewriting(Session& session)
      : session_(session),
        numbers_(raw(), "SELECT number FROM records WHERE number > ? ORDER BY number LIMIT ?"),
        attempts_(raw(), "SELECT n, attempt FROM attempts WHERE number = ? ORDER BY n DESC"),
        write_facts_(raw(), "UPDATE details SET facts = ?2 WHERE number = ?1"),
        write_body_(raw(), "UPDATE bodies SET envelope = ?2, payload = ?3 WHERE number = ?1"),
        write_attempt_(raw(), "UPDATE attempts SET attempt = ?3 WHERE number = ?1 AND n = ?2"),
        write_version_(raw(),
                       "UPDATE versions SET headers = ?3, payload = ?4 WHERE number = ?1 AND n = "
                       "?2"),
        write_flags_(raw(), "UPDATE records SET flags = flags & ~?2 WHERE number = ?1") {}

  std::vector<std::int64_t> numbers(std::int64_t after, std::size_t limit) {
    std::vector<std::int64_t> found;
    numbers_.bind(after, limit);
    for (Rows rows(numbers_); rows.next();) found.push_back(numbers_.number(0));
    return found;
  }

  /// True: it was written anew.
  Result<bool> run(std::int64_t number, const Rewriter::Make& make) {
    auto head = session_.find(number);
    if (!head) return false;
    session_.load_facts(*head);
    session_.load_message(*head);
    std::vector<std::uint32_t> places;
    RecordDetail kept{head->record, {}, session_.versions(number)};
    attempts_.bind(number);
    for (Rows rows(attempts_); rows.next();) {
      places.push_back(attempts_.as<std::uint32_t>(0));
      kept.attempts.push_back(decode_attempt(attempts_.view(1)));
    }
    const auto made = make(kept);
    if (!made) return made.error();
    if (!*made) return false;
    write(number, places, **made);
    return true;
  }

 private:
  sqlite3* raw() { return session_.connection().raw(); }
  static std::optional<Bytes> bytes_of(const std::optional<std::string>& payload) {
    if (!payload) return std::nullopt;
    return Bytes{*payload};
  }

  void write(std::int64_t number, const std::vector<std::uint32_t>& places,
             const RecordDetail& made) {
    const Message& message = *made.record.message;
    const std::string facts = encode_facts(made.record);
    write_facts_.bind(number, Bytes{facts}).run();
    const std::string envelope = encode_envelope(message);
    write_body_.bind(number, Bytes{envelope}, bytes_of(message.payload)).run();
    for (std::size_t i = 0; i < places.size() && i < made.attempts.size(); ++i) {
      const std::string attempt = encode_attempt(made.attempts[i]);
      write_attempt_.bind(number, places[i], Bytes{attempt}).run();
    }
    for (const Version& version : made.versions) {
      const std::string headers = encode_headers(version.headers);
      write_version_.bind(number, version.number, Bytes{headers}, bytes_of(version.payload)).run();
    }
    const bool sealed = message.payload && is_sealed(std::string_view(*message.payload));
    if (sealed) write_flags_.bind(number, flag::payload_searched).run();
    session_.mark_written();
  }

  Session& session_;
  Statement numbers_, attempts_, write_facts_, write_body_, write_attempt_, write_version_,
      write_flags_;
};

}  // namespace

Result<Rewritten> rewrite_records(Session& session, std::int64_t after, std::size_t limit,
                                  const Rewriter::Make& make) {
  Rewriting rewriting(session);
  Rewritten answer;
  for (const std::int64_t number : rewriting.numbers(after, limit)) {
    const auto written = rewriting.run(number, make);
    if (!written) return written.error();
    answer.last = number;
    ++answer.looked_at;
    if (*written) ++answer.written;
  }
  return answer;
}

}  // namespace dlo::sqlite
