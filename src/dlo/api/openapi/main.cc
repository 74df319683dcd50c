// openapi_embed OUT.cc PIECE.yaml...
//
// Joins the pieces of the description into one document and writes it, as YAML and as JSON, into a
// source file. A piece has `paths:` and `schemas:`; head.yaml stands first as it is, and `parts:`
// become components. A piece that is no YAML, or says a thing twice, fails the build with its line.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>
#include <yaml.h>

#include "dlo/json/writer.h"

namespace {

/// What a string literal may hold at most (clang warns above 65536).
constexpr std::size_t longest_literal = 30'000;

struct Sections {
  std::string head;
  std::string paths;
  std::string parts;
  std::string schemas;
};

bool add_piece(const std::string& name, Sections& sections) {
  std::ifstream file(name);
  std::string* section = name.ends_with("head.yaml") ? &sections.head : nullptr;
  const bool whole = section != nullptr;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (whole) {
      *section += line + "\n";
    } else if (line == "paths:") {
      section = &sections.paths;
    } else if (line == "parts:") {
      section = &sections.parts;
    } else if (line == "schemas:") {
      section = &sections.schemas;
    } else if (line.empty() || line.front() == '#') {
      continue;
    } else if (section == nullptr || line.front() != ' ') {
      std::fprintf(stderr, "%s:%zu: only paths:, parts: and schemas: may begin a line here\n",
                   name.c_str(), number);
      return false;
    } else {
      *section += (section == &sections.schemas ? "  " : "") + line + "\n";
    }
  }
  return file.eof();
}

bool is_json_scalar(std::string_view text) {
  if (text == "null" || text == "true" || text == "false") return true;
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text == "0" || text.front() != '0');
}

/// YAML events to JSON text.
class Converter {
 public:
  explicit Converter(const std::string& text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Converter() { yaml_parser_delete(&parser_); }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  std::optional<std::string> convert() {
    yaml_event_t event;
    do {
      if (yaml_parser_parse(&parser_, &event) == 0) {
        complain(parser_.problem_mark.line, parser_.problem);
        return std::nullopt;
      }
      const auto type = event.type;
      const bool fine = take(event);
      yaml_event_delete(&event);
      if (!fine) return std::nullopt;
      if (type == YAML_STREAM_END_EVENT) return json_.take();
    } while (true);
  }

 private:
  struct Level {
    bool mapping = false;
    bool wants_key = false;
    std::set<std::string> keys{};
  };

  static void complain(std::size_t line, const char* what) {
    std::fprintf(stderr, "openapi: line %zu of the joined document: %s\n", line + 1, what);
  }
  void begin(bool mapping) {
    before_value();
    levels_.push_back({mapping, mapping});
    if (mapping) {
      json_.begin_object();
    } else {
      json_.begin_array();
    }
  }
  void before_value() {
    if (!levels_.empty() && levels_.back().mapping) levels_.back().wants_key = true;
  }
  bool take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return scalar(event);
      case YAML_MAPPING_START_EVENT:
        begin(true);
        return true;
      case YAML_SEQUENCE_START_EVENT:
        begin(false);
        return true;
      case YAML_MAPPING_END_EVENT:
        levels_.pop_back();
        json_.end_object();
        return true;
      case YAML_SEQUENCE_END_EVENT:
        levels_.pop_back();
        json_.end_array();
        return true;
      case YAML_ALIAS_EVENT:
        complain(event.start_mark.line, "no aliases: a description stands where it is used");
        return false;
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
      case YAML_STREAM_END_EVENT:
      case YAML_DOCUMENT_START_EVENT:
      case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return true;
  }
  bool scalar(const yaml_event_t& event) {
    const std::string text(reinterpret_cast<const char*>(event.data.scalar.value),
                           event.data.scalar.length);
    if (!levels_.empty() && levels_.back().mapping && levels_.back().wants_key) {
      levels_.back().wants_key = false;
      json_.key(text);
      if (levels_.back().keys.insert(text).second) return true;
      complain(event.start_mark.line, ("\"" + text + "\" stands twice").c_str());
      return false;
    }
    before_value();
    const bool plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (plain && text.empty()) {
      complain(event.start_mark.line, "nothing stands here; quote a text that has commas");
      return false;
    }
    if (plain && is_json_scalar(text)) {
      json_.raw(text);
    } else {
      json_.text(text);
    }
    return true;
  }

  yaml_parser_t parser_{};
  dlo::JsonWriter json_;
  std::vector<Level> levels_;
};

void write_literals(std::ofstream& out, const char* name, std::string_view text) {
  out << "\nconst std::string& " << name << "() {\n  static const std::string text = [] {\n"
      << "    std::string all;\n";
  while (!text.empty()) {
    std::size_t size = text.size();
    if (size > longest_literal) {
      size = longest_literal;
      while ((static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;  // whole characters
    }
    out << "    all += R\"~~(" << text.substr(0, size) << ")~~\";\n";
    text.remove_prefix(size);
  }
  out << "    return all;\n  }();\n  return text;\n}\n";
}

}  // namespace

int main(int argc, char** argv) {
  Sections sections;
  for (int i = 2; i < argc; ++i) {
    if (!add_piece(argv[i], sections)) return 1;
  }
  const std::string yaml = sections.head + "paths:\n" + sections.paths + "components:\n" +
                           sections.parts + "  schemas:\n" + sections.schemas;
  const auto json = Converter(yaml).convert();
  if (!json || argc < 3) return 1;
  std::ofstream out(argv[1]);
  out << "// Made by openapi_embed.\n#include \"dlo/api/description.h\"\n\nnamespace dlo::api {\n";
  write_literals(out, "openapi_yaml", yaml);
  write_literals(out, "openapi_json", *json);
  out << "\n}  // namespace dlo::api\n";
  return out.flush() ? 0 : 1;
}
