#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "dlo/store/sql/codec.h"
#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {
namespace {

/// Any bytes, NULs and broken UTF-8 included.
std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}
TimePoint any_time() {
  return TimePoint{Millis{*rc::gen::arbitrary<std::int64_t>()}};
}
std::optional<TimePoint> maybe_time() {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return any_time();
}

Headers any_headers() {
  Headers headers(*rc::gen::inRange<std::size_t>(0, 4));
  for (Header& header : headers) {
    header = {any_bytes(), any_bytes(), static_cast<HeaderType>(*rc::gen::inRange(0, 8))};
  }
  return headers;
}

Message any_message() {
  Message message;
  if (*rc::gen::arbitrary<bool>()) {
    message.position = Position{any_bytes(), *rc::gen::arbitrary<std::int64_t>()};
  }
  message.correlation_id = any_bytes();
  message.content_type = any_bytes();
  message.headers = any_headers();
  message.enqueued_at = any_time();
  message.expires_at = maybe_time();
  message.priority = static_cast<Priority>(*rc::gen::inRange(0, 3));
  if (*rc::gen::arbitrary<bool>()) {
    Owner owner{any_bytes(), *rc::gen::arbitrary<std::uint64_t>(), std::nullopt, any_bytes()};
    if (*rc::gen::arbitrary<bool>()) {
      owner.activity = Activity{any_bytes(), *rc::gen::arbitrary<std::uint64_t>()};
    }
    message.owner = owner;
  }
  return message;
}

RC_GTEST_PROP(SqliteCodec, AnEnvelopeComesBackAsItWas, ()) {
  const Message message = any_message();
  Message read;
  decode_envelope(encode_envelope(message), read);
  RC_ASSERT(read == message);
}

RC_GTEST_PROP(SqliteCodec, FactsComeBackAsTheyWere, ()) {
  DeadLetter record;
  record.profile = any_bytes();
  record.description = any_bytes();
  record.metadata = any_bytes();
  record.failure.text = std::string(*rc::gen::element<std::size_t>(0, 5, 1024, 1025, 9000), 'e');
  record.failure.code = any_bytes();
  if (*rc::gen::arbitrary<bool>()) record.failure.status = *rc::gen::arbitrary<int>();
  if (*rc::gen::arbitrary<bool>()) record.failure.retry_after = Millis{*rc::gen::inRange(0, 9)};
  record.failure.causes = {{any_bytes(), any_bytes()}};
  record.first_attempt_at = maybe_time();
  record.expires_at = maybe_time();
  record.tags = {any_bytes(), any_bytes()};
  record.depends_on.resize(2);
  record.depends_on[1].high = *rc::gen::arbitrary<std::uint64_t>();
  if (*rc::gen::arbitrary<bool>()) {
    record.resolution = Resolution{any_time(), any_bytes(), any_bytes(), any_bytes()};
  }

  DeadLetter read;
  read.failure.text = record.failure.text.substr(0, head_text_limit);  // as the head has it
  decode_facts(encode_facts(record), read);
  RC_ASSERT(read.profile == record.profile);
  RC_ASSERT(read.description == record.description);
  RC_ASSERT(read.metadata == record.metadata);
  RC_ASSERT(read.failure == record.failure);
  RC_ASSERT(read.first_attempt_at == record.first_attempt_at);
  RC_ASSERT(read.expires_at == record.expires_at);
  RC_ASSERT(read.tags == record.tags);
  RC_ASSERT(read.depends_on == record.depends_on);
  RC_ASSERT(read.resolution == record.resolution);
}

RC_GTEST_PROP(SqliteCodec, AnAttemptComesBackAsItWas, ()) {
  const Attempt attempt{*rc::gen::arbitrary<std::uint32_t>(),
                        any_time(),
                        Millis{*rc::gen::arbitrary<std::int64_t>()},
                        static_cast<OutcomeKind>(*rc::gen::inRange(0, 4)),
                        any_bytes(),
                        any_bytes(),
                        any_bytes(),
                        any_bytes(),
                        Millis{*rc::gen::arbitrary<std::int64_t>()},
                        any_bytes()};
  RC_ASSERT(decode_attempt(encode_attempt(attempt)) == attempt);
}

RC_GTEST_PROP(SqliteCodec, ShortenedBytesAreCalledCorrupt, ()) {
  const std::string bytes = encode_envelope(any_message());
  const auto kept = *rc::gen::inRange<std::size_t>(0, bytes.size());
  Message read;
  try {
    decode_envelope(std::string_view(bytes).substr(0, kept), read);
    RC_FAIL("it was read");
  } catch (const Failed& failed) {
    RC_ASSERT(failed.error.code == Code::corrupt);
  }
}

RC_GTEST_PROP(SqliteCodec, NoBytesDoHarm, ()) {
  const std::string bytes = "\x01" + any_bytes();
  try {
    Message message;
    decode_envelope(bytes, message);
    DeadLetter record;
    decode_facts(bytes, record);
    (void)decode_attempt(bytes);
  } catch (const Failed& failed) {
    RC_ASSERT(failed.error.code == Code::corrupt);
  }
}

}  // namespace
}  // namespace dlo::sqlite
