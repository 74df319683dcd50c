#include "dlo/engine/capture.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <utility>

namespace dlo {
namespace {

constexpr std::size_t longest_chain = 32;

/// Type and text of the exception being handled; what it wraps goes to `inner`.
Cause describe(const std::exception_ptr& thrown, std::exception_ptr& inner) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    if (const auto* nested = dynamic_cast<const std::nested_exception*>(&error)) {
      inner = nested->nested_ptr();
    }
    return {type_name(typeid(error)), error.what()};
  } catch (const std::string& text) {
    return {"std::string", text};
  } catch (const char* text) {
    return {"const char*", text == nullptr ? "" : text};
  } catch (const std::nested_exception& wrapper) {
    inner = wrapper.nested_ptr();
    return {type_name(typeid(wrapper)), ""};
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    std::string name = type == nullptr ? "unknown" : type_name(*type);
    std::string text = "threw a value of type " + name + ", which says nothing more";
    return {std::move(name), std::move(text)};
  }
}

/// std::throw_with_nested wraps the thrown type; people know it by its own name.
std::string unwrapped(std::string name) {
  constexpr std::string_view prefix = "std::_Nested_exception<";
  if (name.starts_with(prefix) && name.ends_with('>')) {
    name = name.substr(prefix.size(), name.size() - prefix.size() - 1);
  }
  return name;
}

}  // namespace

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return unwrapped(status == 0 && text ? text.get() : type.name());
}

Failure failure_of(const std::exception_ptr& thrown) {
  Failure failure;
  std::exception_ptr inner;
  Cause top = describe(thrown, inner);
  failure.type = std::move(top.type);
  failure.text = std::move(top.text);
  while (inner && failure.causes.size() < longest_chain) {
    std::exception_ptr next;
    failure.causes.push_back(describe(inner, next));
    inner = std::move(next);
  }
  return failure;
}

Outcome run_captured(Handler& handler, const Message& message, const RunContext& context) {
  try {
    return handler.run(message, context);
  } catch (...) {
    return {OutcomeKind::failed, failure_of(std::current_exception())};
  }
}

}  // namespace dlo
