#include <fstream>
#include <string>
#include <utility>

#include "dlo/cli/client.h"
#include "dlo/core/spelling.h"
#include "dlo/engine/handlers/http_channel.h"

namespace dlo::cli {
namespace {

constexpr std::size_t largest_answer = std::size_t{1} << 30U;

/// The API of a server, over HTTP.
class RemoteClient final : public Client {
 public:
  RemoteClient(std::string url, std::string token, const HttpTransport& transport)
      : url_(std::move(url)), token_(std::move(token)), channel_(transport) {}

  Result<HttpResponse> ask(const Ask& ask) override {
    HttpHeaders headers;
    if (!ask.body.empty()) headers.emplace_back("Content-Type", ask.type);
    if (!token_.empty()) headers.emplace_back("Authorization", "Bearer " + token_);
    for (const HttpHeader& each : ask.headers) headers.emplace_back(each.name, each.value);
    const std::string url = url_ + ask.target;
    auto result = channel_.call({url, headers, ask.body, ask.patience, {}, ask.method});
    if (!result.answered) return trouble(result.trouble);
    HttpResponse answer;
    answer.status = result.answer.status;
    answer.content_type = std::move(result.answer.content_type);
    answer.body = std::move(result.answer.body);
    return answer;
  }

  [[nodiscard]] std::string name() const override { return "the server at " + url_; }
  [[nodiscard]] bool is_server() const noexcept override { return true; }

 private:
  [[nodiscard]] Error trouble(const HttpTrouble& what) const {
    std::string text = "No answer from " + name() + ": the request " + what.text + ". ";
    text += what.sent ? "It may have been carried out; look before you repeat it."
                      : "Nothing was done. Is it running? Start it with `dlo serve`, or name "
                        "another with --server URL or DLO_SERVER.";
    return {what.sent ? Code::timed_out : Code::unavailable, "cli.ask", text};
  }

  const std::string url_;
  const std::string token_;
  HttpChannel channel_;
};

Result<std::string> token_of(const Context& context) {
  if (!context.token.empty() || context.token_file.empty()) return context.token;
  std::ifstream file(context.token_file);
  std::string token;
  if (std::getline(file, token) && !token.empty()) return token;
  return Error{Code::invalid_argument, "cli.token",
               "There is no token in " + in_quotes(context.token_file) +
                   ": its first line should be one, and readable by you alone."};
}

}  // namespace

Result<std::unique_ptr<Client>> connect_to_server(const Context& context, const std::string& url) {
  std::string base = url.find("://") == std::string::npos ? "http://" + url : url;
  while (base.ends_with('/')) base.pop_back();
  if (const std::string what = trouble_with_url(base); !what.empty()) {
    return Error{Code::invalid_argument, "cli.server",
                 "The address of the server, " + in_quotes(url) + ", " + what +
                     ". For example: --server http://127.0.0.1:8080"};
  }
  auto token = token_of(context);
  if (!token) return token.error();
  HttpTransport transport;
  transport.response_limit = largest_answer;
  transport.ca_file = context.ca_file;
  return std::unique_ptr<Client>(
      std::make_unique<RemoteClient>(std::move(base), std::move(*token), transport));
}

}  // namespace dlo::cli
