#pragma once

#include <string>
#include <vector>

#include "dlo/api/request.h"
#include "dlo/broker/broker.h"
#include "dlo/core/result.h"
#include "dlo/engine/pull_desk.h"
#include "dlo/server/http.h"

namespace dlo::api {

/// What a request to send brings. By its Content-Type: NDJSON (`application/x-ndjson`), frames
/// (`application/vnd.dlo.messages`), and everything else is the payload of one message, which the
/// parameters of the address describe.
[[nodiscard]] Result<std::vector<Publication>> read_publications(const Request& request);

/// One settlement, or a lease to be renewed.
struct SettleWish {
  PullSettlement settlement;
  std::optional<Millis> renew_for;
};
/// One as JSON, many as NDJSON or as settlements of 17 bytes.
[[nodiscard]] Result<std::vector<SettleWish>> read_settle_wishes(const Request& request,
                                                                 Millis usual_lease);

enum class HandedForm : std::uint8_t { json, ndjson, frames };
[[nodiscard]] HandedForm handed_form(const Request& request);
[[nodiscard]] HttpResponse render_handed(const std::vector<PullDesk::Handed>& handed,
                                         HandedForm form);

/// What became of one, as JSON. `renewed` for one that was to be renewed.
[[nodiscard]] std::string answer_json(const PullAnswer& answer, bool renewed);

}  // namespace dlo::api
