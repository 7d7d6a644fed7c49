#include "linac/control/sites/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/amounts.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/script/script_files.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

// `array`: its name and members, for all of which they are.
std::string options(const SlurmSettings& settings, const Launch& launch, const Array* array = nullptr) {
  std::string text;
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) text += fmt::format("#SBATCH --{}={}\n", option, value);
  };
  add("job-name", array != nullptr ? array->name : launch.label);
  if (array != nullptr)
    add("array",
        fmt::format("1-{}{}", array->members.size(), array->at_once > 0 ? fmt::format("%{}", array->at_once) : ""));
  add("partition", settings.partition);
  add("account", settings.account);
  add("qos", settings.qos);
  add("ntasks", std::to_string(launch.workers));
  add("ntasks-per-node", std::to_string(std::min(launch.workers, settings.workers_per_node)));
  if (settings.cpus > 0) add("cpus-per-task", std::to_string(settings.cpus));
  if (!settings.memory.empty()) {
    const int64_t cpus = std::max(1, settings.cpus);
    add("mem-per-cpu", fmt::format("{}M", (megabytes_of("memory", settings.memory) + cpus - 1) / cpus));
  }
  if (settings.gpus > 0) add("gpus-per-node", std::to_string(settings.gpus * settings.workers_per_node));
  int64_t seconds = launch.seconds_max;
  if (seconds == 0 && !settings.time.empty()) seconds = seconds_of("time", settings.time);
  if (seconds > 0) add("time", std::to_string((seconds + 59) / 60));
  // To the workers, not to the script: they write the checkpoint. A short job has more to do than that.
  const int64_t notice = seconds_of("notice", settings.notice);
  add("signal", fmt::format("TERM@{}", seconds > 0 ? std::min(notice, seconds / 4) : notice));
  text += "#SBATCH --requeue\n#SBATCH --no-kill\n#SBATCH --open-mode=append\n";
  // Should two jobs of one launch ever be there, they do not work at the same time, and the second has nothing to do.
  // The members of an array have one name, and do.
  if (array == nullptr) add("dependency", "singleton");
  add("output", launch_folder(settings.folder, array != nullptr ? array->name + "-%a" : launch.label) + "/log.txt");
  for (const std::string& option : settings.sbatch) text += "#SBATCH " + option + "\n";
  return text;
}

constexpr int kBeatSeconds = 10;
constexpr int64_t kSilenceMin = 60;  // seconds; a shared disk may be slow

// `watch SRUN`: Slurm does not always miss the task of a node that was lost and came back, and srun would wait for it
// for ever. It is ended when a worker has ended, and those that have not show no life.
std::string watch_function(int64_t patience) {
  return fmt::format(
      "watch() {{\n"
      "  trap - TERM USR1\n"
      "  silent=0\n"
      "  while sleep {0}; do\n"
      "    now=$(cat alive/\"$attempt\"-* 2>/dev/null | cksum)\n"
      "    if [ \"$now\" != \"$before\" ] || [ -z \"$(end_of_run \"$attempt\")\" ]; then silent=0; fi\n"
      "    before=$now\n"
      "    silent=$((silent + 1))\n"
      "    [ $silent -gt {1} ] || continue\n"
      "    echo 'linac launch: its workers have ended or are lost, but srun waits for one still: ended'\n"
      "    kill -KILL \"$1\"\n"
      "    return\n"
      "  done\n"
      "}}\n",
      kBeatSeconds, std::max(patience, kSilenceMin) / kBeatSeconds);
}

}  // namespace

