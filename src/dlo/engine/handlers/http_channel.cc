#include "dlo/engine/handlers/http_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <curl/curl.h>
#include <new>
#include <optional>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/engine/handlers/failures.h"
#include "dlo/engine/handlers/sigpipe_shield.h"

namespace dlo {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_idle_channels = 64;
/// A body that we do not want is read to its end up to here, so that the connection survives.
constexpr std::size_t discard_limit = 1024 * 1024;
constexpr std::size_t header_limit = 4 * 1024;

struct FreeList {
  void operator()(curl_slist* list) const noexcept { ::curl_slist_free_all(list); }
};
struct FreeUrl {
  void operator()(CURLU* url) const noexcept { ::curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

void initialise_curl() {
  static const bool done = ::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!done) throw std::bad_alloc();
}

/// Collects an answer while curl reads it.
struct Reader {
  HttpAnswer answer;
  std::size_t body_size = 0;
  std::size_t limit = 0;
  bool cut_off = false;  // we ended it, not the other side

  void header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // a 100 Continue came before: what counts begins here
      answer = {};
      return;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || line.size() > header_limit) return;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && static_cast<unsigned char>(value.back()) <= ' ')
      value.remove_suffix(1);
    const std::string name = ascii_lower(line.substr(0, colon));
    if (name == "content-type") answer.content_type = value;
    if (name == "retry-after") answer.retry_after = value;
  }

  bool body(std::string_view bytes) {
    body_size += bytes.size();
    const std::size_t room = limit - std::min(limit, answer.body.size());
    answer.body += bytes.substr(0, room);
    answer.body_was_cut = answer.body_was_cut || bytes.size() > room;
    cut_off = body_size > std::max(limit, discard_limit);
    return !cut_off;
  }
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* reader) {
  static_cast<Reader*>(reader)->header({data, size * count});
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* reader) {
  return static_cast<Reader*>(reader)->body({data, size * count}) ? size * count : 0;
}

std::string_view code_of_connect_error(long error) {
  switch (error) {
    case ECONNREFUSED:
      return failure_code::connection_refused;
    case ETIMEDOUT:
      return failure_code::timed_out;
    case ECONNRESET:
      return failure_code::connection_reset;
    default:
      return failure_code::connection_failed;
  }
}

std::string_view code_of(CURLcode code, long os_error) {
  using Row = std::pair<CURLcode, std::string_view>;
  static constexpr std::array rows{
      Row{CURLE_COULDNT_RESOLVE_HOST, failure_code::dns},
      Row{CURLE_COULDNT_RESOLVE_PROXY, failure_code::dns},
      Row{CURLE_OPERATION_TIMEDOUT, failure_code::timed_out},
      Row{CURLE_SEND_ERROR, failure_code::connection_reset},
      Row{CURLE_RECV_ERROR, failure_code::connection_reset},
      Row{CURLE_GOT_NOTHING, failure_code::connection_reset},
      Row{CURLE_PARTIAL_FILE, failure_code::connection_reset},
      Row{CURLE_SSL_CONNECT_ERROR, failure_code::tls},
      Row{CURLE_PEER_FAILED_VERIFICATION, failure_code::tls},
      Row{CURLE_SSL_CERTPROBLEM, failure_code::tls},
      Row{CURLE_SSL_CACERT_BADFILE, failure_code::tls},
      Row{CURLE_SSL_ISSUER_ERROR, failure_code::tls},
      Row{CURLE_SSL_INVALIDCERTSTATUS, failure_code::tls},
      Row{CURLE_SSL_CIPHER, failure_code::tls},
      Row{CURLE_WEIRD_SERVER_REPLY, failure_code::protocol},
      Row{CURLE_UNSUPPORTED_PROTOCOL, failure_code::protocol},
      Row{CURLE_BAD_CONTENT_ENCODING, failure_code::protocol},
      Row{CURLE_HTTP2, failure_code::protocol},
      Row{CURLE_HTTP2_STREAM, failure_code::protocol},
  };
  if (code == CURLE_COULDNT_CONNECT) return code_of_connect_error(os_error);
  const auto* found =
      std::find_if(rows.begin(), rows.end(), [code](const Row& row) { return row.first == code; });
  return found == rows.end() ? failure_code::transport : found->second;
}

