#include "dlo/cli/reloader.h"

#include <ostream>
#include <utility>

#include "dlo/cli/config_file.h"
#include "dlo/cli/output.h"
#include "dlo/json/writer.h"

namespace dlo::cli {

void take_flags(Config& config, const ServeArguments& arguments) {
  const auto set = [&](std::string_view path, const std::string& text) {
    const std::size_t key = find_key(path);
    if (auto value = read_value(config_keys()[key], text)) config.set(key, *value, {});
  };
  if (!arguments.data.empty()) set("data", arguments.data);
  if (!arguments.office.empty()) set("office", arguments.office);
  if (!arguments.listen.empty()) set("server.listen", arguments.listen);
  if (arguments.plain_http) set("server.plain_http", "true");
  if (!arguments.certificate.empty()) set("tls.certificate", arguments.certificate);
  if (!arguments.key.empty()) set("tls.key", arguments.key);
}

void warn_of_redirects(Context& context, const api::Service& service) {
  for (const Error& each : service.lost_redirects()) {
    context.err << "dlo: warning: " << each.detail << std::endl;
  }
}

Reloader::Reloader(Context& context, const ServeArguments& arguments, Config config,
                   const Others& others)
    : context_(context),
      arguments_(arguments),
      others_(others),
      file_(arguments.config),
      config_(std::move(config)),
      in_force_(config_.file_sha256) {}

void Reloader::run(api::Service& service, HttpServer& server, Office& office, TimePoint now) {
  auto reading = load_config(context_, file_);
  if (!reading) return keep(reading.error().detail);
  if (!report_problems(context_, file_, *reading))
    return keep("Correct these, then send SIGHUP again.");
  take_flags(reading->config, arguments_);
  // The certificate first: it can be given back, rules that others already decided by cannot.
  if (auto shown = show_certificate(server, reading->config); !shown) {
    return keep(shown.error().detail);
  }
  if (const auto used = use(service, reading->config); !used) {
    (void)show_certificate(server, config_);
    return keep(used.error().detail);
  }
  decides_ = reading->config.rules;
  warn_of_redirects(context_, service);
  for (const std::string& path : needs_restart(config_, reading->config)) {
    context_.err << "dlo: " << path << " changed; it is taken over when the server is restarted."
                 << std::endl;
  }
  JsonWriter said;
  said.begin_object().member("before_sha256", in_force_);
  said.member("after_sha256", reading->config.file_sha256).end_object();
  const Change note = AddAudit{now, "configuration", "config.reload", file_, said.take()};
  in_force_ = reading->config.file_sha256;
  if (const auto noted = office.apply({&note, 1}); !noted) fail(context_, noted.error());
  context_.out << "Configuration read again; its rules hold from now on." << std::endl;
}

Result<void> Reloader::use(api::Service& service, const Config& config) {
  auto used = others_.collectors.use(config.rules);
  if (used) used = others_.outboxes.use(config.rules);
  if (used) used = others_.consumers.use(config.rules);
  if (used) used = service.use(config.rules, config.redirects);
  if (used) return {};
  (void)others_.collectors.use(decides_);
  (void)others_.outboxes.use(decides_);
  (void)others_.consumers.use(decides_);
  return used;
}

/// Files may have changed under the same names.
Result<void> Reloader::show_certificate(HttpServer& server, const Config& config) {
  const std::string& certificate = config.text("tls.certificate");
  if (certificate.empty() && config_.text("tls.certificate").empty()) return {};
  if (certificate.empty()) {
    return Error{Code::refused, "cli.serve",
                 "tls.certificate is gone; restart the server if it is to speak plain HTTP."};
  }
  return server.use_certificate(certificate, config.text("tls.key"));
}

void Reloader::keep(const std::string& why) {
  context_.err << "dlo: " << why << std::endl;
  context_.out << "The configuration was not taken over; everything goes on as before."
               << std::endl;
}

}  // namespace dlo::cli
