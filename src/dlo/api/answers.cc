#include "dlo/api/answers.h"

#include <utility>

namespace dlo::api {

int status_of(Code code) noexcept {
  switch (code) {
    case Code::not_found:
      return 404;
    case Code::lease_lost:
    case Code::conflict:
      return 409;
    case Code::invalid_argument:
      return 400;
    case Code::full:
      return 507;
    case Code::refused:
      return 403;
    case Code::corrupt:
      return 500;
    case Code::unavailable:
    case Code::disk_full:
      return 503;
    case Code::timed_out:
      return 504;
  }
  return 500;
}

HttpResponse problem_of(const Error& error) {
  HttpResponse response = problem(status_of(error.code), name_of(error.code), error.detail);
  if (error.code == Code::unavailable || error.code == Code::timed_out) {
    response.headers.push_back({"Retry-After", "1"});
  }
  if (error.code == Code::full ||
      error.code == Code::disk_full) {  // somebody has to make room first
    response.headers.push_back({"Retry-After", "10"});
  }
  return response;
}

HttpResponse json_answer(std::string body, int status) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  response.body += '\n';
  return response;
}

void set_etag(HttpResponse& response, std::uint64_t version) {
  response.headers.push_back({"ETag", "\"" + std::to_string(version) + "\""});
}

}  // namespace dlo::api
