#include "dlo/cli/client.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "dlo/cli/open_office.h"
#include "dlo/cli/server_note.h"
#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"
#include "dlo/journal/file_system.h"

namespace dlo::cli {
namespace {

constexpr const char* usual_server = "http://127.0.0.1:8080";

std::string encoded(std::string_view text) {
  constexpr std::string_view plain = "-._~";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return out;
}

Code code_of(int status) noexcept {
  switch (status) {
    case 400:
    case 405:
    case 413:
    case 415:
      return Code::invalid_argument;
    case 401:
    case 403:
      return Code::refused;
    case 404:
      return Code::not_found;
    case 409:
    case 412:
      return Code::conflict;
    case 429:
    case 503:
      return Code::unavailable;
    case 408:
    case 504:
      return Code::timed_out;
    case 507:
      return Code::full;
    default:
      return Code::unavailable;
  }
}

/// What this side can add to what the server said.
std::string advice(const Client& client, int status, const std::string& code) {
  if (status == 401) {
    return " Give yours with --token-file FILE or DLO_TOKEN. An admin makes one with `dlo token "
           "create`; so does the owner of the data directory, while no server runs.";
  }
  if (code == "role_too_low") {
    return " An admin makes such a token: dlo token create NAME --role ROLE.";
  }
  if (code == "no_such_route" || code == "unknown_parameter" || code == "method_not_allowed") {
    return " So " + client.name() +
           " runs another version than this program; `dlo doctor` says which.";
  }
  return {};
}

}  // namespace

Error error_of(const Client& client, const HttpResponse& answer) {
  const auto parsed = parse_json(answer.body);
  const std::string detail = parsed ? text_of(*parsed, "detail") : "";
  if (detail.empty()) {
    return {Code::unavailable, "cli.ask",
            "Something that is not dlo answers for " + client.name() + " (status " +
                std::to_string(answer.status) + "). Check the address."};
  }
  const std::string code = text_of(*parsed, "code");
  const bool strange = code == "no_such_route" || code == "unknown_parameter";
  return {strange ? Code::unavailable : code_of(answer.status), "cli.ask",
          detail + advice(client, answer.status, code)};
}

Result<std::unique_ptr<Client>> connect(const Context& context, Need need) {
  if (!context.server.empty()) return connect_to_server(context, context.server);
  std::error_code ignored;
  const bool there = std::filesystem::is_directory(context.data, ignored);
  if (there) {
    const auto note = read_server_note(context.data);
    const auto owner = owner_of_directory(context.data + "/queues");
    if (note && owner && *owner == note->pid) return connect_to_server(context, note->url);
  }
  const auto settings = office_settings(context);
  if (!settings) return settings.error();
  const bool in_database = !settings->address.empty();
  if (there || in_database || context.data != Context::usual_data || need == Need::make) {
    return connect_to_directory(context, need);
  }
  auto server = connect_to_server(context, usual_server);
  if (!server) return server;
  if (auto alive = (*server)->ask({"GET", "/healthz"}); !alive) {
    return Error{Code::unavailable, "cli.connect",
                 "There is no office in './" + context.data + "' and no server at " + usual_server +
                     ". Name one with --server URL (or DLO_SERVER) or --data DIR, or start one: "
                     "dlo serve --data " +
                     context.data};
  }
  return server;
}

Result<HttpResponse> ask_for_bytes(Client& client, const Ask& ask) {
  auto answer = client.ask(ask);
  if (answer && answer->status >= 300) return error_of(client, *answer);
  return answer;
}

Result<Reply> ask_for(Client& client, const Ask& ask) {
  auto answer = ask_for_bytes(client, ask);
  if (!answer) return answer.error();
  Reply reply;
  reply.text = std::make_shared<const std::string>(std::move(answer->body));
  answer->body.clear();
  reply.http = std::move(*answer);
  auto value = parse_json(*reply.text);
  if (!value) {
    return Error{Code::unavailable, "cli.ask",
                 client.name() + " answered what is not JSON: " + value.error().detail +
                     ". Check the address."};
  }
  reply.value = std::move(*value);
  return reply;
}

Address& Address::step(std::string_view name) {
  text_ += "/" + encoded(name);
  return *this;
}

Address& Address::with(std::string_view name, std::string_view value) {
  text_ += (has_query_ ? "&" : "?") + std::string(name) + "=" + encoded(value);
  has_query_ = true;
  return *this;
}

const JsonValue& member(const JsonValue& value, std::string_view name) noexcept {
  static const JsonValue nothing;
  const JsonValue* found = value.find(name);
  return found == nullptr ? nothing : *found;
}

std::string text_of(const JsonValue& value, std::string_view name) {
  const JsonValue& found = member(value, name);
  if (found.kind == JsonKind::string) return found.text();
  return found.kind == JsonKind::null ? std::string() : std::string(found.raw);
}

std::uint64_t number_of(const JsonValue& value, std::string_view name) noexcept {
  return member(value, name).to_uint64().value_or(0);
}

bool is_true(const JsonValue& value, std::string_view name) noexcept {
  return member(value, name).raw == "true";
}

std::optional<TimePoint> time_of(const JsonValue& value, std::string_view name) {
  return parse_iso8601(text_of(value, name));
}

std::optional<std::string> bytes_of(const JsonValue& value, std::string_view name) {
  const JsonValue& found = member(value, name);
  if (found.kind != JsonKind::string) return std::nullopt;
  const std::string text = found.text();
  if (text_of(value, std::string(name) + "_encoding") != "base64") return text;
  return from_base64(text).value_or(text);
}

}  // namespace dlo::cli
