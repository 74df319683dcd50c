#include "dlo/core/stack.h"

#include <algorithm>
#include <array>
#include <optional>

#include "dlo/core/stack_tables.h"

namespace dlo {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t text_limit = 64 * 1024;
constexpr std::size_t frame_limit = 64;
constexpr std::size_t name_limit = 256;

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view trimmed(std::string_view text) {
  const auto is_gap = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && is_gap(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_gap(text.back())) text.remove_suffix(1);
  return text;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, text.find(mark));
}

/// Removes `:12` or `:12:5` from the end; true if there was one.
bool drop_line_number(std::string_view& file) {
  bool dropped = false;
  for (int i = 0; i < 2; ++i) {
    const std::size_t colon = file.rfind(':');
    if (colon == npos || colon + 1 == file.size()) break;
    if (!std::ranges::all_of(file.substr(colon + 1), is_digit)) break;
    file = file.substr(0, colon);
    dropped = true;
  }
  return dropped;
}

/// `/srv/app-v12/orders/service.py` is `orders/service`: deployments move, modules stay.
std::string_view module_of(std::string_view file) {
  const std::size_t dot = file.rfind('.');
  const std::size_t last = file.find_last_of("/\\");
  if (dot != npos && (last == npos || dot > last)) file = file.substr(0, dot);
  if (last == npos || last == 0) return file;
  const std::size_t second = file.find_last_of("/\\", last - 1);
  return second == npos ? file : file.substr(second + 1);
}

/// Keeps the letters of a name: digits count lambdas, closures and generated classes.
std::string without_numbers(std::string_view name) {
  std::string kept;
  for (std::size_t i = 0; i < name.size() && kept.size() < name_limit; ++i) {
    // A hash behind a name: Foo$$Lambda/0x0000, core::foo::h0123456789abcdef
    if (name[i] == '/' && name.substr(i, 3) == "/0x") break;
    if (name.substr(i, 3) == "::h" && name.size() - i == 19) break;
    if (!is_digit(name[i]) && static_cast<unsigned char>(name[i]) > ' ') kept += name[i];
  }
  return kept;
}

/// `Acme.Orders.<HandleAsync>d__4.MoveNext` is `Acme.Orders.HandleAsync`.
std::string plain_dotnet(std::string_view name) {
  std::string plain;
  const std::size_t open = name.find('<');
  const std::size_t close = name.find('>');
  if (open == npos || close == npos || close < open + 2) return std::string(name);
  plain = name.substr(0, open);
  if (plain.ends_with(".")) plain.pop_back();
  if (plain.ends_with(".<>c") || plain.ends_with("+")) plain.pop_back();
  return plain + "." + std::string(name.substr(open + 1, close - open - 1));
}

bool is_library(std::string_view function, std::string_view file) {
  const auto in_file = [&](std::string_view part) { return file.find(part) != npos; };
  return std::ranges::any_of(stack_tables::library_files, in_file) ||
         std::ranges::any_of(stack_tables::libraries,
                             [&](std::string_view name) { return function.starts_with(name); });
}

std::optional<StackFrame> frame(std::string_view function, std::string_view file) {
  std::string name = without_numbers(trimmed(function));
  if (std::ranges::none_of(name, is_alpha)) return std::nullopt;
  const bool library = is_library(name, file);
  return StackFrame{std::move(name), library};
}

/// `function` inside `file`, for languages whose functions have no package.
std::optional<StackFrame> frame_in_file(std::string_view function, std::string_view file) {
  if (file.size() > 1024) return std::nullopt;
  const std::string name = std::string(module_of(file)) + ":" + std::string(trimmed(function));
  auto made = frame(name, "");
  if (made) made->library = is_library(function, file);
  return made;
}

// --- one reader per shape; `line` has no white space around it

/// Java, .NET and JavaScript: `at …`
std::optional<StackFrame> read_at(std::string_view line) {
  if (!take(line, "at ")) return std::nullopt;
  take(line, "async ");
  take(line, "new ");
  const std::size_t open = line.rfind('(');
  if (open != npos && line.ends_with(')')) {
    std::string_view place = line.substr(open + 1, line.size() - open - 2);
    const bool two_numbers = place.find(':') != place.rfind(':');
    if (two_numbers && drop_line_number(place)) return frame_in_file(line.substr(0, open), place);
  }
  if (open == npos) {
    std::string_view place = line;
    if (drop_line_number(place)) {
      if (place.ends_with(".rs")) return std::nullopt;  // Rust: the line before has the name
      return frame_in_file("<anonymous>", place);
    }
  }
  std::string_view name = before(line, "(");
  const std::size_t module = name.rfind('/');  // java.base/java.lang.Thread.run, app//com.acme.Foo
  const bool has_module = module != npos && name.find("$$Lambda") == npos;
  if (has_module) name.remove_prefix(module + 1);
  if (name.find(' ') != npos) name = before(name, " in ");
  if (name.find(' ') != npos || name.empty()) return std::nullopt;
  return frame(plain_dotnet(name), "");
}

/// Python: `File "x.py", line 3, in function`
std::optional<StackFrame> read_python(std::string_view line) {
  if (!take(line, "File \"")) return std::nullopt;
  const std::string_view file = before(line, "\"");
  if (file.empty() || file.size() == line.size()) return std::nullopt;
  const std::size_t in = line.rfind(", in ");
  return frame_in_file(in == npos ? "<module>" : line.substr(in + 5), file);
}

