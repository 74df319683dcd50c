#include "dlo/cli/open_queues.h"

#include <ostream>
#include <utility>

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/cli/recovery_note.h"
#include "dlo/config/config.h"
#ifdef DLO_WITH_POSTGRES
#include "dlo/broker/postgres/postgres_queues.h"
#endif

namespace dlo::cli {
namespace {

Result<OpenedQueues> open_in_directory(const Context& context, const OpenedOffice& opened,
                                       Instant now, bool tells_trouble) {
  EmbeddedOptions options;
  options.sealer = opened.vault;
  if (tells_trouble) {
    options.on_trouble = [&context](const std::string& trouble) {
      context.err << (trouble.empty() ? "dlo: Checkpoints of the queues are written again.\n"
                                      : "dlo: In '" + context.data + "/queues' " + trouble + "\n")
                  << std::flush;
    };
  }
  auto queues = EmbeddedQueues::open(context.data + "/queues", now.wall, options);
  if (!queues) return queues.error();
  tell_recovery(context.err, context.data, (*queues)->recovery());
  const char* const kept = what_is_kept((*queues)->recovery());
  return OpenedQueues{std::move(*queues), "", kept};
}

Error without_a_database(const std::string& why) {
  return {Code::invalid_argument, "cli.queues",
          "`queues: office` (DLO_QUEUES) wants queues in the database of the office, " + why +
              " Nothing was opened"};
}

#ifdef DLO_WITH_POSTGRES
Result<OpenedQueues> open_in_database(const Context& context, const std::string& address,
                                      const OpenedOffice& opened, Instant now, bool tells_trouble) {
  PostgresQueueOptions options;
  options.by_servers_clock = true;
  options.sealer = opened.vault;
  if (tells_trouble) {
    options.on_trouble = [&context](const std::string& trouble) {
      context.err << (trouble.empty() ? "dlo: The queues are there again.\n"
                                      : "dlo: The queues are in trouble: " + trouble + "\n")
                  << std::flush;
    };
  }
  auto queues = PostgresQueues::open(address, now, options);
  if (!queues) return queues.error();
  std::string place = (*queues)->place();
  return OpenedQueues{std::move(*queues), std::move(place), "Everything acknowledged"};
}
#else
Result<OpenedQueues> open_in_database(const Context&, const std::string&, const OpenedOffice&,
                                      Instant, bool) {
  return without_a_database("and this dlo was built without PostgreSQL (DLO_WITH_POSTGRES).");
}
#endif

}  // namespace

Result<OpenedQueues> open_queues(const Context& context, const Config& config,
                                 const OpenedOffice& opened, Instant now, bool tells_trouble) {
  if (config.text("queues") != "office") {
    return open_in_directory(context, opened, now, tells_trouble);
  }
  const std::string& address = config.text("office");
  if (address.empty()) {
    return without_a_database(
        "and the office is in a directory: name a database (`office`, DLO_OFFICE, --office), or "
        "leave them in `data`.");
  }
  return open_in_database(context, address, opened, now, tells_trouble);
}

}  // namespace dlo::cli
