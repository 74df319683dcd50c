#include "unit/api/described.h"

#include <algorithm>
#include <utility>

#include "dlo/api/body.h"
#include "dlo/api/description.h"
#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

constexpr const char* folder = "src/dlo/api/openapi/";

/// What somebody who added a route has to write.
std::string sketch_of(const Route& route) {
  std::string text = "  " + std::string(route.pattern) + ":\n    " + ascii_lower(route.method) +
                     ":\n      operationId: …\n      tags: […]\n      x-role: " +
                     std::string(name_of(route.role)) + "\n      summary: …\n";
  if (!route.query.empty()) text += "      parameters:\n";
  for (const auto& name : route.query) {
    text += "        - {name: " + std::string(name) + ", in: query, schema: {type: string}}\n";
  }
  text +=
      "      responses:\n        '200': {description: …, content: {application/json: {schema: "
      "{$ref: '#/components/schemas/…'}}}}\n        default: {$ref: "
      "'#/components/responses/Problem'}\n";
  return text;
}

std::set<std::string> places_of(std::string_view pattern) {
  std::set<std::string> names;
  for (auto open = pattern.find('{'); open != std::string_view::npos;
       open = pattern.find('{', open + 1)) {
    names.insert(std::string(pattern.substr(open + 1, pattern.find('}', open) - open - 1)));
  }
  return names;
}

std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps{""};
  for (const char c : path.substr(0, path.find('?'))) {
    if (c == '/') {
      steps.emplace_back();
    } else {
      steps.back() += c;
    }
  }
  return steps;
}

bool fits(std::string_view pattern, std::string_view path) {
  const auto wanted = steps_of(pattern);
  const auto given = steps_of(path);
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].starts_with('{') && wanted[i] != given[i]) return false;
  }
  return true;
}

std::string media_of(std::string_view type) {
  Request request;
  request.http.headers.push_back({"Content-Type", std::string(type)});
  return media_type(request);
}

bool has_parameter(const HttpRequest& request, const std::string& name) {
  return request.target.find("?" + name + "=") != std::string::npos ||
         request.target.find("&" + name + "=") != std::string::npos;
}

constexpr std::string_view methods[] = {"get", "put", "post", "patch", "delete"};

}  // namespace

const Described& Described::shared() {
  static const Described described(openapi_json());
  return described;
}

Described::Described(std::string text) : text_(std::move(text)), schemas_(document_) {
  auto parsed = parse_json(text_, 64);
  if (parsed) document_ = std::move(*parsed);
}

Described::Operation Described::find(const std::string& method, const std::string& pattern) const {
  const auto* paths = document_.find("paths");
  const auto* path = paths == nullptr ? nullptr : paths->find(pattern);
  if (path == nullptr) return {};
  return {path, path->find(ascii_lower(method == "HEAD" ? "GET" : method))};
}

std::pair<std::string, Described::Operation> Described::match(const HttpRequest& request) const {
  const auto* paths = document_.find("paths");
  for (const JsonMember& path : paths->members) {
    if (!fits(path.name, request.target)) continue;
    return {path.name, find(request.method, path.name)};
  }
  return {};
}

std::map<std::string, std::set<std::string>> Described::parameters(const Operation& of) const {
  std::map<std::string, std::set<std::string>> names;
  for (const auto* holder : {of.path, of.own}) {
    const auto* list = holder == nullptr ? nullptr : holder->find("parameters");
    if (list == nullptr) continue;
    for (const JsonValue& each : list->items) {
      const JsonValue& at = schemas_.resolved(each);
      const auto* in = at.find("in");
      const auto* name = at.find("name");
      if (in != nullptr && name != nullptr) names[in->text()].insert(name->text());
    }
  }
  return names;
}

