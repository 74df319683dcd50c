#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace dlo::api {

/// Numbers as Prometheus and those who understand it read them (text format 0.0.4).
class MetricsText {
 public:
  static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

  enum class Kind : std::uint8_t { gauge, counter };
  /// What follows, up to the next family, belongs to it.
  MetricsText& family(std::string_view name, Kind kind, std::string_view help);

  using Label = std::pair<std::string_view, std::string_view>;
  MetricsText& sample(std::initializer_list<Label> labels, double value);
  MetricsText& sample(double value) { return sample({}, value); }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace dlo::api
