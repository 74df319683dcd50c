#include "conformance/office/office_suite.h"

#include <algorithm>
#include <limits>

namespace dlo::testing {

void PrintTo(const OfficeBackend& backend, std::ostream* out) {
  *out << backend.name;
}

std::string backend_name(const ::testing::TestParamInfo<OfficeBackend>& info) {
  return info.param.name;
}

Ledger& OfficeSuite::ledger() {
  Ledger* ledger = office().extras().ledger;
  if (ledger == nullptr) throw std::runtime_error("this office has no ledger");
  return *ledger;
}

PoisonBook& OfficeSuite::poison() {
  PoisonBook* book = office().extras().poison;
  if (book == nullptr) throw std::runtime_error("this office has no poison book");
  return *book;
}

Result<std::vector<Applied>> OfficeSuite::try_apply(const std::vector<Change>& changes) {
  return office().apply(changes);
}

std::vector<Applied> OfficeSuite::apply(const std::vector<Change>& changes) {
  auto answer = must(try_apply(changes));
  if (answer.size() != changes.size()) throw std::runtime_error("not one answer per change");
  return answer;
}

Applied OfficeSuite::apply_one(Change change) {
  return apply({std::move(change)}).front();
}

Code OfficeSuite::refusal_of(const std::vector<Change>& changes) {
  const auto answer = try_apply(changes);
  if (answer) throw std::runtime_error("the changes were not refused");
  EXPECT_FALSE(answer.error().where.empty());
  EXPECT_FALSE(answer.error().detail.empty());
  return answer.error().code;
}

Applied OfficeSuite::append(const DeadLetter& record, std::vector<Attempt> attempts) {
  return apply_one(append_of(record, std::move(attempts)));
}

std::optional<LeaseToken> OfficeSuite::bring_to(const DeadLetter& record, Status status) {
  DeadLetter first = record;
  first.status = carries_lease(status) ? Status::pending : status;
  append(first);
  if (!carries_lease(status)) return std::nullopt;
  Transition take;
  take.id = record.id;
  take.to = status;
  take.now = noon;
  take.lease_for = Millis{30'000};
  return apply_one(take).lease;
}

RecordDetail OfficeSuite::detail(const RecordId& id) {
  return must(office().get(id));
}

bool OfficeSuite::is_there(const RecordId& id) {
  const auto found = office().get(id);
  if (!found) {
    EXPECT_EQ(found.error().code, Code::not_found);
  }
  return found.has_value();
}

std::vector<Claim> OfficeSuite::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                      const ClaimFrom& from) {
  return must(office().claim(limit, now, lease_for, from));
}

std::optional<TimePoint> OfficeSuite::next_due(const ClaimFrom& from) {
  AggregateRequest request;
  request.tallies = false;
  request.due = from;
  return must(office().aggregate(request)).next_due;
}

bool OfficeSuite::is_refused_here(const Query& query) {
  bool words = !query.payload_words.empty();
  for (const FieldTest& test : query.tests) words = words || test.field == Field::payload;
  if (GetParam().searches_payloads || !words) return false;
  const auto page = office().list(query);
  EXPECT_FALSE(page) << "encrypted payloads are searched";
  if (!page) {
    EXPECT_EQ(page.error().code, Code::invalid_argument);
  }
  return true;
}

std::vector<RecordHead> OfficeSuite::walk(Query query) {
  std::vector<RecordHead> rows;
  for (int pages = 0; pages < 10'000; ++pages) {
    Page page = must(office().list(query));
    EXPECT_LE(page.rows.size(), query.limit);
    EXPECT_TRUE(page.next || !page.partial) << "a partial page says where to go on";
    std::move(page.rows.begin(), page.rows.end(), std::back_inserter(rows));
    if (!page.next) return rows;
    query.after = page.next;
  }
  throw std::runtime_error("the listing never ends");
}

std::vector<RecordId> OfficeSuite::ids(const Query& query) {
  std::vector<RecordId> found;
  for (const RecordHead& row : walk(query)) found.push_back(row.id);
  return found;
}

std::uint64_t OfficeSuite::tally(const std::string& source, Status status,
                                 const std::string& category) {
  for (const Tally& tally : must(office().aggregate({})).tallies) {
    if (tally.source == source && tally.status == status && tally.category == category) {
      EXPECT_GT(tally.count, 0U) << "zero counts are left out";
      return tally.count;
    }
  }
  return 0;
}

std::optional<GroupSummary> OfficeSuite::group(const Id128& fingerprint) {
  AggregateRequest request;
  request.tallies = false;
  request.only_group = fingerprint;
  auto groups = must(office().aggregate(request)).groups;
  if (groups.empty()) return std::nullopt;
  EXPECT_EQ(groups.size(), 1U);
  return groups.front();
}

std::uint64_t OfficeSuite::last_change() {
  return must(office().aggregate({})).last_change;
}

RecordId id_of(std::uint64_t n) {
  RecordId id;
  id.high = n * 0x9E37'79B9'7F4A'7C15ULL;
  id.low = n;
  return id;
}

Id128 group_of(std::uint64_t n) {
  return {0x6772'6f75'7000'0000ULL, n};
}

MessagePtr share(Message message) {
  return std::make_shared<const Message>(std::move(message));
}

Message message_of(const DeadLetter& letter) {
  return *letter.message;
}

DeadLetter a_letter(std::uint64_t n) {
  Message message;
  message.id = "m-" + std::to_string(n);
  message.source = "orders";
  message.event_type = "OrderPlaced";
  message.key = "customer-7";
  message.payload = "{\"order\":" + std::to_string(n) + "}";
  message.enqueued_at = noon - Millis{5'000};
  DeadLetter letter;
  letter.id = id_of(n);
  letter.message = share(std::move(message));
  letter.profile = "standard";
  letter.reason = "MaxDeliveryCountExceeded";
  letter.category = "network";
  letter.failure.type = "SocketError";
  letter.failure.text = "connection refused";
  letter.fingerprint = {group_of(1), "SocketError in connect", "text"};
  letter.counters.attempt = 3;
  letter.counters.total = 3;
  letter.limit = 3;
  letter.died_at = noon;
  return letter;
}

DeadLetter a_waiting(std::uint64_t n, TimePoint due) {
  DeadLetter letter = a_letter(n);
  letter.status = Status::waiting;
  letter.next_retry_at = due;
  return letter;
}

Attempt an_attempt(std::uint32_t number) {
  Attempt attempt;
  attempt.number = number;
  attempt.started_at = noon + Millis{number};
  attempt.took = Millis{17};
  attempt.category = "network";
  attempt.rule = "refused";
  attempt.error_type = "SocketError";
  attempt.error_text = "attempt " + std::to_string(number) + " was refused";
  attempt.next_delay = Millis{1'000};
  attempt.node = "node-a";
  return attempt;
}

namespace {

/// NUL, broken UTF-8, an emoji, line ends, quotes: whatever a text column may trip over.
const std::string& awkward() {
  static constexpr std::string_view bytes{"a\0b\xFF\xC3\x28 \xF0\x9F\x93\xAE\r\n'\";--", 18};
  static const std::string text(bytes);
  return text;
}

Message full_message(std::uint64_t n) {
  Message message;
  message.id = "id " + awkward() + std::to_string(n);
  message.source = "source " + awkward();
  message.position = Position{"partition " + awkward(), std::numeric_limits<std::int64_t>::min()};
  message.event_type = "type " + awkward();
  message.key = "key " + awkward();
  message.correlation_id = "correlation " + awkward();
  message.content_type = "content " + awkward();
  message.headers = {{"twice", "1", HeaderType::text},
                     {"", "", HeaderType::text},
                     {"bytes", awkward(), HeaderType::bytes},
                     {"boolean", "true", HeaderType::boolean},
                     {"integer", "-9223372036854775808", HeaderType::integer},
                     {"real", "0.1", HeaderType::real},
                     {"timestamp", "1772366400000", HeaderType::timestamp},
                     {"null", "", HeaderType::null},
                     {"structured", awkward(), HeaderType::structured},
                     {"twice", "2", HeaderType::text},
                     {awkward(), awkward(), HeaderType::text}};
  message.payload = awkward() + std::string(3, '\0');
  message.enqueued_at = noon - Millis{123'456'789};
  message.expires_at = noon + Millis{987'654'321};
  message.priority = Priority::high;
  message.owner =
      Owner{"instance " + awkward(), std::numeric_limits<std::uint64_t>::max(),
            Activity{"activity " + awkward(), std::numeric_limits<std::uint64_t>::max()},
            "parent " + awkward()};
  return message;
}

}  // namespace

DeadLetter a_full_letter(std::uint64_t n) {
  DeadLetter letter;
  letter.id = id_of(n);
  letter.occurrence = 3;
  letter.message = share(full_message(n));
  letter.profile = "profile " + awkward();
  letter.status = Status::exhausted;
  letter.reason = "reason " + awkward();
  letter.description = "description " + awkward();
  letter.category = "category " + awkward();
  letter.rule = "rule " + awkward();
  letter.failure = {"type " + awkward(),
                    "text " + awkward(),
                    "code " + awkward(),
                    -7,
                    {{"outer", awkward()}, {"", ""}, {awkward(), "root"}},
                    "stack\n" + awkward(),
                    Millis{1'500}};
  letter.fingerprint = {group_of(n), "title " + awkward(), "basis " + awkward()};
  letter.counters = {1, 2, 3, 4, 5, 6, std::numeric_limits<std::uint32_t>::max()};
  letter.limit = std::numeric_limits<std::uint32_t>::max();
  letter.policy = "exponential base=1s factor=2 " + awkward();
  letter.first_attempt_at = noon - Millis{3'001};
  letter.first_failed_at = noon - Millis{2'002};
  letter.last_failed_at = TimePoint{Millis{-1}};
  letter.died_at = noon + Millis{1};
  letter.next_retry_at = noon + Millis{4'004};
  letter.expires_at = noon + Millis{5'005};
  letter.handler = "handler " + awkward();
  letter.node = "node " + awkward();
  letter.build = "build " + awkward();
  letter.metadata = "{\"n\": 1.10, \"deep\": {\"list\": [1, null]}} " + awkward();
  letter.depends_on = {id_of(1'000'001), id_of(1'000'002)};
  letter.tags = {"b", "", "a", "b", awkward()};
  letter.resolution = Resolution{noon + Millis{6}, "by " + awkward(), "how", "notes " + awkward()};
  letter.source_unsettled = true;
  return letter;
}

Change append_of(const DeadLetter& record, std::vector<Attempt> attempts) {
  return Append{std::make_shared<const DeadLetter>(record), std::move(attempts)};
}

Transition to(Status status, std::uint64_t n, TimePoint now) {
  Transition transition;
  transition.id = id_of(n);
  transition.to = status;
  transition.now = now;
  return transition;
}

}  // namespace dlo::testing
