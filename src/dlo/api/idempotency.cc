#include "dlo/api/idempotency.h"

#include <random>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/core/sha256.h"
#include "dlo/json/fields.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr const char* kind = "idempotency";
constexpr std::size_t longest_key = 200;
constexpr std::size_t looked_at = 4;
constexpr Millis remembered = std::chrono::hours{24};

std::string hex_digest(std::string_view text) {
  const auto hash = sha256(text);
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const auto byte : hash) {
    out += digits[static_cast<unsigned>(byte) >> 4U];
    out += digits[static_cast<unsigned>(byte) & 15U];
  }
  return out;
}

}  // namespace

Result<std::optional<IdempotencyKey>> IdempotencyKey::of(const Request& request) {
  if (!request.http.has_header("Idempotency-Key")) return std::optional<IdempotencyKey>();
  const std::string_view text = request.http.header("Idempotency-Key");
  if (text.empty() || text.size() > longest_key) {
    return Error{Code::invalid_argument, "api.idempotency",
                 "An Idempotency-Key has 1 to 200 bytes: a UUID made for this request, and sent "
                 "again with every repeat of it."};
  }
  IdempotencyKey key;
  const std::string path = request.http.target.substr(0, request.http.target.find('?'));
  key.name_ = hex_digest(request.actor.name + "\n" + request.http.method + " " + path + "\n" +
                         std::string(text));
  key.digest_ = hex_digest(request.http.target + "\n" + request.http.body);
  key.now_ = request.now;
  return std::optional<IdempotencyKey>(std::move(key));
}

Result<std::optional<HttpResponse>> IdempotencyKey::find(Office& office) const {
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) return std::optional<HttpResponse>();
  const auto document = ledger->document(kind, name_);
  if (!document) return document.error();
  if (!*document) return std::optional<HttpResponse>();
  const auto value = parse_json((*document)->body);
  if (!value) return value.error();
  JsonComplaints complaints;
  JsonFields fields(*value, "", complaints);
  (void)fields.time("at");
  HttpResponse answer;
  const std::string digest = fields.text("digest");
  answer.status = static_cast<int>(fields.number("status"));
  answer.content_type = fields.text("content_type");
  answer.body = fields.bytes("body").value_or("");
  if (digest != digest_) {
    return Error{Code::conflict, "api.idempotency",
                 "This Idempotency-Key was used for another request. Nothing was done; a new "
                 "request needs a new key."};
  }
  answer.headers.push_back({"Idempotency-Replayed", "true"});
  return std::optional<HttpResponse>(std::move(answer));
}

PutDocument IdempotencyKey::keep(const HttpResponse& answer) const {
  JsonWriter json;
  json.begin_object()
      .member("at", now_)
      .member("digest", digest_)
      .member("status", static_cast<std::uint64_t>(answer.status))
      .member("content_type", answer.content_type)
      .bytes("body", answer.body)
      .end_object();
  return {kind, name_, json.take(), 0};
}

Id128 IdempotencyKey::identity(std::size_t part) const {
  const std::string digest = hex_digest(name_ + "\n" + std::to_string(part));
  return parse_id(digest.substr(0, 32)).value_or(Id128{});
}

void IdempotencyKey::forget_old(Office& office, TimePoint now) {
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) return;
  thread_local std::mt19937_64 dice(std::random_device{}());
  const std::string from = to_string(Id128{dice(), 0}).substr(0, 16);  // names are hex digests
  const auto some = ledger->documents(kind, from, looked_at);
  if (!some) return;
  std::vector<Change> removals;
  for (const Document& document : *some) {
    const auto value = parse_json(document.body);
    if (!value) continue;
    const JsonValue* at = value->find("at");
    const auto when = at == nullptr ? std::nullopt : parse_iso8601(at->text());
    if (!when || *when + remembered > now) continue;
    removals.emplace_back(PutDocument{kind, document.key, std::nullopt, document.version});
  }
  if (!removals.empty()) (void)office.apply(removals);  // whoever comes next tries again
}

}  // namespace dlo::api
