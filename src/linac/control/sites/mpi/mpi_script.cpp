#include "linac/control/sites/mpi/mpi_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/port.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

constexpr int kPauseSecondsMax = 60;   // before mpirun is started again
constexpr int kOrphanSeconds = 60;     // of a worker whose mpirun is gone, for its checkpoint
constexpr int kMeetSeconds = 60;       // until the first worker has said where it is
constexpr int kReplacementsMax = 100;  // of one worker, by itself

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

bool says_where_cores_are(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word.find("bind-to") != std::string::npos || word.find("map-by") != std::string::npos;
  });
}

// Which worker this is, by the variables of Open MPI, else of those who have Hydra (MPICH, Intel).
constexpr const char* kPlace =
    "attempt=$1\n"
    "rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}\n"
    "size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-}}\n"
    "local=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-0}}\n"
    "here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-1}}\n"
    "if [ -z \"$rank\" ] || [ -z \"$size\" ]; then\n"
    "  echo 'linac launch: this mpirun does not say which worker it starts; is it Open MPI, MPICH or Intel MPI?' >&2\n"
    "  exit 4\n"
    "fi\n";

// The program hears SIGTERM when somebody asks the run to stop, when mpirun itself does, and when mpirun is gone.
constexpr const char* kRun =
    "child=\n"
    "stopped=\n"
    "trap 'stopped=1; [ -z \"$child\" ] || kill -TERM \"$child\"' TERM INT USR1\n"
    "orphan() {{ read -r _ _ _ parent _ < /proc/$$/stat; [ \"$parent\" != \"$PPID\" ]; }}\n"
    "watch() {{\n"
    "  trap - TERM INT USR1\n"
    "  told= alone=0\n"
    "  while sleep 1; do\n"
    "    if orphan; then alone=$((alone + 1)); fi\n"
    "    if [ -z \"$told\" ] && {{ [ -e stop ] || [ $alone -gt 0 ]; }}; then told=1; kill -TERM \"$1\"; fi\n"
    "    if [ -e kill ] || [ $alone -gt {} ]; then kill -KILL \"$1\"; fi\n"
    "  done\n"
    "}}\n";

// Where all meet: at the host of the first worker, which it leaves in the folder that all see.
std::string meeting(const MpiSettings& settings, const std::string& label) {
  const std::string address = settings.address.empty() ? "\"$(hostname)\"" : shell_word(settings.address);
  return fmt::format(
      "MASTER_PORT={0}\n"
      "if [ \"$here\" = \"$size\" ]; then MASTER_ADDR=127.0.0.1\n"
      "elif [ \"$rank\" = 0 ]; then\n"
      "  MASTER_ADDR={1}\n"
      "  printf '%s\\n' \"$MASTER_ADDR\" > \"first-$attempt.part\" && mv \"first-$attempt.part\" \"first-$attempt\" || "
      "exit 4\n"
      "else\n"
      "  tries=0\n"
      "  until [ -s \"first-$attempt\" ]; do\n"
      "    if [ $tries = {2} ]; then\n"
      "      echo \"linac launch: worker $rank on $(hostname) does not see where the first one is; is $PWD on a disk "
      "that all hosts share?\" >&2\n"
      "      exit 4\n"
      "    fi\n"
      "    sleep 1\n"
      "    tries=$((tries + 1))\n"
      "  done\n"
      "  read -r MASTER_ADDR < \"first-$attempt\"\n"
      "fi\n"
      "export MASTER_ADDR MASTER_PORT\n",
      settings.port > 0 ? settings.port : port_of(label), address, kMeetSeconds);
}

