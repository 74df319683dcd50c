#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/cli/context.h"

namespace dlo::cli {

// One function per verb; each answers an Exit. The command line is parsed in cli.cc only.

struct ExplainArguments {
  std::string profile = "standard";
  std::string error;
  std::string type;
  std::optional<int> status;
  std::string code;
  std::uint32_t attempt = 1;
  std::vector<std::string> counters;  // name=value
};
int explain(Context& context, const ExplainArguments& arguments);

int profile_list(Context& context);
int profile_show(Context& context, const std::string& name);

struct ListArguments {
  std::vector<std::string> statuses;
  std::string source;
  std::string category;
  std::string group;
  std::string type;
  std::string key;
  std::string words;
  std::size_t limit = 50;
  std::string cursor;
  bool oldest_first = false;
};
int list(Context& context, const ListArguments& arguments);

/// `ids` are whole ids; each is shown in turn.
int show(Context& context, const std::vector<std::string>& ids);
int stats(Context& context);

struct DemoArguments {
  std::uint64_t messages = 60;
  std::uint64_t seed = 1;
  bool keep = false;  // leave the office in `data` to look at
};
int demo(Context& context, const DemoArguments& arguments);

struct ServeArguments {
  std::string listen = "127.0.0.1:8080";
};
int serve(Context& context, const ServeArguments& arguments);

}  // namespace dlo::cli
