// What is true of every route, whatever it does.
#include "dlo/api/front.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "unit/api/asking.h"

namespace dlo::api {
namespace {

class FrontTest : public Asking {
 protected:
  Told ask_front(const std::string& method, const std::string& target, HttpHeader header = {}) {
    std::vector<Route> routes{
        {"GET", "/a", Role::reader, Lane::here, {"limit"}, answering([](const Request& request) {
           HttpResponse response;
           response.body = request.actor.name + " at a";
           return response;
         })},
        {"POST", "/a", Role::admin, Lane::quick, {}, answering([](const Request&) {
           return HttpResponse{};
         })},
        {"GET",
         "/a/{id}/b/{name}",
         Role::reader,
         Lane::slow,
         {},
         answering([](const Request& request) {
           HttpResponse response;
           response.body = request.path[0] + "|" + request.path[1];
           return response;
         })},
        {"GET",
         "/throws",
         Role::reader,
         Lane::quick,
         {},
         answering([](const Request&) -> HttpResponse { throw std::runtime_error("oh"); })},
    };
    const Access access = [](const HttpRequest& request) -> Result<Actor> {
      const std::string who(request.header("Who"));
      if (who == "stranger") return Error{Code::refused, "test", "no such token"};
      return Actor{who.empty() ? "ana" : who, who == "root" ? Role::admin : Role::reader};
    };
    WorkerPool quick(1, 10);
    WorkerPool slow(1, 10);
    const Front front({Router(std::move(routes)), clock_, quick, slow, access});
    auto asked = std::make_shared<Asked>();
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.headers.push_back(std::move(header));
    front.handle(std::move(request), asked);
    return {asked->answer()};
  }
};

TEST_F(FrontTest, TakesARequestToItsRoute) {
  EXPECT_EQ(ask_front("GET", "/a").body(), "ana at a");
  EXPECT_EQ(ask_front("HEAD", "/a").body(), "ana at a") << "the server leaves the body away";
  EXPECT_EQ(ask_front("GET", "/a/x%20y/b/z").body(), "x y|z");
}

TEST_F(FrontTest, AnAddressNobodyHasIs404AndAMethodItHasNotIs405WithThoseItHas) {
  EXPECT_EQ(ask_front("GET", "/b").status(), 404);
  EXPECT_EQ(ask_front("GET", "/a/x/c/y").status(), 404);
  const Told told = ask_front("DELETE", "/a");
  EXPECT_EQ(told.status(), 405);
  EXPECT_EQ(told.header("Allow"), "GET, POST");
  EXPECT_EQ(told.at("code"), "method_not_allowed");
}

TEST_F(FrontTest, PathTricksAre400) {
  EXPECT_EQ(ask_front("GET", "/a/../a").status(), 400);
  EXPECT_EQ(ask_front("GET", "/a/").status(), 400);
}

TEST_F(FrontTest, AParameterNobodyKnowsIsRefusedByName) {
  const Told told = ask_front("GET", "/a?limt=5");
  EXPECT_EQ(told.status(), 400);
  EXPECT_TRUE(told.says("limt") && told.says("limit")) << told;
  EXPECT_EQ(ask_front("POST", "/a?x=1", {"Who", "root"}).status(), 400);
}

TEST_F(FrontTest, ARoleThatIsTooLowIsRefusedAndAStrangerIsNotLetIn) {
  EXPECT_EQ(ask_front("POST", "/a").status(), 403);
  EXPECT_EQ(ask_front("POST", "/a", {"Who", "root"}).status(), 200);
  EXPECT_EQ(ask_front("GET", "/a", {"Who", "stranger"}).status(), 401);
}

TEST_F(FrontTest, APackedBodyIsRefusedWhateverItIs) {
  EXPECT_EQ(say("POST", "/v1/dead-letters", "x", {{"Content-Encoding", "gzip"}}).status(), 415);
  EXPECT_EQ(say("POST", "/v1/jobs", "x", {{"Content-Encoding", "br"}}).status(), 415);
  EXPECT_EQ(say("POST", "/v1/dead-letters", R"({"source":"s","error":"e"})",
                {{"Content-Encoding", "Identity"}})
                .status(),
            201);
}

TEST_F(FrontTest, AHandlerThatThrowsIsAnsweredWith500) {
  const Told told = ask_front("GET", "/throws");
  EXPECT_EQ(told.status(), 500);
  EXPECT_EQ(told.at("code"), "internal");
}

TEST_F(FrontTest, EveryRouteOfTheServiceNamesARoleAndHasOnePattern) {
  start();
  std::vector<std::string> seen;
  for (const Route& route : service_->router().routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.pattern);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), name), 0) << name;
    seen.push_back(name);
    EXPECT_TRUE(route.role != Role::nobody || route.pattern == "/healthz" ||
                route.pattern == "/readyz")
        << name;
    if (action_of(route.method, route.pattern) == "read") continue;
    EXPECT_GE(route.role, Role::operator_) << name << " changes something";
  }
}

}  // namespace
}  // namespace dlo::api
