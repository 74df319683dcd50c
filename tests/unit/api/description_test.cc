// The description of the API is true: of all routes, and of every answer that any API test got.
#include "dlo/api/description.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "support/temporary_directory.h"
#include "unit/api/asking.h"
#include "unit/api/described.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::api {
namespace {

using testing::must;

class DescriptionTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

std::string all_of(const std::vector<std::string>& complaints) {
  std::string text;
  for (const auto& each : complaints) text += "\n" + each;
  return text;
}

TEST_F(DescriptionTest, EveryRouteIsDescribedAndEverythingDescribedIsARoute) {
  start();
  EXPECT_EQ(all_of(Described::shared().routes(service_->router().routes())), "");
}

TEST_F(DescriptionTest, EveryReferenceLeadsSomewhere) {
  EXPECT_EQ(all_of(Described::shared().references()), "");
}

TEST_F(DescriptionTest, IsServedAsYamlAndAsJson) {
  const Told yaml = get("/v1/openapi.yaml");
  EXPECT_EQ(yaml.status(), 200);
  EXPECT_EQ(yaml.body(), openapi_yaml());
  EXPECT_TRUE(yaml.body().starts_with("openapi: 3.1.0\n"));
  EXPECT_EQ(get("/v1/openapi.json").at("openapi"), "3.1.0");
}

/// `problem(409, "conflict"` and `refuse(413, "body_too_large"` wherever an answer is made.
std::set<std::string> codes_in_sources() {
  std::set<std::string> codes;
  const std::regex pattern(R"((?:problem|refuse)\(\s*\d+,\s*\"(\w+)\")");
  for (const char* folder : {"api", "server"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(DLO_SOURCES) + "/" + folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)),
                             std::istreambuf_iterator<char>());
      for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
        codes.insert((*at)[1]);
      }
    }
  }
  for (const Code code :
       {Code::not_found, Code::lease_lost, Code::conflict, Code::invalid_argument, Code::full,
        Code::disk_full, Code::refused, Code::corrupt, Code::unavailable, Code::timed_out}) {
    codes.insert(std::string(name_of(code)));
  }
  return codes;
}

TEST_F(DescriptionTest, EveryErrorCodeIsDescribedAndEveryDescribedOneExists) {
  const auto made = codes_in_sources();
  const auto described = Described::shared().codes();
  for (const auto& code : made) {
    EXPECT_TRUE(described.count(code) > 0)
        << "Describe the code " << code << ": add it to the x-codes of an answer, in "
        << "src/dlo/api/openapi/parts.yaml if every route may answer it, else where it belongs.";
  }
  for (const auto& code : described) {
    EXPECT_TRUE(made.count(code) > 0)
        << "Nothing answers with the code " << code << ": remove it from src/dlo/api/openapi/";
  }
}

/// A document with one route, for the tests of the checks themselves.
constexpr const char* small = R"({"paths":{"/v1/x/{id}":{
  "parameters":[{"name":"id","in":"path"}],
  "get":{"x-role":"reader","parameters":[{"name":"q","in":"query"}],"responses":{
    "200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/X"}}}},
    "404":{"x-codes":{"404":["not_found"]},"content":{"application/problem+json":{}}},
    "default":{}}}}},
  "components":{"schemas":{"X":{"type":"object","required":["a"],"properties":{
    "a":{"type":"integer","minimum":1},"b":{"type":["string","null"],"enum":["x","y"]},
    "c":{"type":"array","items":{"type":"string","format":"date-time"}},
    "d":{"type":"object","allOf":[{"type":"object","properties":{"e":{"type":"boolean"}}}]}}}}}})";

Route route(std::string_view method, std::string_view pattern, Role role,
            std::vector<std::string_view> query) {
  return {method, pattern, role, Lane::here, std::move(query), {}};
}

TEST(DescribedTest, ARouteThatDiffersFromItsDescriptionIsNamedWithWhatToWrite) {
  const Described described(small);
  EXPECT_EQ(all_of(described.routes({route("GET", "/v1/x/{id}", Role::reader, {"q"})})), "");
  struct Row {
    std::vector<Route> routes;
    std::string_view says;
  };
  const std::vector<Row> rows{
      {{}, "get /v1/x/{id} is described and not served"},
      {{route("GET", "/v1/x/{id}", Role::admin, {"q"})}, "write `x-role: admin`"},
      {{route("GET", "/v1/x/{id}", Role::nobody, {"q"})}, "security: []"},
      {{route("GET", "/v1/x/{id}", Role::reader, {})}, "remove the parameter \"q\""},
      {{route("GET", "/v1/x/{id}", Role::reader, {"q", "z"})}, "add the parameter `{name: z"},
      {{route("GET", "/v1/x/{id}", Role::reader, {"q"}),
        route("PUT", "/v1/x/{id}", Role::admin, {})},
       "PUT /v1/x/{id} is served and not described. Write under `paths:`"},
  };
  for (const Row& row : rows) {
    EXPECT_NE(all_of(described.routes(row.routes)).find(row.says), std::string::npos)
        << row.says << all_of(described.routes(row.routes));
  }
}

TEST(DescribedTest, AnAnswerThatDoesNotFitIsNamedWithItsPlace) {
  const Described described(small);
  struct Row {
    int status;
    std::string_view body;
    std::string_view says;  // empty: it fits
  };
  const std::vector<Row> rows{
      {200, R"({"a":1,"b":"x","c":["2026-01-01T00:00:00Z"],"d":{"e":true}})", ""},
      {200, R"({"a":1,"b":null})", R"(b is "", which is none of)"},
      {200, R"({})", "lacks the member \"a\""},
      {200, R"({"a":"1"})", "a is of type string"},
      {200, R"({"a":1.5})", "a is of type number"},
      {200, R"({"a":0})", "a is below 1"},
      {200, R"({"a":1,"z":2})", "z is not described"},
      {200, R"({"a":1,"c":["soon"]})", "c.0 is \"soon\", which is no time"},
      {200, R"({"a":1,"d":{"f":1}})", "d.f is not described"},
      {200, R"({"a":)", "is no JSON"},
      {201, R"({"a":1})", "201 is not among its responses"},
      {404, R"({"code":"not_found"})", ""},
      {404, R"({"code":"gone"})", "has the code \"gone\""},
      {418, R"({"code":"teapot"})", "has the code \"teapot\""},
  };
  for (const Row& row : rows) {
    HttpRequest request;
    request.method = "GET";
    request.target = "/v1/x/7?q=1";
    HttpResponse answer;
    answer.status = row.status;
    answer.body = row.body;
    if (row.status >= 400) answer.content_type = "application/problem+json";
    const std::string said = all_of(described.exchange(request, answer));
    if (row.says.empty()) {
      EXPECT_EQ(said, "") << row.body;
    } else {
      EXPECT_NE(said.find(row.says), std::string::npos) << row.body << said;
    }
  }
}

}  // namespace
}  // namespace dlo::api
