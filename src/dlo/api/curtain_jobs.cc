#include <algorithm>
#include <utility>

#include "dlo/api/curtain.h"
#include "dlo/core/spelling.h"
#include "dlo/json/text/mask.h"
#include "dlo/query/query_text.h"

namespace dlo::api {
namespace {

using Kind = RecipeStep::Kind;
using Operation = PatchOperation::Kind;

bool brings_value(const PatchOperation& each) {
  return each.kind == Operation::add || each.kind == Operation::replace ||
         each.kind == Operation::test;
}

/// Somewhere in it: a value around a masked place may hold it deeper.
bool holds_mask(const JsonTree& value) {
  return print_tree(value).find(print_tree(text_tree(mask_text))) != std::string::npos;
}

Error would_write_mask() {
  return {Code::invalid_argument, "api.masked",
          "The job would write the mask " + std::string(mask_text) +
              " in place of a masked value: it was copied from what is shown. Say the value "
              "itself. Nothing was changed"};
}

}  // namespace

bool Curtain::masks_header(std::string_view name) const {
  return std::find(headers_.begin(), headers_.end(), ascii_lower(name)) != headers_.end();
}

/// Every value that a step brings to a masked place, or to one within or around it.
void Curtain::each_value(Recipe& recipe,
                         const std::function<void(JsonTree*, std::string*)>& take) const {
  for (RecipeStep& step : recipe) {
    if (step.kind == Kind::set && is_masked(step.path)) take(&step.value, nullptr);
    if (step.kind == Kind::set_header && masks_header(step.name)) take(nullptr, &step.text);
    for (PatchOperation& each : step.patch) {
      if (brings_value(each) && is_masked(each.path)) take(&each.value, nullptr);
    }
  }
}

std::string Curtain::hidden_query(const Job& job) const {
  auto query = parse_query(job.spec.query, job.created_at);
  if (!query) return std::string(mask_text);
  bool hides = false;
  for (FieldTest& test : query->tests) {
    const auto path = path_of(test);
    if (!path || !is_masked(*path)) continue;
    test.values = {std::string(mask_text)};
    hides = true;
  }
  return hides ? print_query(*query) : job.spec.query;
}

Job Curtain::hidden(Job job, const Actor& actor) const {
  if (masked_.empty() || may_reveal(actor)) return job;
  job.spec.query = hidden_query(job);
  if (!job.spec.recipe.empty()) {
    auto recipe = parse_recipe(job.spec.recipe);
    if (recipe) {
      each_value(*recipe, [](JsonTree* value, std::string* text) {
        if (value != nullptr) *value = text_tree(mask_text);
        if (text != nullptr) *text = mask_text;
      });
    }
    job.spec.recipe = recipe ? print_recipe(*recipe) : print_tree(text_tree(mask_text));
  }
  if (job.spec.replay) {
    for (Header& header : job.spec.replay->set_headers) {
      if (masks_header(header.name)) header.value = mask_text;
    }
  }
  return job;
}

Result<void> Curtain::check(const JobSpec& spec) const {
  bool found = false;
  if (auto recipe = parse_recipe(spec.recipe)) {
    each_value(*recipe, [&](const JsonTree* value, const std::string* text) {
      found = found || (value != nullptr && holds_mask(*value)) ||
              (text != nullptr && *text == mask_text);
    });
  }
  if (spec.replay) {
    for (const Header& header : spec.replay->set_headers) {
      found = found || (masks_header(header.name) && header.value == mask_text);
    }
  }
  return found ? Result<void>(would_write_mask()) : Result<void>{};
}

}  // namespace dlo::api
