#include "linac/control/sites/scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "linac/base/base/error.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/base/job/exit_codes.h"
#include "linac/base/job/job_paths.h"
#include "linac/base/job/run_choice.h"
#include "linac/control/sites/script/script_files.h"

namespace linac::sites {
namespace {

constexpr int64_t kLogBytesMax = 1 << 20;

// "ok WHAT TEXT" if the condition holds, else "bad WHAT TEXT".
std::string say(const std::string& condition, const std::string& what, const std::string& good,
                const std::string& bad) {
  return fmt::format("if {}; then echo {}; else echo {}; fi\n", condition, shell_word("linac: ok " + what + " " + good),
                     shell_word("linac: bad " + what + " " + bad));
}

bool has_wildcard(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

// Of a pattern: the folder before its first wildcard.
std::string fixed_part(const std::string& path) {
  return path.substr(0, path.rfind('/', path.find_first_of("*?[")) + 1);
}

// Whether the job's files are there.
std::string job_files_script(const job::Job& job) {
  job::Job copy = job;
  std::string text;
  for (const std::string* file : job::files_of(copy)) {
    if (file->empty()) continue;
    if (file->find("://") != std::string::npos) {
      text += "echo " + shell_word("linac: ok data " + *file + ": not looked at from here; the run does") + "\n";
      continue;
    }
    const std::string path = has_wildcard(*file) ? fixed_part(*file) : job::split_choice(*file).run;
    text += say("[ -r " + shell_word(path) + " ]", "data",
                *file + (has_wildcard(*file) ? ": its folder can be read" : ": can be read"),
                path +
                    ": not there, or not to be read; bring it there (`linac data copy`), or name a path or URL of that "
                    "place in the job");
  }
  return text;
}

// Whether the program starts there, and is this one.
std::string program_script(const std::string& path) {
  const std::string program = shell_word(path);
  std::string text = fmt::format("said=$({} --version 2>&1); status=$?\n", program);
  text += say("[ $status = 0 ]", "program", path + ": there",
              path + ": cannot be started; set program to linac's path there");
  text += "[ $status = 0 ] || echo \"linac: bad program it says: $(printf %s \"$said\" | head -n 1)\"\n";
  text += fmt::format(
      "if [ $status = 0 ]; then\n{}{}fi\n",
      say(fmt::format("[ \"$said\" = 'linac {}' ]", kVersion), "version", kVersion,
          fmt::format("another one than {}, which is here; the same job needs the same program", kVersion)),
      say(fmt::format("{} version >/dev/null 2>&1", program), "libraries", "LibTorch and the others are found",
          "linac-compute does not start there; `" + path + " version` says why"));
  return text;
}

}  // namespace

std::string launch_folder(const std::string& folder, const std::string& label) {
  return folder + "/" + label + "/launch";
}

std::string make_folder_script(const std::string& folder, const std::string& label) {
  const std::string run = folder + "/" + label;
  return fmt::format(
      "mask=$(umask)\n"
      "umask go-w\n"
      "mkdir -p {0} || exit 4\n"
      "not_ours() {{ echo {1} >&2; exit 4; }}\n"
      "cd {0} && [ ! -L {0} ] && [ -O . ] && chmod go-w . || not_ours\n"  // nobody can put another launch/ there
      "umask 077\n"
      "[ ! -L launch ] && mkdir -p launch && cd ./launch && [ -O . ] && chmod u=rwx,go= . || not_ours\n"
      "mkdir -p ends private || exit 4\n",
      shell_word(run),
      shell_word(run + ": it, or launch in it, belongs to somebody else or is a link; choose another --name, or a "
                       "folder that is yours"));
}

std::string enter_folder_script(const std::string& folder, const std::string& label, const std::string& otherwise) {
  return fmt::format("cd {} 2>/dev/null && [ -O . ] || {{ {}; exit 0; }}\n", shell_word(launch_folder(folder, label)),
                     otherwise);
}

std::string same_job_script(const Launch& launch) {
  return fmt::format(
      "[ ! -e job.yaml ] || [ \"$(cat job.yaml)\" = \"$(printf %s {})\" ] || {{ echo {} >&2; exit 4; }}\n",
      shell_word(launch.job),
      shell_word("a launch " + launch.label + " with another job is there already; choose another --name"));
}

std::string holds_function() {
  return "holds() {\n"
         "  case $2 in '' | 0 | 1 | *[!0-9]*) return 1 ;; esac\n"
         "  for process in /proc/[0-9]*; do\n"
         "    [ \"$process/fd/9\" -ef \"$1\" ] || continue\n"
         "    { read -r line < \"$process/stat\"; } 2>/dev/null || continue\n"
         "    set -- \"$1\" \"$2\" ${line##*) }\n"  // state, parent, group
         "    [ \"$5\" != \"$2\" ] || return 0\n"
         "  done\n"
         "  return 1\n"
         "}\n";
}

std::string write_file_script(const std::string& path, const std::string& text) {
  const std::string part = shell_word(path + ".part"), whole = shell_word(path);
  return fmt::format("printf %s {} > {} && mv {} {} || {{ echo {} >&2; exit 4; }}\n", shell_word(text), part, part,
                     whole, shell_word(path + " cannot be written; is the disk full, or the quota used up?"));
}

std::string environment_script(const CommonSettings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.environment) text += fmt::format("export {}={}\n", name, shell_word(value));
  for (const std::string& line : settings.setup) text += line + "\n";
  return text;
}

std::string worker_script(const CommonSettings& settings, const std::string& program, const Launch& launch,
                          const std::string& workers, const std::vector<std::string>& before) {
  std::string command;
  for (const std::string& word : before) command += shell_word(word) + " ";
  std::vector<std::string> words{program, "train", "job.yaml", "--out", launch.out};
  if (launch.joins) words.insert(words.end(), {"--join", launch.out});
  if (!launch.joins) words.emplace_back("--resume-or-start");
  for (const std::string& word : words) command += shell_word(word) + " ";
  for (const std::string& word : {std::string("--workers"), workers}) command += shell_word(word) + " ";
  command.pop_back();
  return worker_lines(settings, launch, "", command);
}

std::string worker_lines(const CommonSettings& settings, const Launch& launch, const std::string& lines,
                         const std::string& command) {
  return fmt::format(
      "#!/bin/sh\n"
      "# A worker of {}, by linac {}. Signals are for the program; this waits for it, and leaves its exit status.\n"
      "trap : TERM INT USR1\n"
      "cd {} || exit 4\n"
      "{}{}\n"
      "status=$?\n"
      "printf '%s\\n' $status > \"ends/$1.part\" && mv \"ends/$1.part\" \"ends/$1\"\n"
      "exit $status\n",
      launch.label, kVersion, shell_word(launch_folder(settings.folder, launch.label)), lines, command);
}

std::string write_script_files(const Launch& launch) {
  std::string text;
  if (launch.script) text += "mkdir -p script || exit 4\n";
  for (const ScriptFile& file : script_files(launch)) text += write_file_script(file.path, file.text);
  return text;
}

std::vector<PlannedStep> planned_script_files(const Launch& launch, const std::string& folder) {
  std::vector<PlannedStep> steps;
  for (const ScriptFile& file : script_files(launch))
    steps.push_back({folder + "/" + file.path, file.shown.empty() ? file.text : file.shown});
  return steps;
}

std::string pack_script(const Record& record) {
  return fmt::format("cd {} && [ -O . ] && exec tar -cf - .", shell_word(record.out));
}

std::string remove_script(const Record& record) {
  return enter_folder_script(record.folder, record.label, ":") + "cd .. && rm -rf ./launch\n";
}

std::string why_script() {
  return "[ ! -s why ] || echo \"linac: why $(head -n 1 why | cut -c 1-500)\"\n";
}

std::string end_of_run_function() {
  return "end_of_run() {\n"
         "  end=\n"
         "  for file in ends/\"$1\"-*; do\n"
         "    case $file in *.part) continue ;; esac\n"
         "    [ -f \"$file\" ] && read -r status < \"$file\" || continue\n"
         "    if [ \"$status\" = 0 ]; then end=0; break; fi\n"
         "    if [ -z \"$end\" ] || [ \"$end\" = 6 ] || [ \"$status\" = 75 ]; then end=$status; fi\n"
         "  done\n"
         "  printf '%s' \"$end\"\n"
         "}\n";
}

int end_of_run(const std::vector<int>& statuses) {
  int end = -1;
  for (const int status : statuses) {
    if (status == 0) return 0;
    if (end < 0 || end == int(ErrorCode::kPeerLost) || status == int(ErrorCode::kPreempted)) end = status;
  }
  return end;
}

int status_in(const std::string& text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool needs_key(const Launch& launch) {
  return launch.out.starts_with("s3://") || launch.script || launch.part;
}

std::string run_function(const std::string& if_stopped) {
  return "run() {\n"
         "  if [ -n \"$stopped\" ]; then " +
         if_stopped +
         "; fi\n"
         "  \"$@\" &\n"
         "  child=$!\n"
         "  watch \"$child\" &\n"
         "  watcher=$!\n"
         "  while :; do\n"
         "    wait \"$child\"\n"
         "    status=$?\n"
         "    kill -0 \"$child\" 2>/dev/null || break\n"
         "  done\n"
         "  child=\n"
         "  kill \"$watcher\" 2>/dev/null\n"
         "}\n";
}

std::string goes_on_function() {
  return "answers() { timeout 2 bash -c ': <\"/dev/tcp/$0/$1\"' \"$1\" \"$2\" 2>/dev/null; }\n"
         "goes_on() {\n"
         "  view=$(ls -t \"$out/views\" 2>/dev/null | head -n 1)\n"
         "  [ -n \"$view\" ] || return 1\n"
         "  for address in $(grep -o '\"address\":\"[^\"]*\"' \"$out/views/$view\" | cut -d '\"' -f 4 | head -n 16); "
         "do\n"
         // Of workers at several sites those of the own one: the others take no connections.
         "    case $address in */*) [ \"${address%%/*}\" = \"$LINAC_GROUP\" ] || continue ;; esac\n"
         "    address=${address##*/}\n"
         "    host=${address%:*}\n"
         "    host=${host#[}\n"
         "    if answers \"${host%]}\" \"${address##*:}\"; then return 0; fi\n"
         "  done\n"
         "  return 1\n"
         "}\n";
}

std::string workers_word(const Launch& launch) {
  return launch.workers_min > 0 ? fmt::format("{}:{}", launch.workers_min, launch.workers)
                                : std::to_string(launch.workers);
}

Standing standing_of_end(int status, bool cancelled) {
  using job::ExitClass;
  using job::RunState;
  if (status == 0) return {RunState::kSucceeded, "", {}, status};
  if (status == int(ErrorCode::kBudget))
    return {RunState::kFailed,
            "stopped by its budget, after a checkpoint; with more of it and --out of this run, `linac launch` goes on",
            {},
            status};
  std::string why = job::word_of_status(status);
  why = fmt::format("exit status {}{}", status, why.empty() ? "" : ", " + why);
  const ExitClass kind = job::class_of_status(status);
  if (kind == ExitClass::kInterrupted || (cancelled && kind == ExitClass::kLost))
    return {RunState::kCancelled,
            cancelled ? "cancelled; it left a checkpoint where it had begun" : why + ": stopped after a checkpoint",
            {},
            status};
  return {kind == ExitClass::kLost ? RunState::kLost : RunState::kFailed, why, {}, status};
}

std::string check_script(const CommonSettings& settings, const job::Job* job) {
  std::string text = environment_script(settings);
  if (!settings.program.empty()) text += program_script(settings.program);
  const std::string probe = settings.folder + "/.linac-check";
  text += say(fmt::format("mkdir -p {} 2>/dev/null && echo 2>/dev/null > {}-$$ && rm -f {}-$$",
                          shell_word(settings.folder), shell_word(probe), shell_word(probe)),
              "folder", settings.folder + ": can be written",
              settings.folder + ": cannot be made or written; set folder to one of yours, or look at your quota");
  text += say("command -v flock >/dev/null 2>&1", "flock", "there", "no program flock there; it comes with util-linux");
  if (job != nullptr) text += job_files_script(*job);
  return text;
}

std::vector<Finding> findings_at(const Shell& there, const std::string& what, const std::string& script) {
  std::vector<Finding> all;
  try {
    const ShellAnswer answer = there.need(what, script);
    all.push_back({true, kReached, there.name()});
    for (const std::string word : {"ok", "doubtful", "bad"}) {
      for (const std::string& line : answer.said(word)) {
        const size_t space = std::min(line.find(' '), line.size());
        all.push_back(
            {word != "bad", line.substr(0, space), line.substr(std::min(space + 1, line.size())), word == "doubtful"});
      }
    }
  } catch (const Error& error) {
    all.push_back({false, kReached, error.what()});
  }
  return all;
}

std::string log_script(const std::string& path, int64_t from) {
  return fmt::format("[ ! -f {0} ] || tail -c +{1} {0} | head -c {2}", shell_word(path), from + 1, kLogBytesMax);
}

}  // namespace linac::sites