std::string batch_script(const SlurmSettings& settings, const Launch& launch) {
  const std::string here = launch_folder(settings.folder, launch.label);
  std::string srun = "srun --kill-on-bad-exit=0 --no-kill --wait=0 ";
  if (settings.cpus > 0) srun += fmt::format("--cpus-per-task={} ", settings.cpus);
  std::string text =
      fmt::format("#!/bin/bash\n{}# The run {}, by linac {}.\n", options(settings, launch), launch.label, kVersion);
  text += fmt::format("cd {} || exit 4\nrm -f exit\n", shell_word(here));
  text +=
      "[ -s submitted ] || SLURM_TIME_FORMAT=standard squeue -h -j \"$SLURM_JOB_ID\" -o '%i %V' > submitted\n"
      "trap : TERM USR1  # the workers stop after a checkpoint; this waits for them\n";
  // Of a launcher from within which this was submitted.
  text +=
      "unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT TF_CONFIG LINAC_RUN_KEY "
      "LINAC_RUN_KEY_FILE LINAC_GROUPS LINAC_GROUP LINAC_RELAY LINAC_RELAY_PASS LINAC_MEET_TIMEOUT\n";
  text += environment_script(settings);
  if (needs_key(launch)) text += fmt::format("export LINAC_RUN_KEY_FILE={}\n", shell_word(here + "/private/key"));
  text += end_of_run_function() + watch_function(seconds_of("notice", settings.notice)) + run_function(":");
  text +=
      "if [ -e cancelled ]; then\n"
      "  echo \"linac launch: it was cancelled before its workers began; without the file $PWD/cancelled it goes on\"\n"
      "  echo 75 > exit\n"
      "  exit 75\n"
      "fi\n";
  text += fmt::format(
      "attempt=${{SLURM_RESTART_COUNT:-0}}\n"
      "export attempt\n"
      "stopped=\n"
      "rm -rf alive && mkdir alive || exit 4\n"
      "run {}sh -c 'name=$attempt-$SLURM_PROCID\n"
      "(while sleep {} && kill -0 $$; do echo $((beats += 1)) > \"alive/$name\"; done) >/dev/null 2>&1 &\n"
      "exec sh ./worker.sh \"$name\"'\n"
      "end=$(end_of_run \"$attempt\")\n"
      "[ -n \"$end\" ] || end=$status\n"
      "# Stopped after a checkpoint, or too few were left: it goes on from the checkpoint.\n"
      "case $end in\n"
      "  75|6|8|9|129|130|138|143)\n"
      "    if [ ! -e cancelled ] && [ \"$attempt\" -lt {} ]; then\n"
      "      echo \"linac launch: ended with $end; back into the queue\"\n"
      "      trap - TERM\n"
      "      scontrol requeue \"$SLURM_JOB_ID\" && sleep 600  # Slurm ends this\n"
      "    fi ;;\n"
      "esac\n"
      "{}printf '%s\\n' \"$end\" > exit.part && mv exit.part exit\n"
      "exit \"$end\"\n",
      srun, kBeatSeconds, settings.requeue,
      launch.script ? "rm -rf private packages packages.lock packages.done\n" : "");
  return text;
}

std::string array_script(const SlurmSettings& settings, const Array& array) {
  return fmt::format(
      "#!/bin/bash\n{}# Runs of the array {}, by linac {}.\nexec bash "
      "{}/{}-\"$SLURM_ARRAY_TASK_ID\"/launch/launch.sbatch\n",
      options(settings, array.members.front(), &array), array.name, kVersion, shell_word(settings.folder), array.name);
}

std::string exclude_script(const SlurmSettings& settings, const std::vector<std::string>& hosts) {
  if (hosts.empty()) return "";
  std::string theirs;
  for (const std::string& option : settings.sbatch) {
    const size_t end = option.find_first_of("= ");
    // Of a beginning that stands for it alone.
    if (end == std::string::npos || (option.substr(0, end) != "--exclude" && option.substr(0, end) != "--exclud"))
      continue;
    theirs += (theirs.empty() ? "" : ",") + option.substr(option.find_first_not_of("= ", end));
  }
  return is_excluded_function(hosts) +
         fmt::format(
             "exclude= left=0\n"
             "nodes=$(unset SINFO_PARTITION; sinfo -h -N{} -o '%N %n') || exit 4\n"
             "while read -r node host; do\n"
             "  if is_excluded \"$node\" \"$host\"; then exclude=${{exclude:+$exclude,}}$node; else left=$((left + "
             "1)); "
             "fi\n"
             "done <<NODES\n"
             "$(printf '%s\\n' \"$nodes\" | sort -u)\n"
             "NODES\n"
             "if [ $left = 0 ]; then echo \"no node is left: $exclude are excluded; \"{} >&2; exit 4; fi\n"
             "theirs={}\n"
             "[ -z \"$exclude\" ] || [ -z \"$theirs\" ] || exclude=$exclude,$theirs\n",
             settings.partition.empty() ? "" : " -p " + shell_word(settings.partition), shell_word(kHowToInclude),
             shell_word(theirs));
}

std::string slurm_worker(const SlurmSettings& settings, const Launch& launch) {
  std::vector<std::string> before;
  if (!settings.container.empty()) {
    before = {"apptainer", "exec", "--bind", settings.folder};
    if (settings.gpus > 0) before.emplace_back("--nv");
    before.push_back(settings.container);
  }
  if (launch.script)
    return script_worker(settings, launch,
                         fmt::format("export RANK=\"$SLURM_PROCID\" LOCAL_RANK=\"$SLURM_LOCALID\" LOCAL_WORLD_SIZE={} "
                                     "LINAC_SPAWN_MEET=file LINAC_SPAWN_ADDRESS=\"$(hostname)\"\n",
                                     std::min(launch.workers, settings.workers_per_node)),
                         before);
  return worker_script(settings, settings.program, launch, workers_word(launch), before);
}

}  // namespace linac::sites