/// Ruby: `/app/x.rb:3:in 'function'`
std::optional<StackFrame> read_ruby(std::string_view line) {
  take(line, "from ");
  const std::size_t in = line.find(":in ");
  if (in == npos) return std::nullopt;
  std::string_view file = line.substr(0, in);
  if (!drop_line_number(file)) return std::nullopt;
  std::string_view function = line.substr(in + 4);
  if (!function.empty()) function = before(function.substr(1), "'");
  take(function, "block in ");
  return frame_in_file(function, file);
}

/// Numbered: gdb `#1 0x… in f (…) at x.c:3`, boost ` 1# f(int) at x.cc:3`, Rust `1: f`,
/// PHP `#1 /app/x.php(3): f()`
std::optional<StackFrame> read_numbered(std::string_view line) {
  const bool hash = take(line, "#");
  std::size_t digits = 0;
  while (digits < line.size() && is_digit(line[digits])) ++digits;
  if (digits == 0 || digits > 4) return std::nullopt;
  line.remove_prefix(digits);
  if (!hash && !take(line, "# ") && !take(line, ": ")) return std::nullopt;
  line = trimmed(line);
  if (const std::size_t call = line.find("): "); hash && call != npos) {
    return frame_in_file(before(line.substr(call + 3), "("), before(line, "("));
  }
  if (line.starts_with("0x")) {
    const std::size_t in = line.find(" in ");
    const std::size_t dash = line.find(" - ");
    if (in == npos && dash == npos) return std::nullopt;
    line.remove_prefix(in != npos ? in + 4 : dash + 3);
  }
  const std::size_t at = line.rfind(" at ");
  const std::string_view file = at == npos ? std::string_view{} : line.substr(at + 4);
  return frame(before(before(before(line, "("), " at "), " in "), file);
}

/// backtrace_symbols: `./app(_ZN4acme3fooEv+0x1a) [0x55d0]`
std::optional<StackFrame> read_symbols(std::string_view line) {
  const std::size_t open = line.find('(');
  const std::size_t plus = line.find("+0x", open == npos ? 0 : open);
  if (open == npos || plus == npos || !line.ends_with(']')) return std::nullopt;
  std::string_view name = line.substr(open + 1, plus - open - 1);
  if (name.empty()) return std::nullopt;
  const bool library = is_library(name, line.substr(0, open));
  return StackFrame{std::string(name.substr(0, name_limit)), library};  // digits are its spelling
}

/// Go puts the place on a line of its own: `main.pay(0x1)` and then `\t/app/main.go:42 +0x1d`.
std::optional<StackFrame> read_go(std::string_view previous, std::string_view line) {
  std::string_view file = before(line, " +0x");
  if (!drop_line_number(file) || !file.ends_with(".go")) return std::nullopt;
  take(previous, "created by ");
  previous = before(previous, " in goroutine");
  std::string_view name = previous;
  if (previous.ends_with(')')) name = previous.substr(0, previous.rfind('('));
  return frame(name, file);
}

// --- the whole trace

class Reader {
 public:
  StackReading read(std::string_view stack) {
    stack = stack.substr(0, text_limit);
    while (!stack.empty()) {
      const std::size_t end = stack.find('\n');
      const std::string_view whole = stack.substr(0, end);
      line(trimmed(whole), whole.starts_with(' ') || whole.starts_with('\t'));
      stack.remove_prefix(end == npos ? stack.size() : end + 1);
    }
    if (python_) std::ranges::reverse(reading_.frames);  // it prints the innermost last
    if (reading_.frames.size() > frame_limit) reading_.frames.resize(frame_limit);
    return std::move(reading_);
  }

 private:
  void line(std::string_view text, bool indented) {
    if (text.starts_with("Traceback (most recent call last)")) {
      // Python prints the cause first; what was raised while handling it comes after.
      python_ = true;
      done_ = !reading_.frames.empty();
    } else if (take(text, "Caused by: ")) {
      reading_.frames.clear();  // Java prints the root last
      name_root(text);
    } else if (done_) {
      return;
    } else if (auto found = read_frame(text)) {
      add(std::move(*found));
    } else if (python_ && !indented && !reading_.frames.empty() && reading_.root_type.empty()) {
      name_root(text);
    }
    previous_ = text;
  }

  std::optional<StackFrame> read_frame(std::string_view text) {
    std::optional<StackFrame> found;
    if (text.size() > 4096) return found;
    for (const auto reader : {read_at, read_python, read_numbered, read_ruby, read_symbols}) {
      if (!found) found = reader(text);
    }
    if (!found) found = read_go(previous_, text);
    return found;
  }

  /// Only as many as a recursion can print twice over; a Python trace needs its end, so the
  /// middle goes.
  void add(StackFrame found) {
    if (!reading_.frames.empty() && reading_.frames.back() == found) return;  // recursion
    reading_.frames.push_back(std::move(found));
    if (python_ && reading_.frames.size() > frame_limit)
      reading_.frames.erase(reading_.frames.begin());
  }

  /// `com.acme.PaymentException: card declined`
  void name_root(std::string_view text) {
    const std::size_t colon = text.find(": ");
    const std::string_view type = text.substr(0, colon);
    if (type.empty() || type.size() > name_limit || type.find(' ') != npos) return;
    reading_.root_type = type;
    reading_.root_text = colon == npos ? std::string_view{} : text.substr(colon + 2);
  }

  StackReading reading_;
  std::string_view previous_;
  bool python_ = false;
  bool done_ = false;
};

}  // namespace

StackReading read_stack(std::string_view stack) {
  return Reader().read(stack);
}

}  // namespace dlo
