#include "linac/control/sites/script/script_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linac/base/base/fnv1a.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/utf8.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

using nlohmann::json;

constexpr int kTrialSeconds = 100;  // within the patience of a shell

// Which text it is; compared with what this user's program wrote, and no more.
std::string digest(const std::string& text) {
  return text.empty() ? "" : fmt::format("{:016x}", fnv1a_64(text));
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) names.push_back(name);
  return names;
}

std::string_view python_text(std::string_view name) {
  for (const PythonText& one : python_texts())
    if (one.name == name) return one.text;
  return {};
}

std::string data_lines(const Script& script) {
  std::string text;
  for (const std::string& path : script.data) {
    if (path.find("://") != std::string::npos)
      text += "echo " + shell_word("linac: ok data " + printable(path) + ": not looked at") + "\n";
    else
      text += fmt::format("if [ -r {} ]; then echo {}; else echo {}; fi\n", shell_word(path),
                          shell_word("linac: ok data " + printable(path) + ": can be read"),
                          shell_word("linac: bad data " + printable(path) +
                                     ": not there, or not to be read; bring it there (`linac data copy`)"));
  }
  return text;
}

// In a folder of its own, as the only worker.
std::string trial_lines(const CommonSettings& settings, const Script& script) {
  std::string words = shell_word(script.trial);
  for (const std::string& word : script.arguments) words += " " + shell_word(word);
  std::string text = "trial=$(mktemp -d) && cd \"$trial\" || exit 4\nprintf %s " + shell_word(script.text) +
                     " > training-script.py || exit 4\n(\n";
  for (const auto& [name, value] : script.environment) text += fmt::format("export {}={}\n", name, shell_word(value));
  text += fmt::format(
      "port=$((20000 + $$ % 10000))\n"
      "export RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 WORKER_NUMBER=0 TOT_WORKERS=1 MASTER_ADDR=127.0.0.1 "
      "MASTER_PORT=$port LINAC_OUT=\"$trial\" LINAC_SCRIPT=\"$trial/training-script.py\" LINAC_ATTEMPT=0\n"
      "export TF_CONFIG='{{\"cluster\": {{\"worker\": [\"127.0.0.1:'$port'\"]}}, \"task\": {{\"type\": \"worker\", "
      "\"index\": 0}}}}'\n"
      "export LINAC_DATA={}\n"
      "exec timeout -k 5 {} {} -u training-script.py {} > \"$trial/said\" 2>&1\n)\nstatus=$?\n"
      "last=$(grep -v '^[[:space:]]*$' \"$trial/said\" | tail -n 1 | tr -cd '[:print:]' | cut -c 1-300)\n"
      "cd / && rm -rf \"$trial\"\n"
      "if [ $status = 0 ]; then echo {}; else echo {}\" exit status $status: $last\"; fi\n",
      shell_word(fmt::format("{}", fmt::join(script.data, "\n"))), kTrialSeconds, shell_word(settings.python), words,
      shell_word("linac: ok trial " + printable(script.trial) + ": it ran"),
      shell_word("linac: bad trial " + printable(script.trial) + ":"));
  return text;
}

}  // namespace

int tasks_of(const Script& script) {
  return (script.chief ? 1 : 0) + script.workers + script.ps;
}

std::string script_job(const Script& script) {
  return json{{"name", script.name},
              {"script", digest(script.text)},
              {"arguments", script.arguments},
              {"entry", digest(script.entry)},
              {"requirements", digest(script.requirements)},
              {"pod", digest(script.pod)},
              {"data", script.data},
              {"variables", names_of(script.environment)},
              {"chief", script.chief},
              {"workers", script.workers},
              {"ps", script.ps},
              {"restarts", script.restarts},
              {"port", script.port}}
             .dump(2) +
         "\n";
}

std::vector<ScriptFile> script_files(const Launch& launch) {
  std::vector<ScriptFile> files;
  if (!launch.script) return files;
  const Script& script = *launch.script;
  files.push_back({"script/training-script.py", script.text, false, ""});
  if (!script.entry.empty()) files.push_back({"entry.sh", script.entry, false, ""});
  if (!script.requirements.empty()) files.push_back({"requirements.txt", script.requirements, false, ""});
  if (!script.environment.empty())
    files.push_back(
        {"private/environment", json(script.environment).dump() + "\n", true,
         fmt::format("({}; their values are shown nowhere)\n", fmt::join(names_of(script.environment), ", "))});
  for (const PythonText& program : python_texts())
    files.push_back({program.name, std::string(program.text), false, "(of linac)\n"});
  return files;
}

std::string script_worker(const CommonSettings& settings, const Launch& launch, const std::string& lines,
                          const std::vector<std::string>& before) {
  std::string command;
  for (const std::string& word : before) command += shell_word(word) + " ";
  command += shell_word(settings.python) + " ./linac_spawn.py";
  return worker_lines(settings, launch, fmt::format("export LINAC_SPAWN_OUT={}\n{}", shell_word(launch.out), lines),
                      command);
}

std::string check_script_script(const CommonSettings& settings, const Script& script, ScriptCheck which) {
  const std::string python = shell_word(settings.python);
  std::string text = environment_script(settings);
  text += fmt::format("command -v {} >/dev/null 2>&1 || {{ echo {}; exit 0; }}\n", python,
                      shell_word(which == ScriptCheck::kSyntax
                                     ? "linac: ok script not looked at: no " + printable(settings.python) + " here"
                                     : "linac: bad python no " + printable(settings.python) +
                                           " there; set python of the site to its path"));
  const bool later = which == ScriptCheck::kSyntax || !script.requirements.empty() || !script.entry.empty();
  text += fmt::format("good=\nif printf %s {} | {} -c {} {}{}; then good=1; fi\n", shell_word(script.text), python,
                      shell_word(std::string(python_text("linac_check.py"))), shell_word(script.name),
                      later ? " --some-later" : "");
  if (which != ScriptCheck::kSyntax) text += data_lines(script);
  if (!script.trial.empty() && which == ScriptCheck::kAll)
    text += "if [ -n \"$good\" ]; then\n" + trial_lines(settings, script) + "fi\n";
  return text + "true\n";
}

std::vector<Finding> check_script_here(const Launch& launch) {
  Script script = *launch.script;
  script.data.clear();  // they are there, not here
  CommonSettings here;
  here.kind = "local";
  std::vector<Finding> all =
      findings_at(Shell(), "the script cannot be looked at", check_script_script(here, script, ScriptCheck::kSyntax));
  if (script.trial.empty()) return all;
  script.requirements.clear();
  script.entry.clear();
  const auto tried =
      findings_at(Shell(), "the script cannot be tried", check_script_script(here, script, ScriptCheck::kAll));
  const bool can_begin = std::ranges::none_of(
      tried, [](const Finding& one) { return !one.good && (one.what == "script" || one.what == "python"); });
  for (const Finding& finding : tried)
    if (finding.what == "trial" && can_begin) all.push_back(finding);
  if (!can_begin) all.push_back({true, "trial", "not tried: what it imports is not on this host"});
  return all;
}

void tell_of_script(Standing& standing, const std::string& why) {
  using job::RunState;
  const bool failed = standing.state == RunState::kFailed || standing.state == RunState::kLost;
  if (failed && !why.empty()) standing.reason += (standing.reason.empty() ? "" : ": ") + printable(why);
  // Of checkpoints a script may know nothing.
  if (standing.state == RunState::kCancelled) standing.reason = "it was told to stop";
}

}  // namespace linac::sites