std::string part_of(const Url& url, CURLUPart part, unsigned int flags) {
  char* text = nullptr;
  if (::curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  std::string out(text);
  ::curl_free(text);
  return out;
}

Url parse_url(const std::string& text) {
  Url url(::curl_url());
  if (url && ::curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

}  // namespace

struct HttpChannel::Handles {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  std::size_t response_limit = 0;
  std::array<char, CURL_ERROR_SIZE> error{};
  bool may_repeat = false;       // this request may be sent twice
  bool asked_to_repeat = false;  // it was sent, got no answer, and curl wanted to send it again

  Handles() = default;
  ~Handles() {
    const SigpipeShield shield;  // ending a TLS connection writes to it
    ::curl_easy_cleanup(easy);
    ::curl_multi_cleanup(multi);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  template <typename Value>
  void set(CURLoption option, Value value) {
    ::curl_easy_setopt(easy, option, value);
  }
  [[nodiscard]] long number(CURLINFO info) const {
    long value = 0;
    ::curl_easy_getinfo(easy, info, &value);
    return value;
  }
  [[nodiscard]] curl_off_t size(CURLINFO info) const {
    curl_off_t value = 0;
    ::curl_easy_getinfo(easy, info, &value);
    return value;
  }

  void prepare(const HttpTransport& transport);
  /// Before a request goes out. On a connection that was used before, curl sends whatever got no
  /// byte of an answer once more: the other side may have died of it, or have done it already.
  static int before_sending(void* handles, char*, char*, int, int);
  enum class Ended : std::uint8_t { finished, timed_out, stopped };
  Ended perform(const HttpCall& request, CURLcode& code);
  HttpTrouble trouble(Ended ended, CURLcode code, const HttpCall& request) const;
};

int HttpChannel::Handles::before_sending(void* handles, char*, char*, int, int) {
  auto& self = *static_cast<Handles*>(handles);
  const bool went_out = self.number(CURLINFO_REQUEST_SIZE) > 0;
  self.asked_to_repeat = went_out && !self.may_repeat;
  return self.asked_to_repeat ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

void HttpChannel::Handles::prepare(const HttpTransport& transport) {
  response_limit = transport.response_limit;
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_USERAGENT, "dlo");
  set(CURLOPT_QUICK_EXIT, 1L);  // giving up does not wait for a name server that does not answer
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(transport.connect_timeout.count()));
  set(CURLOPT_PROXY, transport.proxy.c_str());
  if (!transport.ca_file.empty()) set(CURLOPT_CAINFO, transport.ca_file.c_str());
  if (!transport.client_certificate.empty()) {
    set(CURLOPT_SSLCERT, transport.client_certificate.c_str());
    set(CURLOPT_SSLKEY, transport.client_key.c_str());
  }
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_ERRORBUFFER, error.data());
  set(CURLOPT_PREREQFUNCTION, &before_sending);
  set(CURLOPT_PREREQDATA, this);
}

HttpChannel::Handles::Ended HttpChannel::Handles::perform(const HttpCall& request, CURLcode& code) {
  std::optional<Clock::time_point> deadline;
  if (request.timeout > Millis{0}) deadline = request.began + request.timeout;
  const std::stop_callback on_stop(request.stop, [this] { ::curl_multi_wakeup(multi); });
  for (int running = 1; running > 0;) {
    if (::curl_multi_perform(multi, &running) != CURLM_OK) return Ended::finished;
    if (running == 0) break;
    if (request.stop.stop_requested()) return Ended::stopped;
    Millis patience{60'000};
    if (deadline) {
      const auto left = std::chrono::ceil<Millis>(*deadline - Clock::now());
      if (left <= Millis{0}) return Ended::timed_out;
      patience = std::min(patience, left);
    }
    ::curl_multi_poll(multi, nullptr, 0, static_cast<int>(patience.count()), nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = ::curl_multi_info_read(multi, &left)) {
    if (message->msg == CURLMSG_DONE) code = message->data.result;
  }
  return Ended::finished;
}

HttpTrouble HttpChannel::Handles::trouble(Ended ended, CURLcode code,
                                          const HttpCall& request) const {
  HttpTrouble out;
  out.sent = size(CURLINFO_PRETRANSFER_TIME_T) > 0;
  if (ended == Ended::stopped) {
    out.code = failure_code::stopped;
    out.text = "was given up because the engine is stopping";
  } else if (ended == Ended::timed_out) {
    out.code = failure_code::timed_out;
    out.text = "got no complete answer within " + std::to_string(request.timeout.count()) +
               " ms (timeout)";
  } else if (asked_to_repeat) {
    out.sent = true;
    out.code = failure_code::connection_reset;
    out.text = "failed (network, " + std::string(out.code) +
               "): the connection was closed before an answer came";
  } else {
    out.code = code_of(code, number(CURLINFO_OS_ERRNO));
    out.text = "failed (network, " + std::string(out.code) +
               "): " + (error.front() != '\0' ? error.data() : ::curl_easy_strerror(code));
  }
  return out;
}

HttpChannel::HttpChannel(const HttpTransport& transport) : handles_(std::make_unique<Handles>()) {
  initialise_curl();
  handles_->multi = ::curl_multi_init();
  handles_->easy = ::curl_easy_init();
  if (handles_->multi == nullptr || handles_->easy == nullptr) throw std::bad_alloc();
  handles_->prepare(transport);
}

HttpChannel::~HttpChannel() = default;

HttpResult HttpChannel::call(const HttpCall& request) {
  Handles& curl = *handles_;
  const SigpipeShield shield;  // not every curl keeps TLS writes from raising it
  std::unique_ptr<curl_slist, FreeList> headers;
  const auto add = [&headers](const std::string& line) {
    curl_slist* longer = ::curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(headers.release());
    headers.reset(longer);
  };
  // "name;" is curl's way to send a header without a value. No waiting for 100 Continue.
  for (const auto& [name, value] : request.headers)
    add(name + (value.empty() ? ";" : ": " + value));
  add("Expect:");

  Reader reader;
  reader.limit = curl.response_limit;
  curl.error.front() = '\0';
  curl.may_repeat = request.method == "GET";
  curl.asked_to_repeat = false;
  curl.set(CURLOPT_URL, request.url.c_str());
  curl.set(CURLOPT_HTTPHEADER, headers.get());
  if (request.method == "GET") {
    curl.set(CURLOPT_HTTPGET, 1L);
  } else {
    curl.set(CURLOPT_POST, 1L);
    curl.set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
    curl.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  curl.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl.set(CURLOPT_HEADERDATA, &reader);
  curl.set(CURLOPT_WRITEDATA, &reader);

  CURLcode code = CURLE_FAILED_INIT;
  ::curl_multi_add_handle(curl.multi, curl.easy);
  const auto ended = curl.perform(request, code);
  HttpResult result;
  const bool whole = code == CURLE_OK || (code == CURLE_WRITE_ERROR && reader.cut_off);
  result.answered = ended == Handles::Ended::finished && whole;
  if (result.answered) {
    result.answer = std::move(reader.answer);
    result.answer.status = static_cast<int>(curl.number(CURLINFO_RESPONSE_CODE));
    char* redirect = nullptr;
    ::curl_easy_getinfo(curl.easy, CURLINFO_REDIRECT_URL, &redirect);
    if (redirect != nullptr) result.answer.redirect = redirect;
  } else {
    result.trouble = curl.trouble(ended, code, request);
  }
  // Removing an unfinished transfer closes its connection: a late answer cannot meet a later
  // request.
  ::curl_multi_remove_handle(curl.multi, curl.easy);
  return result;
}

std::unique_ptr<HttpChannel> HttpChannelPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto channel = std::move(idle_.back());
      idle_.pop_back();
      return channel;
    }
  }
  return std::make_unique<HttpChannel>(transport_);
}

void HttpChannelPool::give_back(std::unique_ptr<HttpChannel> channel) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < most_idle_channels) idle_.push_back(std::move(channel));
}

bool is_same_origin(const std::string& a, const std::string& b) {
  const Url left = parse_url(a);
  const Url right = parse_url(b);
  if (!left || !right) return false;
  for (const auto part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    if (ascii_lower(part_of(left, part, CURLU_DEFAULT_PORT)) !=
        ascii_lower(part_of(right, part, CURLU_DEFAULT_PORT))) {
      return false;
    }
  }
  return true;
}

std::string trouble_with_url(const std::string& url) {
  const bool printable =
      std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!printable) return "holds blanks or characters that are not ASCII; percent-encode them";
  initialise_curl();
  const Url parsed = parse_url(url);
  if (!parsed) return "is no absolute URL such as https://example.org/hook";
  const std::string scheme = part_of(parsed, CURLUPART_SCHEME, 0);
  if (scheme != "http" && scheme != "https") {
    return "begins with " + scheme + "; allowed are http and https";
  }
  return {};
}

}  // namespace dlo
