// A profile as text. `fields` lists the settings of each part once; the printer and the reader both
// walk it, so neither can know a setting the other does not.
#include "dlo/core/profile_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <type_traits>

#include "dlo/core/duration.h"
#include "dlo/core/enum_names.h"
#include "dlo/core/profile.h"
#include "dlo/core/reachable.h"
#include "dlo/core/spelling.h"
#include "dlo/core/text_tree.h"

namespace dlo {
namespace {

template <typename Io, typename P>
void check_fields(Io& io, P& p) {
  io("counter", p.counter);
  io("op", p.comparison);
  io("limit", p.limit);
  io("reason", p.reason);
  io("description", p.description);
}
template <typename Io, typename P>
void rule_fields(Io& io, P& p) {
  io("name", p.name);
  io("match", p.match);
  io("values", p.values);
  io("except", p.except);
  io("category", p.category);
}
template <typename Io, typename P>
void category_fields(Io& io, P& p) {
  io("action", p.action);
  io("policy", p.policy);
  io("limit", p.limit);
  io("reason", p.reason);
}
template <typename Io, typename P>
void inner_fields(Io& io, P& p) {
  io("retries", p.retries);
  io("policy", p.policy);
  io("retry_on", p.retry_on);
}
template <typename Io, typename P>
void retention_fields(Io& io, P& p) {
  io("status", p.status);
  io("age", p.age);
  io("act", p.act);
  io("from", p.from);
}
template <typename Io, typename P>
void capacity_fields(Io& io, P& p) {
  io("records", p.records);
  io("bytes", p.bytes);
}
template <typename Io, typename P>
void reason_fields(Io& io, P& p) {
  io("non_retryable", p.non_retryable);
  io("non_retryable_description", p.non_retryable_description);
  io("invalid_header", p.invalid_header);
  io("invalid_decode", p.invalid_decode);
  io("invalid_schema", p.invalid_schema);
  io("expired", p.expired);
  io("crash", p.crash);
  io("never", p.never);
  io("use_error_type", p.use_error_type);
}
template <typename Io, typename P>
void profile_fields(Io& io, P& p) {
  io("name", p.name);
  io("summary", p.summary);
  io("limit", p.limit);
  io("pre_check", p.pre_check);
  io("post_check", p.post_check);
  io("retry", p.retry);
  io("unregistered", p.unregistered);
  io("placement", p.placement);
  io("rules", p.rules);
  io("default_category", p.default_category);
  io("empty_error_category", p.empty_error_category);
  io("categories", p.categories);
  io("validation", p.validation);
  io("invalid", p.invalid);
  io("invalid_category", p.invalid_category);
  io("invalid_keeps_count", p.invalid_keeps_count);
  io("crash_counts", p.crash_counts);
  io("failure_abandons", p.failure_abandons);
  io("claims_count", p.claims_count);
  io("store_failure", p.store_failure);
  io("owner_effect", p.owner_effect);
  io("replay_count", p.replay_count);
  io("replay_limit", p.replay_limit);
  io("first_attempt", p.first_attempt);
  io("strategy", p.strategy);
  io("skips", p.skips);
  io("inner", p.inner);
  io("retention", p.retention);
  io("capacity", p.capacity);
  io("reasons", p.reasons);
  io("exhausted_status", p.exhausted_status);
  io("form", p.form);
}

template <typename Io, typename P>
void fields(Io& io, P& part) {
  using Part = std::remove_const_t<P>;
  if constexpr (std::is_same_v<Part, Check>) check_fields(io, part);
  if constexpr (std::is_same_v<Part, Rule>) rule_fields(io, part);
  if constexpr (std::is_same_v<Part, CategoryRule>) category_fields(io, part);
  if constexpr (std::is_same_v<Part, InnerPipeline>) inner_fields(io, part);
  if constexpr (std::is_same_v<Part, RetentionRule>) retention_fields(io, part);
  if constexpr (std::is_same_v<Part, Capacity>) capacity_fields(io, part);
  if constexpr (std::is_same_v<Part, ReasonNames>) reason_fields(io, part);
  if constexpr (std::is_same_v<Part, Profile>) profile_fields(io, part);
}

template <typename T>
concept Scalar =
    std::is_same_v<T, std::string> || std::is_same_v<T, bool> || std::is_enum_v<T> ||
    std::is_integral_v<T> || std::is_same_v<T, Millis> || std::is_same_v<T, RetryPolicy>;

class Printer {
 public:
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  template <Scalar T>
  void operator()(std::string_view name, const T& value) {
    begin(name);
    text_ += ' ' + scalar(value) + '\n';
  }
  template <typename T>
  void operator()(std::string_view name, const std::vector<T>& values) {
    begin(name);
    if (values.empty()) {
      text_ += " []\n";
      return;
    }
    text_ += '\n';
    for (const T& value : values) item(value);
  }
  template <typename T>
  void operator()(std::string_view name, const std::map<std::string, T, std::less<>>& values) {
    begin(name);
    text_ += values.empty() ? " {}\n" : "\n";
    indent_ += 2;
    for (const auto& [key, value] : values) (*this)(print_scalar(key), value);
    indent_ -= 2;
  }
  template <typename T>
    requires(!Scalar<T>)
  void operator()(std::string_view name, const T& part) {
    begin(name);
    const std::size_t before = text_.size();
    text_ += '\n';
    indent_ += 2;
    fields(*this, part);
    indent_ -= 2;
    if (text_.size() == before + 1) text_.replace(before, 1, " {}\n");  // nothing was set
  }

