#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dlo/api/router.h"
#include "dlo/core/classify.h"
#include "dlo/core/entity.h"
#include "dlo/core/profile_book.h"
#include "dlo/engine/record.h"
#include "dlo/entities/effect_keeper.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// What of entities is configured.
struct EntityOptions {
  std::vector<EntityKind> kinds{payment_kind()};
  /// How owners are told of deaths, by kind; of a kind that is not here, nobody is.
  std::map<std::string, CarryOutEffect> effects{};
  /// Is told of deaths, in the words of document 001; the second argument: as an error.
  std::function<void(const std::string& line, bool is_error)> log{};
};

struct EntityParts {
  Office& office;
  std::function<std::shared_ptr<const ProfileBook>()> rules;  // as they are now
  RegexCompiler regex;
  Origin origin;
  EntityOptions options;
  std::function<void(const std::string& kind)> owed{};  // something is to be told to its owner
};

/// Things that are retried when somebody asks for it (S1-9..11, S1-25..32).
///   GET    /v1/entities/{kind}                those there are, by id, of one status if asked for
///   PUT    /v1/entities/{kind}/{id}           it failed and may be retried; or what is new of it
///   GET    /v1/entities/{kind}/{id}
///   DELETE /v1/entities/{kind}/{id}           it succeeded, or nobody retries it any more
///   POST   /v1/entities/{kind}/{id}/retries   somebody is about to retry it: may he?
///   POST   /v1/entities/{kind}/{id}/reopen    the cause of its death is dealt with
///   POST   /v1/entities/{kind}/{id}/effect    its owner is told of its death again, now
[[nodiscard]] std::vector<Route> entity_routes(EntityParts parts);

}  // namespace dlo::api
