#include <CLI/CLI.hpp>
#include <memory>

#include "dlo/cli/entities.h"
#include "dlo/cli/grammar_on.h"

namespace dlo::cli {

void add_entities(const Grammar& grammar) {
  auto* command =
      grammar.app
          .add_subcommand("entity", "What is retried when somebody asks for it, such as payments")
          ->alias("entities")
          ->require_subcommand(1);
  const auto listed = std::make_shared<EntityListArguments>();
  auto* all = command->add_subcommand("list", "Those of a kind, by id");
  all->add_option("kind", listed->kind, "payment, or one of the configuration")->required();
  all->add_option("--status", listed->status, "Only FAILED or PERMANENTLY_FAILED ones");
  all->add_option("--limit", listed->limit)->check(CLI::Range(1, 500))->capture_default_str();
  all->add_option("--cursor", listed->cursor, "Go on after an earlier list");
  on(grammar, all, listed, entity_list);
  const auto arguments = std::make_shared<EntityArguments>();
  const auto one = [&](const char* name, const char* about) {
    auto* sub = command->add_subcommand(name, about);
    sub->add_option("kind", arguments->kind, "payment, or one of the configuration")->required();
    sub->add_option("id", arguments->id, "Its id")->required();
    return sub;
  };
  const auto with_error = [&](CLI::App* sub) {
    sub->add_option("--error", arguments->error, "What it last failed of");
    sub->add_option("--error-type", arguments->error_type, "The type of that error");
    return sub;
  };
  on(grammar, one("show", "Whether it may be retried, and what is known of it"), arguments,
     entity_show);
  auto* add = with_error(one("register", "It failed and may be retried; or what is new of it"));
  add->add_option("--json", arguments->data, "What its dead letter should say: a JSON object");
  add->add_option("--created-at", arguments->created_at, "When it was made, as 2026-03-01T12:00Z");
  on(grammar, add, arguments, entity_register);
  on(grammar, with_error(one("retry", "Count a retry that is about to be made; 0: go ahead")),
     arguments, entity_retry);
  auto* reopen = one("reopen", "Its cause is dealt with: it may be retried again");
  reopen->add_option("--notes", arguments->notes, "Kept with its dead letter");
  on(grammar, reopen, arguments, entity_reopen);
  on(grammar, one("effect", "Tell its owner of its death again, now"), arguments, entity_effect);
  on(grammar, one("remove", "It succeeded, or nobody retries it any more"), arguments,
     entity_remove);
}

}  // namespace dlo::cli