  std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view name) {
    if (at_item_) {
      at_item_ = false;
    } else {
      text_.append(indent_, ' ');
    }
    text_ += name;
    text_ += ':';
  }

  template <typename T>
  void item(const T& value) {
    text_.append(indent_ + 2, ' ');
    text_ += "- ";
    if constexpr (Scalar<T>) {
      text_ += scalar(value) + '\n';
    } else {
      at_item_ = true;
      indent_ += 4;
      fields(*this, value);
      indent_ -= 4;
    }
  }

  template <typename T>
  static std::string scalar(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return print_scalar(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
      return print_scalar(enum_name(value));
    } else if constexpr (std::is_same_v<T, Millis>) {
      return print_duration(value);
    } else if constexpr (std::is_same_v<T, RetryPolicy>) {
      return print_scalar(print(value));
    } else {
      return std::to_string(value);
    }
  }

  std::string text_;
  std::size_t indent_ = 0;
  bool at_item_ = false;  // "- " is written: the next name continues that line
};

bool has(const TextNode& node, std::string_view setting) {
  return std::ranges::any_of(node.map, [&](const TextEntry& each) { return each.key == setting; });
}

/// Reads one map of settings; whatever is wrong is kept, the rest is read all the same.
class Reader {
 public:
  Reader(const TextNode& node, std::vector<TextComplaint>& complaints)
      : node_(node), complaints_(complaints) {
    if (node.kind != TextNode::Kind::map) fail(node, "settings are expected here: `name: value`.");
  }

  template <typename T>
  void operator()(std::string_view name, T& value) {
    known_.push_back(name);
    for (const auto& [key, node] : node_.map) {
      if (key == name) read(node, value, name);
    }
  }

