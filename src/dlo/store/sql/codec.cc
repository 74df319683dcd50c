#include "dlo/store/sql/codec.h"

#include "dlo/store/sql/failed.h"

namespace dlo::sql {
namespace {

constexpr std::uint64_t format = 1;

void put_headers(Encoder& out, const Headers& headers) {
  out.number(headers.size());
  for (const Header& header : headers) {
    out.text(header.name);
    out.text(header.value);
    out.number(static_cast<std::uint64_t>(header.type));
  }
}

Headers take_headers(Decoder& in) {
  Headers headers(in.count());
  for (Header& header : headers) {
    header.name = in.text();
    header.value = in.text();
    header.type = in.choice(HeaderType::structured);
  }
  return headers;
}

void put_owner(Encoder& out, const Owner& owner) {
  out.text(owner.instance);
  out.number(owner.execution);
  out.text(owner.parent);
  out.flag(owner.activity.has_value());
  if (!owner.activity) return;
  out.text(owner.activity->name);
  out.number(owner.activity->id);
}

Owner take_owner(Decoder& in) {
  Owner owner;
  owner.instance = in.text();
  owner.execution = in.number();
  owner.parent = in.text();
  if (in.flag()) {
    Activity activity;
    activity.name = in.text();
    activity.id = in.number();
    owner.activity = std::move(activity);
  }
  return owner;
}

void put_failure(Encoder& out, const Failure& failure) {
  out.text(failure.text.size() > head_text_limit ? std::string_view(failure.text)
                                                 : std::string_view{});
  out.text(failure.code);
  out.flag(failure.status.has_value());
  if (failure.status) out.integer(*failure.status);
  out.flag(failure.retry_after.has_value());
  if (failure.retry_after) out.integer(failure.retry_after->count());
  out.text(failure.stack);
  out.number(failure.causes.size());
  for (const Cause& cause : failure.causes) {
    out.text(cause.type);
    out.text(cause.text);
  }
}

void take_failure(Decoder& in, Failure& failure) {
  std::string text = in.text();
  if (!text.empty()) failure.text = std::move(text);
  failure.code = in.text();
  if (in.flag()) failure.status = static_cast<int>(in.integer());
  if (in.flag()) failure.retry_after = Millis{in.integer()};
  failure.stack = in.text();
  failure.causes.resize(in.count());
  for (Cause& cause : failure.causes) {
    cause.type = in.text();
    cause.text = in.text();
  }
}

void put_resolution(Encoder& out, const std::optional<Resolution>& resolution) {
  out.flag(resolution.has_value());
  if (!resolution) return;
  out.time(resolution->at);
  out.text(resolution->by);
  out.text(resolution->how);
  out.text(resolution->notes);
}

std::optional<Resolution> take_resolution(Decoder& in) {
  if (!in.flag()) return std::nullopt;
  Resolution resolution;
  resolution.at = in.time();
  resolution.by = in.text();
  resolution.how = in.text();
  resolution.notes = in.text();
  return resolution;
}

Decoder open(std::string_view bytes) {
  Decoder in(bytes);
  if (in.number() != format) {
    throw Failed{Error{Code::corrupt, "office.decode",
                       "a stored record has an unknown format; it was written by a newer program "
                       "or is damaged; nothing was changed"}};
  }
  return in;
}

}  // namespace

void Encoder::number(std::uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(static_cast<unsigned char>(value | 0x80U)));
    value >>= 7U;
  }
  out_.push_back(static_cast<char>(value));
}
void Encoder::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  number((bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}
void Encoder::text(std::string_view value) {
  number(value.size());
  out_.append(value);
}
void Encoder::id(const Id128& value) {
  for (const std::uint64_t half : {value.high, value.low}) {
    for (unsigned i = 0; i < 8; ++i) {
      out_.push_back(static_cast<char>(static_cast<unsigned char>(half >> (56U - 8U * i))));
    }
  }
}
void Encoder::maybe_time(const std::optional<TimePoint>& value) {
  flag(value.has_value());
  if (value) time(*value);
}

void Decoder::damaged() {
  throw Failed{Error{Code::corrupt, "office.decode",
                     "a stored record is damaged: its bytes end early or mean nothing; nothing was "
                     "changed; restore a backup, and have `dlo doctor` look how far it goes"}};
}
std::string_view Decoder::take(std::size_t size) {
  if (size > rest_.size()) damaged();
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}
std::uint64_t Decoder::number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
  damaged();
}
std::int64_t Decoder::integer() {
  const std::uint64_t value = number();
  const std::uint64_t sign = (value & 1U) != 0 ? ~std::uint64_t{0} : 0;
  return static_cast<std::int64_t>((value >> 1U) ^ sign);
}
std::string Decoder::text() {
  const std::uint64_t size = number();
  return std::string(take(size));
}
Id128 Decoder::id() {
  const std::string_view bytes = take(16);
  Id128 value;
  for (std::size_t i = 0; i < 8; ++i) {
    value.high = (value.high << 8U) | static_cast<unsigned char>(bytes[i]);
    value.low = (value.low << 8U) | static_cast<unsigned char>(bytes[8 + i]);
  }
  return value;
}
std::optional<TimePoint> Decoder::maybe_time() {
  if (!flag()) return std::nullopt;
  return time();
}
std::size_t Decoder::count() {
  const std::uint64_t value = number();
  if (value > rest_.size()) damaged();  // each thing takes a byte at least
  return value;
}