// One that was killed, or hung, takes its place again while the others go on.
std::string training(const MpiSettings& settings, const Launch& launch) {
  const std::string train = fmt::format("run {} train job.yaml --out \"$out\" --workers {}",
                                        shell_word(settings.program), workers_word(launch));
  const std::string begins = launch.joins ? "--join \"$out\"" : "--resume-or-start";
  std::string text = fmt::format("out={}\n{} {}\n", shell_word(launch.out), train, begins);
  if (!launch.out.starts_with('/')) return text;
  return goes_on_function() + text +
         fmt::format(
             "lives=0\n"
             "while [ \"$status\" = 137 ] || [ \"$status\" = 8 ]; do\n"
             "  sleep 1\n"
             "  if [ -e stop ] || [ -n \"$stopped\" ] || [ $lives = {} ] || ! goes_on; then break; fi\n"
             "  echo \"linac launch: worker $rank ended with $status, and comes again\"\n"
             "  lives=$((lives + 1))\n"
             "  {} --join \"$out\"\n"
             "done\n",
             kReplacementsMax, train);
}

std::string script(const MpiSettings& settings, const Launch& launch) {
  return fmt::format(
      "own=$MASTER_ADDR\n"
      "[ \"$own\" = 127.0.0.1 ] || own=$(hostname)\n"
      "export RANK=\"$rank\" LOCAL_RANK=\"$local\" LOCAL_WORLD_SIZE=\"$here\" LINAC_SPAWN_MEET=file "
      "LINAC_SPAWN_ADDRESS=\"$own\" LINAC_SPAWN_OUT={}\n"
      "run {} ./linac_spawn.py\n",
      shell_word(launch.out), shell_word(settings.python));
}

}  // namespace

std::vector<std::string> mpirun_words(const MpiSettings& settings, int workers) {
  std::vector<std::string> words = settings.mpirun;
  const auto add = [&](const std::string& option, const std::string& value) {
    words.push_back(option);
    words.push_back(value);
  };
  add("-n", std::to_string(workers));
  if (settings.mpi == "openmpi") {
    if (!says_where_cores_are(settings.arguments)) add("--bind-to", "none");
    std::vector<std::string> hosts;
    for (const std::string& host : settings.hosts) hosts.push_back(fmt::format("{}:{}", host, settings.slots));
    if (!hosts.empty()) add("--host", fmt::format("{}", fmt::join(hosts, ",")));
    if (!settings.hostfile.empty()) add("--hostfile", settings.hostfile);
  } else {
    if (settings.mpi == "intel" && !says_where_cores_are(settings.arguments)) {
      add("-genv", "I_MPI_PIN");
      words.emplace_back("off");
    }
    if (!settings.hosts.empty()) {
      add("-hosts", fmt::format("{}", fmt::join(settings.hosts, ",")));
      add("-ppn", std::to_string(settings.slots));
    }
    if (!settings.hostfile.empty()) add("-f", settings.hostfile);
  }
  words.insert(words.end(), settings.arguments.begin(), settings.arguments.end());
  return words;
}

std::string mpi_worker(const MpiSettings& settings, const Launch& launch) {
  const std::string folder = launch_folder(settings.folder, launch.label);
  std::string text = fmt::format(
      "#!/bin/sh\n"
      "# A worker of {}, by linac {}. It outlives its program: an MPI ends all workers when one fails.\n"
      "cd {} || exit 4\n",
      launch.label, kVersion, shell_word(folder));
  text += kPlace;
  text += environment_script(settings);  // of other hosts mpirun brings none
  if (needs_key(launch)) text += fmt::format("export LINAC_RUN_KEY_FILE={}\n", shell_word(folder + "/private/key"));
  text += meeting(settings, launch.label);
  text += fmt::format(fmt::runtime(kRun), kOrphanSeconds) + run_function("status=75; return");
  text += ": > \"begun-$attempt-$rank\"\n";
  text += launch.script ? script(settings, launch) : training(settings, launch);
  return text +
         "printf '%s\\n' \"$status\" > \"ends/$attempt-$rank.part\" && mv \"ends/$attempt-$rank.part\" "
         "\"ends/$attempt-$rank\"\n"
         "exit 0\n";
}

