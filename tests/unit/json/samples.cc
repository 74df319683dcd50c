#include "unit/json/samples.h"

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "support/must.h"

namespace dlo::testing {

namespace {

std::string any_text() {
  return *rc::gen::weightedOneOf<std::string>(
      {{3, rc::gen::arbitrary<std::string>()},
       {2, rc::gen::container<std::string>(rc::gen::arbitrary<char>())},
       {1,
        rc::gen::element<std::string>("", std::string("\0", 1), "\xC3", "\"\\/\b\f\n\r\t\x7F",
                                      "\xF0\x9F\x98\x80", "null", "{\"a\":1.0}", "\xED\xA0\x80")}});
}

template <typename Number>
Number any_number() {
  return *rc::gen::weightedOneOf<Number>(
      {{3, rc::gen::arbitrary<Number>()},
       {1, rc::gen::element<Number>(0, 1, std::numeric_limits<Number>::max(),
                                    std::numeric_limits<Number>::min())}});
}

bool any_bool() {
  return *rc::gen::arbitrary<bool>();
}

TimePoint any_time() {
  return TimePoint{Millis{any_number<std::int64_t>()}};
}

template <typename Value, typename Make>
std::optional<Value> maybe(const Make& make) {
  return any_bool() ? std::optional<Value>(make()) : std::nullopt;
}

template <typename Value, typename Make>
std::vector<Value> some(const Make& make) {
  std::vector<Value> out;
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) out.push_back(make());
  return out;
}

template <typename Enum>
Enum any_of(int count) {
  return static_cast<Enum>(*rc::gen::inRange(0, count));
}

Id128 any_id() {
  return {any_number<std::uint64_t>(), any_number<std::uint64_t>()};
}

Header any_header() {
  return {any_text(), any_text(), any_of<HeaderType>(8)};
}

Counters any_counters() {
  const auto n = [] { return any_number<std::uint32_t>(); };
  return {n(), n(), n(), n(), n(), n(), n()};
}

Owner any_owner() {
  return {any_text(), any_number<std::uint64_t>(),
          maybe<Activity>([] { return Activity{any_text(), any_number<std::uint64_t>()}; }),
          any_text()};
}

Message any_message() {
  Message out;
  out.id = any_text();
  out.source = any_text();
  out.position = maybe<Position>([] { return Position{any_text(), any_number<std::int64_t>()}; });
  out.event_type = any_text();
  out.key = any_text();
  out.correlation_id = any_text();
  out.content_type = any_text();
  out.headers = some<Header>(any_header);
  out.payload = maybe<std::string>(any_text);
  out.enqueued_at = any_time();
  out.expires_at = maybe<TimePoint>(any_time);
  out.priority = any_of<Priority>(3);
  out.owner = maybe<Owner>(any_owner);
  return out;
}

Failure any_failure() {
  Failure out;
  out.type = any_text();
  out.text = any_text();
  out.code = any_text();
  out.status = maybe<int>(any_number<int>);
  out.causes = some<Cause>([] { return Cause{any_text(), any_text()}; });
  out.stack = any_text();
  out.retry_after = maybe<Millis>([] { return Millis{any_number<std::int64_t>()}; });
  return out;
}

Attempt any_attempt() {
  return {any_number<std::uint32_t>(),
          any_time(),
          Millis{any_number<std::int64_t>()},
          any_of<OutcomeKind>(4),
          any_text(),
          any_text(),
          any_text(),
          any_text(),
          Millis{any_number<std::int64_t>()},
          any_text()};
}

Version any_version() {
  return {any_number<std::uint32_t>(),
          some<Header>(any_header),
          maybe<std::string>(any_text),
          any_time(),
          any_text(),
          any_text()};
}

DeadLetter any_record() {
  DeadLetter out;
  out.id = RecordId{any_id()};
  out.occurrence = any_number<std::uint32_t>();
  out.message = std::make_shared<Message>(any_message());
  out.profile = any_text();
  out.status = any_of<Status>(static_cast<int>(status_count));
  out.reason = any_text();
  out.description = any_text();
  out.category = any_text();
  out.rule = any_text();
  out.failure = any_failure();
  out.fingerprint = {any_id(), any_text(), any_text()};
  out.counters = any_counters();
  out.limit = any_number<std::uint32_t>();
  out.policy = any_text();
  out.first_attempt_at = maybe<TimePoint>(any_time);
  out.first_failed_at = maybe<TimePoint>(any_time);
  out.last_failed_at = maybe<TimePoint>(any_time);
  out.died_at = any_time();
  out.next_retry_at = maybe<TimePoint>(any_time);
  out.expires_at = maybe<TimePoint>(any_time);
  out.handler = any_text();
  out.node = any_text();
  out.build = any_text();
  out.metadata = any_text();
  out.depends_on = some<RecordId>([] { return RecordId{any_id()}; });
  out.tags = some<std::string>(any_text);
  out.resolution =
      maybe<Resolution>([] { return Resolution{any_time(), any_text(), any_text(), any_text()}; });
  out.source_unsettled = any_bool();
  out.died = any_bool();
  out.version = any_number<std::uint64_t>();
  out.change = any_number<std::uint64_t>();
  out.number = any_number<std::int64_t>();
  return out;
}

std::string same_record(const DeadLetter& a, const DeadLetter& b) {
#define DLO_SAME(field) \
  if (!(a.field == b.field)) return #field
  DLO_SAME(id);
  DLO_SAME(occurrence);
  if (!(*a.message == *b.message)) return "message";
  DLO_SAME(profile);
  DLO_SAME(status);
  DLO_SAME(reason);
  DLO_SAME(description);
  DLO_SAME(category);
  DLO_SAME(rule);
  DLO_SAME(failure);
  DLO_SAME(fingerprint.hash);
  DLO_SAME(fingerprint.title);
  DLO_SAME(fingerprint.basis);
  DLO_SAME(counters);
  DLO_SAME(limit);
  DLO_SAME(policy);
  DLO_SAME(first_attempt_at);
  DLO_SAME(first_failed_at);
  DLO_SAME(last_failed_at);
  DLO_SAME(died_at);
  DLO_SAME(next_retry_at);
  DLO_SAME(expires_at);
  DLO_SAME(handler);
  DLO_SAME(node);
  DLO_SAME(build);
  DLO_SAME(metadata);
  DLO_SAME(depends_on);
  DLO_SAME(tags);
  DLO_SAME(resolution);
  DLO_SAME(source_unsettled);
  DLO_SAME(died);
  DLO_SAME(version);
  DLO_SAME(change);
  DLO_SAME(number);
#undef DLO_SAME
  return {};
}

}  // namespace