  /// Call last: whatever was not asked for is a mistake.
  void refuse_unknown() {
    for (const auto& [key, node] : node_.map) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        fail(node, unknown_name("setting", key, known_));
      }
    }
  }

 private:
  void fail(const TextNode& node, const std::string& why) {
    complaints_.push_back({node.line, why});
  }

  bool want(const TextNode& node, TextNode::Kind kind, std::string_view name,
            std::string_view what) {
    if (node.kind == kind) return true;
    fail(node, std::string(name) + " must be " + std::string(what) + ".");
    return false;
  }

  template <typename T>
  void read(const TextNode& node, std::optional<T>& value, std::string_view name) {
    read(node, value.emplace(), name);
  }
  template <Scalar T>
  void read(const TextNode& node, T& value, std::string_view name) {
    if (want(node, TextNode::Kind::scalar, name, "one value")) read_scalar(node, value, name);
  }
  template <typename T>
  void read(const TextNode& node, std::vector<T>& values, std::string_view name) {
    if (!want(node, TextNode::Kind::list, name, "a list: [a, b], or one `- item` a line")) return;
    values.clear();
    for (const TextNode& item : node.list) {
      T value{};
      read(item, value, name);
      values.push_back(std::move(value));
    }
  }
  template <typename T>
  void read(const TextNode& node, std::map<std::string, T, std::less<>>& values,
            std::string_view name) {
    if (!want(node, TextNode::Kind::map, name, "settings by name")) return;
    // What is not named stays as the base has it, as with every other part.
    for (const auto& [key, item] : node.map) {
      read(item, values[key], key);
      if constexpr (std::is_same_v<T, CategoryRule>) mean_a_policy(item, values[key]);
    }
  }
  /// Who gives a category a policy wants it retried, also if the base ends it.
  static void mean_a_policy(const TextNode& node, CategoryRule& category) {
    if (has(node, "policy") && !has(node, "action")) category.action = Action::retry;
  }
  template <typename T>
    requires(!Scalar<T>)
  void read(const TextNode& node, T& part, std::string_view /*name*/) {
    Reader reader(node, complaints_);
    fields(reader, part);
    reader.refuse_unknown();
  }

  void read_scalar(const TextNode& node, std::string& value, std::string_view /*name*/) {
    value = node.scalar;
  }
  void read_scalar(const TextNode& node, bool& value, std::string_view name) {
    value = node.scalar == "true";
    if (!value && node.scalar != "false") {
      fail(node, std::string(name) + " must be true or false, not " + in_quotes(node.scalar) + ".");
    }
  }
  void read_scalar(const TextNode& node, Millis& value, std::string_view name) {
    auto read = parse_duration(node.scalar);
    if (!read) return fail(node, std::string(name) + ": " + read.error().detail);
    value = *read;
  }
  void read_scalar(const TextNode& node, RetryPolicy& value, std::string_view name) {
    auto read = parse_policy(node.scalar);
    if (!read) return fail(node, std::string(name) + ": " + read.error().detail);
    value = std::move(*read);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void read_scalar(const TextNode& node, T& value, std::string_view name) {
    const auto found = enum_value<T>(node.scalar);
    if (!found) return fail(node, unknown_name(name, node.scalar, enum_names<T>));
    value = *found;
  }
  template <typename T>
    requires std::is_integral_v<T>
  void read_scalar(const TextNode& node, T& value, std::string_view name) {
    const char* const end = node.scalar.data() + node.scalar.size();
    const auto [stop, problem] = std::from_chars(node.scalar.data(), end, value);
    if (problem != std::errc{} || stop != end) {
      fail(node, std::string(name) + " must be a whole number from 0 to " +
                     std::to_string(std::numeric_limits<T>::max()) + ", not " +
                     in_quotes(node.scalar) + ".");
    }
  }

  const TextNode& node_;
  std::vector<TextComplaint>& complaints_;
  std::vector<std::string_view> known_;
};

/// Other rules may lead elsewhere: what the base has for categories that are left behind goes.
void forget_unreachable(const TextNode& node, Profile& profile) {
  const auto reachable = reachable_categories(profile);
  const auto is_named = [&](const std::string& category) {
    for (const auto& [key, part] : node.map) {
      if (key == "categories" && has(part, category)) return true;
    }
    return false;
  };
  std::erase_if(profile.categories, [&](const auto& each) {
    return !reachable.contains(each.first) && !is_named(each.first);
  });
}

}  // namespace

std::string print(const Profile& profile) {
  Printer printer;
  fields(printer, profile);
  return printer.take();
}

std::vector<TextComplaint> read_settings(const TextNode& node, Profile& profile) {
  std::vector<TextComplaint> complaints;
  Reader reader(node, complaints);
  fields(reader, profile);
  reader.refuse_unknown();
  forget_unreachable(node, profile);
  return complaints;
}

Result<Profile> parse_profile(std::string_view text) {
  auto tree = parse_text_tree(text);
  if (!tree) return tree.error();
  Profile profile;
  const auto complaints = read_settings(*tree, profile);
  if (!complaints.empty()) {
    return Error{
        Code::invalid_argument, "core.profile",
        "line " + std::to_string(complaints.front().line) + ": " + complaints.front().text};
  }
  if (auto checked = check(profile); !checked) return checked.error();
  return profile;
}

}  // namespace dlo
