#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dlo/core/failure.h"
#include "dlo/core/message.h"
#include "dlo/core/profile.h"

namespace dlo {

/// Looks at a message before its handler runs (DESIGN 3, step 3). Each validator belongs to one
/// stage; the profile says in which order the stages come and what a refusal leads to.
/// Pure and total: no I/O, never throws for any bytes, any thread without locking.
class Validator {
 public:
  virtual ~Validator() = default;
  [[nodiscard]] virtual Stage stage() const noexcept = 0;
  /// Empty: the message passes. Otherwise what is wrong with it, for the record and for people.
  [[nodiscard]] virtual std::optional<Failure> check(const Message& message) const = 0;
};

using Validators = std::vector<std::shared_ptr<const Validator>>;

/// A C++ function as a validator.
class FunctionValidator final : public Validator {
 public:
  using Function = std::function<std::optional<Failure>(const Message&)>;
  FunctionValidator(Stage stage, Function function)
      : stage_(stage), function_(std::move(function)) {}
  [[nodiscard]] Stage stage() const noexcept override { return stage_; }
  [[nodiscard]] std::optional<Failure> check(const Message& message) const override {
    return function_(message);
  }

 private:
  Stage stage_;
  Function function_;
};

}  // namespace dlo