void Described::compare(const Route& route, const Operation& operation, Complaints& found) const {
  const std::string what = std::string(route.method) + " " + std::string(route.pattern);
  const auto* role = operation.own->find("x-role");
  if (role == nullptr || role->text() != name_of(route.role)) {
    found.push_back(what + ": write `x-role: " + std::string(name_of(route.role)) +
                    "` (the table of routes says so)");
  }
  const bool open = operation.own->find("security") != nullptr;
  if (open != (route.role == Role::nobody)) {
    found.push_back(what + ": `security: []` belongs to what nobody needs a token for, only");
  }
  auto names = parameters(operation);
  std::set<std::string> known(route.query.begin(), route.query.end());
  for (const auto& name : known) {
    if (names["query"].count(name) == 0) {
      found.push_back(what + ": add the parameter `{name: " + name +
                      ", in: query, schema: {type: …}}`");
    }
  }
  for (const auto& name : names["query"]) {
    if (known.count(name) == 0) {
      found.push_back(what + ": remove the parameter \"" + name + "\"; the route does not take it");
    }
  }
  if (names["path"] != places_of(route.pattern)) {
    found.push_back(what + ": describe each {…} of the path as a parameter `in: path`");
  }
  const auto* answers = operation.own->find("responses");
  if (answers == nullptr || answers->find("default") == nullptr) {
    found.push_back(what + ": add `default: {$ref: '#/components/responses/Problem'}`");
  }
}

Described::Complaints Described::routes(const std::vector<Route>& routes) const {
  Complaints found;
  std::set<std::string> served;
  for (const Route& route : routes) {
    served.insert(ascii_lower(route.method) + " " + std::string(route.pattern));
    const auto operation = find(std::string(route.method), std::string(route.pattern));
    if (operation.own != nullptr) {
      compare(route, operation, found);
    } else {
      found.push_back(std::string(route.method) + " " + std::string(route.pattern) +
                      " is served and not described. Write under `paths:` of a file in " + folder +
                      ":\n" + sketch_of(route));
    }
  }
  for (const JsonMember& path : document_.find("paths")->members) {
    for (const JsonMember& each : path.value.members) {
      if (each.name == "parameters" || served.count(each.name + " " + path.name) > 0) continue;
      found.push_back(each.name + " " + path.name +
                      " is described and not served: remove it from " + folder);
    }
  }
  return found;
}

void Described::check_body(const JsonValue& media, const HttpRequest& request,
                           const std::string& type, const std::string& body,
                           const std::string& what, Complaints& found) const {
  const JsonValue* schema = media.find("schema");
  if (const auto* when = media.find("x-when")) {
    for (const JsonMember& each : when->members) {
      if (has_parameter(request, each.name)) schema = &each.value;
    }
  }
  if (schema == nullptr) return;
  std::vector<Line> texts{{1, body}};
  if (type == "application/x-ndjson") texts = lines_of(body);
  if (type == "text/event-stream") {
    texts = lines_of(body);
    std::erase_if(texts, [](const Line& line) { return !line.text.starts_with("data: "); });
    for (Line& line : texts) line.text.remove_prefix(6);
  }
  for (const Line& line : texts) {
    const auto value = parse_json(line.text, 64);
    if (!value) {
      found.push_back(what + " is no JSON: " + value.error().detail);
      continue;
    }
    for (const auto& each : schemas_.complaints(*schema, *value)) {
      found.push_back(what + ": " + each);
    }
  }
}

void Described::check_problem(const JsonValue& response, const HttpResponse& answer,
                              const std::string& what, Complaints& found) const {
  const auto* codes = response.find("x-codes");
  const std::string status = std::to_string(answer.status);
  const auto* allowed = codes == nullptr ? nullptr : codes->find(status);
  const auto body = parse_json(answer.body);
  const auto* code = body ? body->find("code") : nullptr;
  const std::string given = code == nullptr ? "" : code->text();
  const bool fine = allowed != nullptr &&
                    std::any_of(allowed->items.begin(), allowed->items.end(),
                                [&](const JsonValue& each) { return each.text() == given; });
  if (fine) return;
  found.push_back(what + " has the code \"" + given +
                  "\", which is not described for it. Add to its responses:\n        '" + status +
                  "': {$ref: '#/components/responses/…'}   # one whose x-codes has " + status +
                  ": [" + given + "]");
}

