#include <fmt/format.h>

#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/kubernetes/manifests.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

// Signals are for the program, which writes a checkpoint; while there is none, they end the script.
constexpr const char* kRun =
    "child=\n"
    "trap 'stopped=1; if [ -n \"$child\" ]; then kill -TERM \"$child\"; fi' TERM INT USR1\n"
    "stopped=\n"
    "rest() { sleep \"$1\" & wait $!; if [ -n \"$stopped\" ]; then exit 75; fi; }\n"
    "watch() { :; }\n"
    // A pod runs before the name service knows it.
    "known() { tries=0; until getent hosts \"$MASTER_ADDR\" > /dev/null || [ $((tries += 1)) -gt 60 ]; do rest 1; "
    "done; }\n"
    // Another worker was told to go, and all stopped with it. This one begins again where it is: the Job controller
    // waits longer from one end of a pod to the next, up to ten minutes, those that do not count as failures included.
    // Nor is it a failure of its own that the run which it was to join ended in that moment.
    "again() {\n"
    "  [ -z \"$stopped\" ] || return 1\n"
    "  if [ -n \"$joins\" ] && [ \"$status\" = 6 ] && [ $((unheard += 1)) -le 30 ]; then status=75; fi\n"
    "  [ \"$status\" = 75 ] || return 1\n"
    "  echo \"linac launch: worker $RANK begins again with the others\"\n"
    "  said=1\n"
    "  rest 2\n"  // the others stop within moments of it
    "}\n";

// A folder that all see says whether the run goes on, and where.
constexpr const char* kShared =
    "unheard=0\n"
    "mkdir -p \"$out/launch\" || exit 4\n"
    "complete() { [ -e \"$out/launch/$mark\" ]; }\n";

// Without one, the first worker alone has the record: where it is started anew, all begin again with it.
constexpr const char* kApart =
    "complete() { return 1; }\n"
    "goes_on() { return 1; }\n"
    "first() { getent hosts \"$MASTER_ADDR\" | { read -r address _; echo \"$address\"; }; }\n"
    "watch() {\n"
    "  trap - TERM INT USR1\n"
    "  [ \"$RANK\" != 0 ] || return 0\n"
    "  before=$(first)\n"
    "  while sleep 2; do\n"
    "    now=$(first)\n"
    "    if [ -z \"$before\" ]; then before=$now; fi\n"
    "    if [ -n \"$now\" ] && [ \"$now\" != \"$before\" ]; then\n"
    "      echo 'linac launch: the first worker is another one now; beginning again with it'\n"
    "      kill -TERM \"$1\"\n"
    "      return 0\n"
    "    fi\n"
    "  done\n"
    "}\n";

// Each but the first one stays until the launch is over: the first one may need it again.
constexpr const char* kEnd =
    "if [ \"$status\" = 0 ] && [ \"$RANK\" != 0 ] && ! complete; then\n"
    "  before=$(first)\n"
    "  while now=$(first); [ -z \"$now\" ] || [ \"$now\" = \"$before\" ]; do rest 2; done\n"
    "  exit 75\n"
    "fi\n"
    "exit \"$status\"\n";

constexpr int kScriptPatience = 7 * 24 * 3600;  // in seconds: pods may wait for a node

// The runner takes the place of the shell: signals reach it.
std::string kubernetes_script_worker(const KubernetesSettings& settings, const Launch& launch) {
  const std::string name = object_name(launch.label);
  std::string text = fmt::format("#!/bin/sh\n# A worker of {}, by linac {}.\n", launch.label, kVersion);
  text += environment_script(settings);
  text += fmt::format(
      "export LINAC_SPAWN_MEET=\"$MASTER_ADDR:$MASTER_PORT\" LINAC_SPAWN_ADDRESS=\"{0}-$RANK.{0}\" LINAC_SPAWN_OUT={1} "
      "LINAC_SPAWN_SCRATCH=/scratch\n"
      "export LINAC_SPAWN_FORWARD=1 LINAC_SPAWN_PATIENCE={2} LINAC_SPAWN_TERMINATION=/dev/termination-log\n"
      "exec {3} /linac/linac_spawn.py\n",
      name, shell_word(launch.out), kScriptPatience, shell_word(settings.python));
  return text;
}

}  // namespace

std::string kubernetes_worker(const KubernetesSettings& settings, const Launch& launch) {
  if (launch.script) return kubernetes_script_worker(settings, launch);
  const bool shared = !settings.volume.empty() && launch.out.starts_with('/');
  std::string text = fmt::format("#!/bin/bash\n# A worker of {}, by linac {}.\n", launch.label, kVersion);
  text += environment_script(settings);
  // Of this launch: another one may bring the same run further.
  text += fmt::format("out={}\nmark=complete-{}\n", shell_word(launch.out), launch.label);
  text += kRun + run_function("exit 75");
  text += goes_on_function();
  text += shared ? kShared : kApart;
  const std::string train = fmt::format("run {} train /linac/job.yaml --out \"$out\" --workers {}",
                                        shell_word(settings.program), workers_word(launch));
  text +=
      "said=\njoins=\ntried=\n"
      "while :; do\n"
      "  if complete; then exit 0; fi\n";
  // All of its pods may have gone at once, and the other sites go on: nobody of its own answers, but somebody there.
  if (shared && launch.part)
    text += "  if [ -z \"$tried\" ] && ! goes_on && [ -d \"$out/views\" ]; then\n    tried=1\n    " + train +
            " --join \"$out\"\n    if [ \"$status\" != 6 ]; then again && continue; break; fi\n  fi\n";
  if (shared)
    text += "  joins=\n  if goes_on; then joins=1; " + train + " --join \"$out\"; again && continue; break; fi\n";
  text += "  if [ \"$RANK\" = 0 ]; then known; fi\n" +
          // At several sites none of them waits at its port: they meet by the relay.
          std::string(launch.part ? "  if :; then "
                                  : "  if [ \"$RANK\" = 0 ] || answers \"$MASTER_ADDR\" \"$MASTER_PORT\"; then ") +
          train +
          " --resume-or-start; again && continue; break; fi\n"
          "  if [ -z \"$said\" ]; then echo \"linac launch: worker $RANK waits for the first one\"; said=1; fi\n"
          "  rest 1\n"
          "done\n";
  if (shared)
    text += "if [ \"$status\" = 0 ]; then : > \"$out/launch/$mark\" || exit 4; fi\nexit \"$status\"\n";
  else
    text += kEnd;
  return text;
}

}  // namespace linac::sites
