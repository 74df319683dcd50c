#include "dlo/api/description.h"

namespace dlo::api {
namespace {

HttpResponse document(const std::string& text, const char* type) {
  HttpResponse response;
  response.content_type = type;
  response.headers.push_back({"Cache-Control", "max-age=300"});
  response.body = text;
  return response;
}

}  // namespace

std::vector<Route> description_routes() {
  // Not on an I/O thread: packing this much takes a while.
  return {
      {"GET", "/v1/openapi.yaml", Role::reader, Lane::slow, {}, answering([](const Request&) {
         return document(openapi_yaml(), "application/yaml");
       })},
      {"GET", "/v1/openapi.json", Role::reader, Lane::slow, {}, answering([](const Request&) {
         return document(openapi_json(), "application/json");
       })},
  };
}

}  // namespace dlo::api