void Described::check_answer(const Operation& operation, const HttpRequest& request,
                             const HttpResponse& answer, const std::string& what,
                             Complaints& found) const {
  const auto* answers = operation.own->find("responses");
  const auto* response = answers->find(std::to_string(answer.status));
  if (response == nullptr && answer.status >= 400) response = answers->find("default");
  if (response == nullptr) {
    found.push_back(what + " is not among its responses. Add to them:\n        '" +
                    std::to_string(answer.status) + "': {description: …, content: {" +
                    answer.content_type + ": {schema: …}}}");
    return;
  }
  const JsonValue& at = schemas_.resolved(*response);
  const std::string type = media_of(answer.content_type);
  if (type == "application/problem+json") check_problem(at, answer, what, found);
  const auto* content = at.find("content");
  const auto* media = content == nullptr ? nullptr : content->find(type);
  if (media == nullptr) {
    found.push_back(what + " is " + type + ", which its `content:` does not have");
  } else {
    check_body(*media, request, type, answer.body, what, found);
  }
}

Described::Complaints Described::exchange(const HttpRequest& request,
                                          const HttpResponse& answer) const {
  Complaints found;
  const auto [pattern, operation] = match(request);
  if (operation.own == nullptr) {
    // Nobody's address: walking the table of routes finds those that are only not described.
    if (answer.status < 400) found.push_back(request.method + " " + request.target + " is served");
    return found;
  }
  const std::string what = request.method + " " + pattern;
  check_answer(operation, request, answer, what + ", answer " + std::to_string(answer.status),
               found);
  const auto* wanted = operation.own->find("requestBody");
  const auto* content = wanted == nullptr ? nullptr : wanted->find("content");
  const bool taken = answer.status < 300 && answer.status != 207;  // all of it
  if (!taken || request.body.empty()) return found;
  const std::string type = media_of(request.header("Content-Type"));
  const auto* media = content == nullptr ? nullptr : content->find(type);
  if (media == nullptr && content != nullptr) media = content->find("*/*");
  if (media != nullptr) {
    check_body(*media, request, type, request.body, what + ", request", found);
  } else if (request.body.find_first_not_of("{} \n") != std::string::npos) {
    found.push_back(what + " took a body of type " + type + ". Describe it under requestBody:");
  }
  return found;
}

Described::Complaints Described::references() const {
  Complaints found;
  std::vector<const JsonValue*> left{&document_};
  while (!left.empty()) {
    const JsonValue* at = left.back();
    left.pop_back();
    const auto* reference = at->find("$ref");
    if (reference != nullptr && reference->kind == JsonKind::string &&
        &schemas_.resolved(*at) == at) {
      found.push_back(reference->text() + " is not there");
    }
    for (const JsonValue& item : at->items) left.push_back(&item);
    for (const JsonMember& member : at->members) left.push_back(&member.value);
  }
  for (const JsonMember& path : document_.find("paths")->members) {
    for (const JsonMember& each : path.value.members) {
      const bool known =
          std::find(std::begin(methods), std::end(methods), each.name) != std::end(methods);
      if (!known && each.name != "parameters") found.push_back(path.name + ": " + each.name + "?");
    }
  }
  return found;
}

std::set<std::string> Described::codes() const {
  std::set<std::string> codes;
  std::vector<const JsonValue*> left{&document_};
  while (!left.empty()) {
    const JsonValue* at = left.back();
    left.pop_back();
    if (const auto* table = at->find("x-codes")) {
      for (const JsonMember& status : table->members) {
        for (const JsonValue& code : status.value.items) codes.insert(code.text());
      }
    }
    for (const JsonValue& item : at->items) left.push_back(&item);
    for (const JsonMember& member : at->members) left.push_back(&member.value);
  }
  return codes;
}

}  // namespace dlo::api
