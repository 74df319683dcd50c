#pragma once

#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "conformance/office/saboteur.h"

namespace dlo::testing {

/// Changes of one kind are spoilt before they reach the office.
template <typename Kind, typename Spoil>
Hooks spoiling(Spoil spoil) {
  Hooks hooks;
  hooks.changes = [spoil](std::vector<Change>& changes) {
    for (Change& change : changes) {
      if (auto* one = std::get_if<Kind>(&change)) spoil(*one);
    }
  };
  return hooks;
}

/// What is read of a record is spoilt.
inline Hooks on_detail(std::function<void(RecordDetail&)> spoil) {
  Hooks hooks;
  hooks.detail = std::move(spoil);
  return hooks;
}

}  // namespace dlo::testing