std::string mpi_loop(const MpiSettings& settings, const Launch& launch) {
  // Nothing of the group but this shell, or the first signal would end mpirun, and that its workers.
  std::string text =
      "rm -f stop kill begun-* first-* mpirun\ntrap ': > stop' TERM INT USR1\n[ ! -e cancelled ] || : > stop\n";
  text += "timer=\nrefused=\n";
  if (launch.seconds_max > 0)
    text += fmt::format(
        "(exec 9>&-; sleep {} & rest=$!; trap 'kill $rest; exit' TERM; wait $rest && kill -TERM $$) &\ntimer=$!\n",
        launch.seconds_max);
  // A hostfile's and an allocation's are known to mpirun alone.
  if (const auto none = excluded(settings, launch); !none.empty() && settings.hosts.empty())
    text += is_excluded_function(none) +
            fmt::format(
                "refused=$({0} hostname </dev/null 2>/dev/null 9>&- | sort -u |\n"
                "  while read -r host; do if is_excluded \"$host\"; then printf ' %s' \"$host\"; fi; done)\n"
                "if [ -n \"$refused\" ]; then\n"
                "  echo \"linac launch: mpirun would start workers on$refused, excluded; leave them out of hostfile or "
                "allocation, or \"{1}\n"
                "  printf '0\\n' > attempt && printf '4\\n' > ends/0-mpirun\n"
                "fi\n",
                joined(mpirun_words(settings, launch.workers)), shell_word(kHowToInclude));
  text += fmt::format(
      "# Of workers that began, some have not told their end: hosts are lost, or the workers stop by themselves.\n"
      "missing() {{\n"
      "  for file in begun-\"$attempt\"-*; do\n"
      "    [ ! -e \"$file\" ] || [ -e \"ends/$attempt-${{file##*-}}\" ] || return 0\n"
      "  done\n"
      "  return 1\n"
      "}}\n"
      "attempt=0\n"
      "while [ -z \"$refused\" ]; do\n"
      "  printf '%s\\n' $attempt > attempt.part && mv attempt.part attempt || break\n"
      "  setsid {0} sh {1} $attempt </dev/null &\n"
      "  mpirun=$!\n"
      "  printf '%s\\n' $mpirun > mpirun.part && mv mpirun.part mpirun\n"
      "  while :; do\n"
      "    wait $mpirun\n"
      "    said=$?\n"
      "    kill -0 $mpirun 2>/dev/null || break\n"
      "  done\n"
      "  waited=0\n"
      "  while missing && [ $waited -lt {4} ]; do sleep 1 & wait $!; waited=$((waited + 1)); done\n"
      "  end=$(end_of_run $attempt)\n"
      "  if [ -z \"$end\" ]; then\n"
      "    # No worker has told its end. Once one had begun, hosts are lost; else mpirun has said what is wrong.\n"
      "    end=4\n"
      "    [ -z \"$(ls | grep -m 1 '^begun-')\" ] || end=6\n"
      "    echo \"linac launch: mpirun ended with $said\"\n"
      "    printf '%s\\n' $end > ends/$attempt-mpirun\n"
      "  fi\n"
      "  # Stopped after a checkpoint, or too few were left: it goes on from the checkpoint.\n"
      "  case $end in 75|6|8|9|129|130|137|138|143) ;; *) break ;; esac\n"
      "  if [ -e stop ] || [ $attempt -ge {2} ]; then break; fi\n"
      "  attempt=$((attempt + 1))\n"
      "  echo \"linac launch: ended with $end; again from the last checkpoint, $attempt of {2} times\"\n"
      "  pause=$((1 << (attempt < 6 ? attempt - 1 : 6)))\n"
      "  [ $pause -le {3} ] || pause={3}\n"
      "  sleep $pause & wait $!\n"
      "  [ ! -e stop ] || {{ printf '75\\n' > ends/$attempt-mpirun; printf '%s\\n' $attempt > attempt; break; }}\n"
      "done\n"
      "[ -z \"$timer\" ] || kill $timer 2>/dev/null\n",
      joined(mpirun_words(settings, launch.workers)),
      shell_word(launch_folder(settings.folder, launch.label) + "/worker.sh"), settings.restarts, kPauseSecondsMax,
      kOrphanSeconds + 5);
  return text;
}

}  // namespace linac::sites
