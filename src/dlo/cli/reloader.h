#pragma once

#include <string>

#include "dlo/api/service.h"
#include "dlo/cli/collectors.h"
#include "dlo/cli/consumers.h"
#include "dlo/cli/outboxes.h"
#include "dlo/cli/verbs.h"
#include "dlo/config/config.h"
#include "dlo/server/http_server.h"
#include "dlo/store/office.h"

namespace dlo::cli {

/// Flags win over the configuration.
void take_flags(Config& config, const ServeArguments& arguments);

/// A queue may still be declared: no reason to refuse, and one to speak up.
void warn_of_redirects(Context& context, const api::Service& service);

/// Takes over what may change while the server runs: all of it, or nothing and the reasons.
class Reloader {
 public:
  struct Others {  // who else decides by the rules
    Collectors& collectors;
    Outboxes& outboxes;
    Consumers& consumers;
  };
  Reloader(Context& context, const ServeArguments& arguments, Config config, const Others& others);

  void run(api::Service& service, HttpServer& server, Office& office, TimePoint now);

 private:
  [[nodiscard]] Result<void> use(api::Service& service, const Config& config);
  [[nodiscard]] Result<void> show_certificate(HttpServer& server, const Config& config);
  void keep(const std::string& why);

  Context& context_;
  const ServeArguments& arguments_;
  const Others others_;
  std::string file_;
  Config config_;         // as the server was started
  std::string in_force_;  // the digest of the file whose rules hold
  ProfileBook decides_{config_.rules};
};

}  // namespace dlo::cli
