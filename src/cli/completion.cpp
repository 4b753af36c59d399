#include "cli/completion.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/spelling.h"
#include "ops/operation.h"

namespace nl::cli {
namespace {

std::string flags_of(const ops::Operation& operation) {
  std::string flags;
  const auto& schema = ops::parameters_schema(operation);
  for (const auto& [name, property] : schema["properties"].items()) {
    if (property.contains("x-positional") || property.contains("x-behind-dashes")) continue;
    flags += flag_name(name) + " ";
  }
  if (ops::has_budget(operation)) flags += "--brief ";
  return flags + "--ledger --json --quiet --color --help";
}

std::string verbs() {
  std::string list;
  for (const auto* operation : ops::all_operations()) list += std::string(operation->name) + " ";
  return list + "completion mcp serve";
}

std::string bash_script() {
  std::string cases;
  for (const auto* operation : ops::all_operations()) {
    cases += fmt::format("    {}) flags=\"{}\" ;;\n", operation->name, flags_of(*operation));
  }
  return fmt::format(R"(# neurolens completion for bash: source <(neurolens completion bash)
_neurolens() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} flags="--ledger --json --quiet --color --version --help"
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{} $flags" -- "$word") $(compgen -f -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else
    COMPREPLY=($(compgen -W "@latest" -- "$word") $(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _neurolens neurolens
)",
                     verbs(), cases);
}

std::string zsh_script() {
  return "#compdef neurolens\n# neurolens completion for zsh: source <(neurolens completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script();
}

std::string fish_script() {
  std::string out = "# neurolens completion for fish: neurolens completion fish | source\n";
  for (const auto* operation : ops::all_operations()) {
    out += fmt::format("complete -c neurolens -n __fish_use_subcommand -a {} -d '{}'\n", operation->name,
                       operation->summary);
    const auto& schema = ops::parameters_schema(*operation);
    for (const auto& [name, property] : schema["properties"].items()) {
      if (property.contains("x-positional") || property.contains("x-behind-dashes")) continue;
      const std::string flag = flag_name(name).substr(2);
      std::string help = property.value("description", "");
      std::replace(help.begin(), help.end(), '\'', ' ');
      out += fmt::format("complete -c neurolens -n '__fish_seen_subcommand_from {}' -l {} -d '{}'\n",
                         operation->name, flag, help);
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return bash_script();
}

}  // namespace nl::cli
