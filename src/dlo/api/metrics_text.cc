#include "dlo/api/metrics_text.h"

#include <array>
#include <charconv>

namespace dlo::api {
namespace {

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

MetricsText& MetricsText::family(std::string_view name, Kind kind, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ +
           (kind == Kind::gauge ? " gauge\n" : " counter\n");
  return *this;
}

MetricsText& MetricsText::sample(std::initializer_list<Label> labels, double value) {
  text_ += name_;
  char before = '{';
  for (const auto& [name, said] : labels) {
    text_ += before + std::string(name) + "=\"" + escaped(said) + '"';
    before = ',';
  }
  if (labels.size() > 0) text_ += '}';
  std::array<char, 512> number{};  // of any size
  const auto end =
      std::to_chars(number.data(), number.data() + number.size(), value, std::chars_format::fixed);
  text_ += ' ' + std::string(number.data(), end.ptr) + '\n';
  return *this;
}

}  // namespace dlo::api