std::string encode_envelope(const Message& message) {
  std::string bytes;
  Encoder out(bytes);
  out.number(format);
  out.flag(message.position.has_value());
  if (message.position) {
    out.text(message.position->partition);
    out.integer(message.position->offset);
  }
  out.text(message.correlation_id);
  out.text(message.content_type);
  put_headers(out, message.headers);
  out.time(message.enqueued_at);
  out.maybe_time(message.expires_at);
  out.number(static_cast<std::uint64_t>(message.priority));
  out.flag(message.owner.has_value());
  if (message.owner) put_owner(out, *message.owner);
  return bytes;
}

void decode_envelope(std::string_view bytes, Message& message) {
  Decoder in = open(bytes);
  if (in.flag()) {
    Position position;
    position.partition = in.text();
    position.offset = in.integer();
    message.position = std::move(position);
  }
  message.correlation_id = in.text();
  message.content_type = in.text();
  message.headers = take_headers(in);
  message.enqueued_at = in.time();
  message.expires_at = in.maybe_time();
  message.priority = in.choice(Priority::high);
  if (in.flag()) message.owner = take_owner(in);
}

std::string encode_facts(const DeadLetter& record) {
  std::string bytes;
  Encoder out(bytes);
  out.number(format);
  for (const std::string* text :
       {&record.profile, &record.description, &record.rule, &record.fingerprint.title,
        &record.fingerprint.basis, &record.policy, &record.handler, &record.node, &record.build,
        &record.metadata}) {
    out.text(*text);
  }
  put_failure(out, record.failure);
  for (const auto* time : {&record.first_attempt_at, &record.first_failed_at,
                           &record.last_failed_at, &record.expires_at}) {
    out.maybe_time(*time);
  }
  out.number(record.depends_on.size());
  for (const RecordId& id : record.depends_on) out.id(id);
  out.number(record.tags.size());
  for (const std::string& tag : record.tags) out.text(tag);
  put_resolution(out, record.resolution);
  return bytes;
}

void decode_facts(std::string_view bytes, DeadLetter& record) {
  Decoder in = open(bytes);
  for (std::string* text : {&record.profile, &record.description, &record.rule,
                            &record.fingerprint.title, &record.fingerprint.basis, &record.policy,
                            &record.handler, &record.node, &record.build, &record.metadata}) {
    *text = in.text();
  }
  take_failure(in, record.failure);
  for (auto* time : {&record.first_attempt_at, &record.first_failed_at, &record.last_failed_at,
                     &record.expires_at}) {
    *time = in.maybe_time();
  }
  record.depends_on.resize(in.count());
  for (RecordId& id : record.depends_on) id = RecordId{in.id()};
  record.tags.resize(in.count());
  for (std::string& tag : record.tags) tag = in.text();
  record.resolution = take_resolution(in);
}

std::string encode_attempt(const Attempt& attempt) {
  std::string bytes;
  Encoder out(bytes);
  out.number(format);
  out.number(attempt.number);
  out.time(attempt.started_at);
  out.integer(attempt.took.count());
  out.number(static_cast<std::uint64_t>(attempt.outcome));
  for (const std::string* text : {&attempt.category, &attempt.rule, &attempt.error_type,
                                  &attempt.error_text, &attempt.node}) {
    out.text(*text);
  }
  out.integer(attempt.next_delay.count());
  return bytes;
}

Attempt decode_attempt(std::string_view bytes) {
  Decoder in = open(bytes);
  Attempt attempt;
  attempt.number = static_cast<std::uint32_t>(in.number());
  attempt.started_at = in.time();
  attempt.took = Millis{in.integer()};
  attempt.outcome = in.choice(OutcomeKind::never_started);
  for (std::string* text : {&attempt.category, &attempt.rule, &attempt.error_type,
                            &attempt.error_text, &attempt.node}) {
    *text = in.text();
  }
  attempt.next_delay = Millis{in.integer()};
  return attempt;
}

namespace {

void put_buckets(Encoder& out, const std::vector<TrendBucket>& buckets) {
  out.number(buckets.size());
  std::int64_t last = 0;
  for (const TrendBucket& bucket : buckets) {
    out.integer(bucket.start - last);  // neighbours are near: a byte mostly
    out.number(bucket.count);
    last = bucket.start;
  }
}

std::vector<TrendBucket> take_buckets(Decoder& in) {
  std::vector<TrendBucket> buckets(in.count());
  std::int64_t last = 0;
  for (TrendBucket& bucket : buckets) {
    bucket.start = last + in.integer();
    bucket.count = in.number();
    last = bucket.start;
  }
  return buckets;
}

}  // namespace

std::string encode_tags(const std::vector<std::string>& tags) {
  std::string bytes;
  if (tags.empty()) return bytes;
  Encoder out(bytes);
  out.number(format);
  out.number(tags.size());
  for (const std::string& tag : tags) out.text(tag);
  return bytes;
}

std::vector<std::string> decode_tags(std::string_view bytes) {
  if (bytes.empty()) return {};
  Decoder in = open(bytes);
  std::vector<std::string> tags(in.count());
  for (std::string& tag : tags) tag = in.text();
  return tags;
}

std::string encode_trend(const Trend& trend) {
  std::string bytes;
  if (trend.hours.empty() && trend.days.empty()) return bytes;
  Encoder out(bytes);
  out.number(format);
  put_buckets(out, trend.hours);
  put_buckets(out, trend.days);
  return bytes;
}

Trend decode_trend(std::string_view bytes) {
  Trend trend;
  if (bytes.empty()) return trend;
  Decoder in = open(bytes);
  trend.hours = take_buckets(in);
  trend.days = take_buckets(in);
  return trend;
}

std::string encode_headers(const Headers& headers) {
  std::string bytes;
  Encoder out(bytes);
  out.number(format);
  put_headers(out, headers);
  return bytes;
}

Headers decode_headers(std::string_view bytes) {
  Decoder in = open(bytes);
  return take_headers(in);
}

}  // namespace dlo::sql