RecordDetail sample_detail() {
  Message message;
  message.id = "m-1";
  message.source = "orders";
  message.position = Position{"0", 42};
  message.event_type = "OrderPlaced";
  message.key = "k";
  message.correlation_id = "c";
  message.content_type = "text/plain";
  message.headers = {{"h", "v", HeaderType::text}, {"h", "\xFF", HeaderType::bytes}};
  message.payload = "hello \"world\"\n";
  message.enqueued_at = noon;
  message.priority = Priority::high;
  message.owner = Owner{"i", 2, Activity{"Charge", 3}, "p"};

  RecordDetail out;
  DeadLetter& record = out.record;
  record.id = RecordId{{1, 2}};
  record.occurrence = 2;
  record.message = std::make_shared<Message>(message);
  record.profile = "standard";
  record.status = Status::exhausted;
  record.reason = "MaxDeliveryCountExceeded";
  record.description = "gave up";
  record.category = "network";
  record.rule = "net";
  record.failure = {"IOException",       "no route", "ENETUNREACH", 503,
                    {{"Inner", "deep"}}, "at f()",   Millis{1'500}};
  record.fingerprint = {{7, 8}, "IOException in f", "frames"};
  record.counters = {3, 3, 3, 0, 2, 1, 6};
  record.limit = 3;
  record.policy = "fixed base=1s";
  record.first_attempt_at = noon;
  record.last_failed_at = noon + Millis{1'001};
  record.died_at = noon + Millis{2'000};
  record.handler = "http";
  record.node = "n1";
  record.build = "b1";
  record.metadata = R"({"amount":1.10,"big":12345678901234567890})";
  record.depends_on = {RecordId{{0, 9}}};
  record.tags = {"red", "blue"};
  record.resolution = Resolution{noon + Millis{3'000}, "ann", "manual", "done"};
  record.source_unsettled = true;
  record.died = true;
  record.version = 4;
  record.change = 5;
  record.number = 6;
  out.attempts = {{6, noon, Millis{7}, OutcomeKind::crashed, "network", "net", "IOException",
                   "no route", Millis{0}, "n1"}};
  out.versions = {{0, {}, std::nullopt, noon, "ann", "typo"}};
  return out;
}

rc::Gen<RecordDetail> random_detail() {
  return rc::gen::exec([] {
    RecordDetail out;
    out.record = any_record();
    out.attempts = some<Attempt>(any_attempt);
    out.versions = some<Version>(any_version);
    return out;
  });
}

std::string same(const RecordDetail& a, const RecordDetail& b) {
  if (std::string field = same_record(a.record, b.record); !field.empty()) return field;
  if (a.attempts != b.attempts) return "attempts";
  if (a.versions.size() != b.versions.size()) return "versions";
  for (std::size_t i = 0; i < a.versions.size(); ++i) {
    const Version& x = a.versions[i];
    const Version& y = b.versions[i];
    if (x.number != y.number || x.headers != y.headers || x.payload != y.payload || x.at != y.at ||
        x.by != y.by || x.why != y.why) {
      return "version " + std::to_string(i);
    }
  }
  return {};
}

}  // namespace dlo::testing
