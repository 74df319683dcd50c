#include <functional>

#include "dlo/cli/shell_help.h"

namespace dlo::cli {
namespace {

void each_verb(const VerbInfo& verb, const std::function<void(const VerbInfo&)>& visit) {
  visit(verb);
  for (const VerbInfo& each : verb.verbs) each_verb(each, visit);
}

std::string long_names(const VerbInfo& verb) {
  std::string words;
  for (const auto& option : verb.options) {
    for (const std::string& name : option.names) words += " " + name;
  }
  return words;
}

std::string candidates(const VerbInfo& verb) {
  std::string words;
  for (const VerbInfo& each : verb.verbs) {
    words += " " + each.name;
    for (const std::string& alias : each.aliases) words += " " + alias;
  }
  return words + long_names(verb);
}

/// For single quotes of any shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Shell code that finds the verb typed so far in `path`: a case for every step there is.
std::string steps(const VerbInfo& program) {
  std::string code;
  each_verb(program, [&](const VerbInfo& verb) {
    for (const VerbInfo& each : verb.verbs) {
      code += "      " + quoted(verb.path + " " + each.name);
      for (const std::string& alias : each.aliases) code += "|" + quoted(verb.path + " " + alias);
      code += ") path=" + quoted(each.path) + " ;;\n";
    }
  });
  return code;
}

}  // namespace

std::string bash_completion(const VerbInfo& program) {
  std::string code = R"(# bash completion of dlo, made by `dlo completion bash`
_dlo() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" path='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
)" + steps(program) + R"(    esac
  done
  COMPREPLY=()
)";
  each_verb(program, [&](const VerbInfo& verb) {
    for (const auto& option : verb.options) {
      if (option.choices.empty()) continue;
      std::string words;
      for (const std::string& each : option.choices) words += (words.empty() ? "" : " ") + each;
      for (const std::string& name : option.names) {
        code += "  [[ \"$path $previous\" == " + quoted(verb.path + " " + name) +
                " ]] && { COMPREPLY=($(compgen -W " + quoted(words) +
                " -- \"$current\")); return; }\n";
      }
    }
  });
  code += "  case \"$path\" in\n";
  each_verb(program, [&](const VerbInfo& verb) {
    code += "    " + quoted(verb.path) + ") COMPREPLY=($(compgen -W " + quoted(candidates(verb)) +
            " -- \"$current\")) ;;\n";
  });
  return code + R"(  esac
}
complete -o default -F _dlo dlo
)";
}

std::string zsh_completion(const VerbInfo& program) {
  std::string code = R"(#compdef dlo
# zsh completion of dlo, made by `dlo completion zsh`
_dlo() {
  local path_='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$path_ ${words[i]}" in
)";
  std::string cases = steps(program);
  for (std::size_t at = 0; (at = cases.find(" path=", at)) != std::string::npos; at += 7) {
    cases.replace(at, 6, " path_=");
  }
  code += cases + R"(    esac
  done
  local option="${words[CURRENT-1]}"
  if [[ "$PREFIX" == --*=* ]]; then
    option="${PREFIX%%=*}"
    compset -P '*='
  fi
  case "$path_ $option" in
)";
  each_verb(program, [&](const VerbInfo& verb) {
    for (const auto& option : verb.options) {
      if (option.choices.empty()) continue;
      std::string names;
      for (const std::string& name : option.names) {
        names += (names.empty() ? "" : "|") + quoted(verb.path + " " + name);
      }
      code += "    " + names + ") compadd --";
      for (const std::string& each : option.choices) code += " " + each;
      code += "; return ;;\n";
    }
  });
  code += "  esac\n  case \"$path_\" in\n";
  const auto entry = [](const std::string& name, const std::string& about) {
    std::string plain = name;
    for (std::size_t at = 0; (at = plain.find(':', at)) != std::string::npos; at += 2) {
      plain.replace(at, 1, "\\:");
    }
    return " " + quoted(plain + ":" + about);
  };
  each_verb(program, [&](const VerbInfo& verb) {
    code += "    " + quoted(verb.path) + ") found=(";
    for (const VerbInfo& each : verb.verbs) code += entry(each.name, each.about);
    for (const auto& option : verb.options) {
      for (const std::string& name : option.names) code += entry(name, option.about);
    }
    code += ") ;;\n";
  });
  return code + R"(  esac
  _describe 'dlo' found || _files
}
_dlo "$@"
)";
}

std::string fish_completion(const VerbInfo& program) {
  std::string code = R"(# fish completion of dlo, made by `dlo completion fish`
function __dlo_path
  set -l path ''
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
)";
  each_verb(program, [&](const VerbInfo& verb) {
    for (const VerbInfo& each : verb.verbs) {
      code += "      case " + quoted(verb.path + " " + each.name);
      for (const std::string& alias : each.aliases) code += " " + quoted(verb.path + " " + alias);
      code += "\n        set path " + quoted(each.path) + "\n";
    }
  });
  code += R"(    end
  end
  test "$path" = "$argv[1]"
end
complete -c dlo -f
)";
  each_verb(program, [&](const VerbInfo& verb) {
    // Inside double quotes of -n, so that the path stays one word.
    const std::string when = "complete -c dlo -n \"__dlo_path '" + verb.path + "'\"";
    for (const VerbInfo& each : verb.verbs) {
      code += when + " -a " + each.name + " -d " + quoted(each.about) + "\n";
    }
    for (const auto& option : verb.options) {
      if (option.names.empty()) continue;
      code += when;
      for (const std::string& name : option.names) {
        code += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      std::string words;
      for (const std::string& each : option.choices) words += (words.empty() ? "" : " ") + each;
      if (!option.value.empty()) code += words.empty() ? " -r" : " -x";  // -x: no files
      if (!words.empty()) code += " -a " + quoted(words);
      code += " -d " + quoted(option.about) + "\n";
    }
  });
  return code;
}

}  // namespace dlo::cli
