#include "dlo/config/yaml.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <yaml.h>

#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::size_t deepest = 16;
constexpr std::size_t longest_text = 1024 * 1024;

std::size_t line_of(const yaml_mark_t& mark) {
  return mark.line + 1;
}

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view{} : reinterpret_cast<const char*>(text);
}

/// An event that frees itself.
class Event {
 public:
  Event() = default;
  ~Event() { drop(); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  bool next(yaml_parser_t& parser) {
    drop();
    held_ = yaml_parser_parse(&parser, &event_) != 0;
    return held_;
  }
  [[nodiscard]] const yaml_event_t& get() const noexcept { return event_; }

 private:
  void drop() {
    if (held_) yaml_event_delete(&event_);
    held_ = false;
  }
  yaml_event_t event_{};
  bool held_ = false;
};

/// Walks the events of one file. A syntax error ends the walk; what was read so far is kept.
class Walker {
 public:
  Walker(std::string_view text, std::vector<ConfigProblem>& problems) : problems_(problems) {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    if (!ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Walker() {
    if (ready_) yaml_parser_delete(&parser_);
  }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  TextNode document() {
    TextNode root;
    root.kind = TextNode::Kind::map;
    root.line = 1;
    if (!ready_ || !advance()) return root;                              // stream start
    if (!advance() || type() != YAML_DOCUMENT_START_EVENT) return root;  // an empty file
    if (!advance()) return root;
    if (type() == YAML_SCALAR_EVENT && scalar().empty()) return root;  // comments only
    if (type() != YAML_MAPPING_START_EVENT) {
      complain(line(), "a configuration is made of settings: `name: value`.");
      return root;
    }
    map(root, 0);
    if (failed_ || !advance() || !advance()) return root;  // document end, then the next
    if (type() == YAML_DOCUMENT_START_EVENT) {
      complain(line(), "a second document begins here; a configuration is one.");
    }
    return root;
  }

 private:
  [[nodiscard]] yaml_event_type_t type() const { return event_.get().type; }
  [[nodiscard]] std::size_t line() const { return line_of(event_.get().start_mark); }
  [[nodiscard]] std::string scalar() const {
    const auto& held = event_.get().data.scalar;
    return {reinterpret_cast<const char*>(held.value), held.length};
  }
  void complain(std::size_t where, std::string what) {
    problems_.push_back({where, std::move(what)});
  }

  bool advance() {
    if (failed_) return false;
    if (event_.next(parser_)) return true;
    failed_ = true;
    const std::string_view what = parser_.problem == nullptr ? "unreadable" : parser_.problem;
    std::string said = "this is not YAML: " + std::string(what);
    if (parser_.context != nullptr) said += " " + std::string(parser_.context);
    complain(line_of(opened_here() ? parser_.context_mark : parser_.problem_mark), said + ".");
    return false;
  }

  /// What is opened and never closed is noticed at the end of the file; it is to be mended where it
  /// was opened.
  [[nodiscard]] bool opened_here() const {
    const std::string_view within = parser_.context == nullptr ? "" : parser_.context;
    return within.find("flow") != std::string_view::npos ||
           within.find("quoted") != std::string_view::npos;
  }

  void refuse_marks(const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (anchor != nullptr) {
      complain(line(), "anchors (&" + std::string(text_of(anchor)) +
                           ") are not read; write the value where it is meant.");
    }
    if (tag != nullptr) {
      complain(line(), "tags (" + std::string(text_of(tag)) +
                           ") are not read; a setting knows its own type.");
    }
  }

  /// The value that begins at the present event. False: the file ends in the middle of it.
  bool value(TextNode& node, std::size_t depth) {
    node.line = line();
    if (depth > deepest) {
      complain(line(), "nested too deeply.");
      failed_ = true;
      return false;
    }
    const yaml_event_t& event = event_.get();
    if (type() == YAML_SCALAR_EVENT) {
      refuse_marks(event.data.scalar.anchor, event.data.scalar.tag);
      node.scalar = scalar();
      node.quoted = event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
      if (node.scalar.empty() && event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        complain(line(), "a value is missing here; for an empty text write \"\".");
      }
      return true;
    }
    if (type() == YAML_MAPPING_START_EVENT) {
      refuse_marks(event.data.mapping_start.anchor, event.data.mapping_start.tag);
      node.kind = TextNode::Kind::map;
      return map(node, depth);
    }
    if (type() == YAML_SEQUENCE_START_EVENT) {
      refuse_marks(event.data.sequence_start.anchor, event.data.sequence_start.tag);
      node.kind = TextNode::Kind::list;
      return list(node, depth);
    }
    complain(line(), "aliases (*" + std::string(text_of(event.data.alias.anchor)) +
                         ") are not read; write the value where it is meant.");
    return true;
  }

  bool list(TextNode& node, std::size_t depth) {
    while (advance() && type() != YAML_SEQUENCE_END_EVENT) {
      TextNode item;
      if (!value(item, depth + 1)) return false;
      node.list.push_back(std::move(item));
    }
    return !failed_;
  }

  bool map(TextNode& node, std::size_t depth) {
    while (advance() && type() != YAML_MAPPING_END_EVENT) {
      const std::size_t at = line();
      std::optional<std::string> key;
      if (type() == YAML_SCALAR_EVENT) {
        refuse_marks(event_.get().data.scalar.anchor, event_.get().data.scalar.tag);
        key = scalar();
      } else {
        complain(at, "the name of a setting is plain text.");
        TextNode skipped;
        if (!value(skipped, depth + 1)) return false;
      }
      TextNode held;
      if (!advance() || !value(held, depth + 1)) return false;
      if (key) add(node, std::move(*key), at, std::move(held));
    }
    return !failed_;
  }

  void add(TextNode& node, std::string key, std::size_t at, TextNode held) {
    const auto before = std::find_if(node.map.begin(), node.map.end(),
                                     [&](const TextEntry& each) { return each.key == key; });
    if (before != node.map.end()) {
      return complain(at, in_quotes(key) + " is given twice; the first is in line " +
                              std::to_string(before->value.line) + ". Keep one of them.");
    }
    if (held.kind != TextNode::Kind::scalar) held.line = at;  // where its name stands
    node.map.push_back({std::move(key), std::move(held)});
  }

  yaml_parser_t parser_{};
  bool ready_ = false;
  bool failed_ = false;
  Event event_;
  std::vector<ConfigProblem>& problems_;
};

}  // namespace

YamlReading read_yaml(std::string_view text) {
  YamlReading reading;
  reading.root.kind = TextNode::Kind::map;
  if (text.empty()) return reading;  // libyaml wants at least an address
  if (text.size() > longest_text) {
    reading.problems.push_back({1, "the file is longer than 1 MB."});
  } else if (!is_utf8(text)) {
    reading.problems.push_back({1, "the file is not UTF-8."});
  } else {
    reading.root = Walker(text, reading.problems).document();
  }
  return reading;
}

}  // namespace dlo
