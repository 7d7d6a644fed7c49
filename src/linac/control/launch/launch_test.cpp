// Real processes: a supervisor program, shells as commands. Every wait is bounded.

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/launch/fences.h"
#include "linac/control/launch/local_launcher.h"
#include "linac/control/launch/sandbox.h"
#include "linac/control/launch/test_launch.h"

namespace linac::launch {
namespace {

TEST_F(Launch, TellsStatusOutputAndUse) {
  EXPECT_EQ(state(), AttemptState::kPrepared);
  start(shell("echo out; echo err >&2; exit 75"));
  ASSERT_TRUE(ended_within(10s));
  const auto exit = launcher_.status(key()).exit;
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->status, 75);
  EXPECT_EQ(exit->signal, 0);
  EXPECT_FALSE(exit->stopped);
  EXPECT_GT(exit->memory_peak_bytes, 0);
  EXPECT_EQ(log(), "out\nerr\n");
}

TEST_F(Launch, TellsTheSignalThatKilledIt) {
  start(shell("kill -SEGV $$"));
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->signal, SIGSEGV);
}

TEST_F(Launch, SaysWhyACommandCannotBeStarted) {
  Command command = shell("true");
  command.argv = {"/nowhere/program"};
  start(command);
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->status, 127);
  EXPECT_NE(log().find("/nowhere/program cannot be executed"), std::string::npos) << log();
}

TEST_F(Launch, RunsAnAttemptOnceHoweverOftenItIsStarted) {
  const Command command = shell("echo ran; sleep 0.3");
  for (int i = 0; i < 5; ++i) start(command);
  ASSERT_TRUE(ended_within(10s));
  start(command);
  LocalLauncher another({LINAC_TEST_SUPERVISOR}, Slots({0, 1}, 4096, {}), ControlGroups());
  another.prepare(key(), {});
  another.start(key(), command);
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(log(), "ran\n");
}

TEST_F(Launch, IsFoundAgainByAnotherLauncherAndOutlivesTheFirst) {
  const pid_t service = fork();
  if (service == 0) {
    start(shell("sleep 0.5; exit 3"));
    pause();
    _exit(0);
  }
  supervisor_pid();
  kill(service, SIGKILL);
  waitpid(service, nullptr, 0);
  EXPECT_EQ(state(), AttemptState::kRunning);
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->status, 3);
}

TEST_F(Launch, StopsByTermAndThenByKill) {
  start(shell("trap 'echo checkpoint; exit 75' TERM; while :; do sleep 0.1 & wait; done"));
  supervisor_pid();
  std::this_thread::sleep_for(200ms);
  launcher_.cancel(key());
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->status, 75);
  EXPECT_TRUE(launcher_.status(key()).exit->stopped);
  EXPECT_EQ(log(), "checkpoint\n");

  const AttemptKey stubborn{"stubborn", folder_ / "stubborn"};
  launcher_.prepare(stubborn, {});
  launcher_.start(stubborn, shell("trap '' TERM; while :; do sleep 0.1; done"));
  ASSERT_TRUE(within(10s, [&] { return AttemptFolder(stubborn.folder).process().has_value(); }));
  std::this_thread::sleep_for(200ms);
  launcher_.cancel(stubborn);
  ASSERT_TRUE(within(10s, [&] { return launcher_.status(stubborn).state == AttemptState::kEnded; }));
  EXPECT_EQ(launcher_.status(stubborn).exit->signal, SIGKILL);
}

TEST_F(Launch, KillsWhatHasLeftItsGroupItsSessionAndItsEnvironment) {
  const std::string pids = (folder_ / "pids").string();
  const std::string hides = "(setsid env -i /bin/sh -c 'echo $$ >> " + pids + "; sleep 60 & sleep 60; exit' &) ; ";
  start(shell("trap '' TERM; " + hides + hides + "while :; do sleep 0.1; done"));
  const auto hidden = [&] {
    std::ifstream file(pids);
    return std::vector<pid_t>(std::istream_iterator<pid_t>(file), {});
  };
  ASSERT_TRUE(within(10s, [&] { return hidden().size() == 2; }));
  for (const pid_t pid : hidden()) EXPECT_EQ(kill(pid, 0), 0);
  launcher_.cancel(key());
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->signal, SIGKILL);
  for (const pid_t pid : hidden()) EXPECT_EQ(process_key(pid).pid, 0);
}

TEST_F(Launch, KilledSupervisorLeavesARunningAttemptThatIsThenLost) {
  start(shell("echo up; sleep 0.6; echo done"));
  ASSERT_TRUE(within(10s, [&] { return log() == "up\n"; }));
  kill(supervisor_pid(), SIGKILL);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(state(), AttemptState::kRunning);  // the command goes on, so nothing may be started in its place
  start(shell("echo twice"));
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(state(), AttemptState::kLost);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(log(), "up\ndone\n");
}

TEST_F(Launch, StopsWhatAKilledSupervisorLeft) {
  start(shell("trap '' TERM; setsid sleep 60 & while :; do sleep 0.1; done"));
  ASSERT_TRUE(within(10s, [&] { return processes_with(kAttemptVariable, attempt().string()).size() >= 2; }));
  kill(supervisor_pid(), SIGKILL);
  ASSERT_TRUE(within(10s, [&] {
    launcher_.cancel(key());
    return state() == AttemptState::kLost;
  }));
  EXPECT_TRUE(processes_with(kAttemptVariable, attempt().string()).empty());
}

TEST_F(Launch, WaitsForWhatTheCommandLeftBehind) {
  start(shell("(sleep 0.4; echo late) & exit 0"));
  ASSERT_TRUE(ended_within(20s));
  EXPECT_EQ(log(), "late\n");
}

TEST_F(Launch, GivesFewVariablesAndTheLimits) {
  setenv("LINAC_TEST_SECRET", "s3cret", 1);
  Command command = shell("env; grep Cpus_allowed_list /proc/self/status; ulimit -d; ulimit -c");
  command.environment = {{"MINE", "yes"}};
  start(command, {.cores = 1, .memory_mb = 512});
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(log().find("s3cret"), std::string::npos);
  EXPECT_NE(log().find("MINE=yes"), std::string::npos);
  EXPECT_NE(log().find("LINAC_ATTEMPT=" + attempt().string()), std::string::npos);
  EXPECT_NE(log().find("Cpus_allowed_list:\t0\n524288\n0\n"), std::string::npos) << log();
}

TEST_F(Launch, RunsAsTheDeclaredAccount) {
  if (geteuid() != 0) GTEST_SKIP() << "only root starts commands as others";
  Command command = shell("id -un; id -Gn; touch " + (folder_ / "mine").string());
  command.account = "nobody";
  command.directory = "/";
  start(command);
  ASSERT_TRUE(ended_within(10s));
  EXPECT_TRUE(log().starts_with("nobody\nnogroup\n")) << log();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mine"));  // the folder is root's
  EXPECT_EQ(why_not_as("nobody"), "");
  EXPECT_NE(why_not_as("no-such-account").find("no account"), std::string::npos);
  EXPECT_NE(why_not_as("").find("declared"), std::string::npos);
}

TEST_F(Launch, RootByAnotherNameIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root starts commands as others";
  const auto accounts = folder_ / "passwd";
  write_file_atomically(accounts, read_file("/etc/passwd") + "toor:x:0:0::/root:/bin/sh\n");
  ASSERT_EQ(why_not_as("toor"), "this host has no account 'toor'");
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(accounts.c_str(), "/etc/passwd", nullptr, MS_BIND, nullptr) != 0)
      _exit(2);
    const bool refused = is_root("toor") && why_not_as("toor").find("is root") != std::string::npos;
    _exit(refused && why_not_as("root").empty() && why_not_as("nobody").empty() && !is_root("nobody") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no mounts here";
  EXPECT_EQ(status, 0);
}

// Outside of a sandbox, too: the port of a service that is started anew is not its jobs'.
TEST_F(Launch, ListensAtFreePortsAloneAndReachesNoAbstractSocket) {
  if (!lacks_of_landlock(landlock_version()).empty()) GTEST_SKIP() << lacks_of_landlock(landlock_version());
  const std::string name = "linac-launch-test-" + std::to_string(getpid());
  const Descriptor abstract(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  name.copy(address.sun_path + 1, name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(abstract.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(abstract.get(), 1), 0);
  const std::string script =
      "import os, socket\n"
      "def tries(what, *arguments):\n"
      "  try: what(*arguments); print('yes')\n"
      "  except OSError as error: print(type(error).__name__)\n"
      "tries(socket.socket().bind, ('127.0.0.1', 0))\n"
      "tries(socket.socket().bind, ('127.0.0.1', " +
      std::to_string(20000 + getpid() % 10000) +
      "))\n"
      "tries(socket.socket(socket.AF_UNIX).connect, '\\0" +
      name +
      "')\n"
      "tries(os.kill, " +
      std::to_string(getpid()) +
      ", 0)\n"
      "tries(os.kill, os.getppid(), 0)\n";
  Command command = shell("");
  command.argv = {"/usr/bin/python3", "-c", script};
  if (access(command.argv[0].c_str(), X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  start(command);
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(log(), "yes\nPermissionError\nPermissionError\nPermissionError\nPermissionError\n");
}

TEST(Fences, TellWhatAnOlderKernelDoesNotKeepJobsFrom) {
  EXPECT_NE(lacks_of_landlock(0).find("no Landlock"), std::string::npos);
  EXPECT_NE(lacks_of_landlock(3).find("port"), std::string::npos);
  EXPECT_EQ(lacks_of_landlock(4).find("port"), std::string::npos);
  EXPECT_NE(lacks_of_landlock(4).find("abstract sockets"), std::string::npos);
  EXPECT_EQ(lacks_of_landlock(6), "");
}

TEST_F(Launch, LogIsNoWayToOtherFiles) {
  std::ofstream(folder_ / "target") << "kept\n";
  std::filesystem::create_symlink(folder_ / "target", folder_ / "log.txt");
  start(shell("echo overwritten"));
  ASSERT_TRUE(ended_within(10s));
  EXPECT_NE(launcher_.status(key()).exit->problem, "");
  EXPECT_EQ(read_file(folder_ / "target"), "kept\n");
}

TEST_F(Launch, StartsWhatItWritesAndNothingThatWasThere) {
  std::filesystem::create_directory(attempt());
  AttemptFolder(attempt()).write(shell("echo planted"));
  start(shell("echo own"));
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(log(), "own\n");
}

TEST_F(Launch, BelievesNoFolderThatOthersMayWrite) {
  std::filesystem::create_directory(attempt());
  std::filesystem::permissions(attempt(), std::filesystem::perms::all);
  launcher_.prepare(key(), {});
  EXPECT_THROW(launcher_.start(key(), shell("echo ran")), Error);
  EXPECT_EQ(state(), AttemptState::kEnded);
  EXPECT_NE(launcher_.status(key()).reason.find("other accounts"), std::string::npos);
  std::filesystem::remove(attempt());
  std::filesystem::create_directory(folder_ / "elsewhere");
  std::filesystem::create_directory_symlink(folder_ / "elsewhere", attempt());
  EXPECT_THROW(launcher_.start(key(), shell("echo ran")), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "elsewhere"));
  EXPECT_EQ(log(), "");
}

TEST_F(Launch, HandsOnNothingOfTheServices) {
  const Descriptor secret(open((folder_ / "secret").c_str(), O_RDWR | O_CREAT, 0600));  // without O_CLOEXEC
  std::vector<gid_t> groups(64);
  const int count = getgroups(64, groups.data());
  const bool root = geteuid() == 0;
  const gid_t strange = 4711;
  if (root) {
    ASSERT_EQ(setgroups(1, &strange), 0);
  }
  start(shell("ls /proc/self/fd | wc -w; umask; id -G; ulimit -c; grep CapInh /proc/self/status"));
  const bool ended = ended_within(10s);
  if (root) setgroups(static_cast<size_t>(count), groups.data());
  ASSERT_TRUE(ended);
  EXPECT_TRUE(log().starts_with("4\n0022\n")) << log();  // the fourth is the folder that ls reads
  EXPECT_EQ(log().find("4711"), std::string::npos) << log();
  EXPECT_NE(log().find("CapInh:\t0000000000000000"), std::string::npos) << log();
}

class Sandbox : public Launch {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_sandbox(); !why.empty()) GTEST_SKIP() << "no sandbox here: " << why;
    std::filesystem::create_directories(data / "own");
    std::filesystem::create_directories(data / "others");
    write_file_atomically(data / "database", "secret\n");
    write_file_atomically(data / "others" / "file", "secret\n");
    write_file_atomically(folder_ / "input", "input\n");
  }
  Command confined(const std::string& script) const {
    Command command = shell(script);
    command.directory = (data / "own").string();
    command.view = View{{data.string()}, {}, {(folder_ / "input").string()}, {(data / "own").string()}};
    return command;
  }
  const std::filesystem::path data = folder_ / "data";
};

TEST_F(Sandbox, SeesItsOwnAndNothingOfTheServices) {
  const std::string script = "cat " + (folder_ / "input").string() + "; cat " + (data / "database").string() + "; ls " +
                             data.string() + "; echo made > new; touch /etc/linac-test " + (folder_ / "new").string() +
                             "; kill -TERM " + std::to_string(getpid()) + "; ps -e 2>/dev/null; cat " +
                             (folder_ / "attempt" / "command.json").string() + "; grep CapEff /proc/self/status; pwd";
  start(confined(script));
  ASSERT_TRUE(ended_within(20s));
  EXPECT_TRUE(log().starts_with("input\n")) << log();
  EXPECT_EQ(log().find("secret"), std::string::npos) << log();
  EXPECT_EQ(log().find("others"), std::string::npos) << log();
  EXPECT_EQ(log().find("argv"), std::string::npos) << log();
  EXPECT_NE(log().find("CapEff:\t0000000000000000"), std::string::npos) << log();
  EXPECT_NE(log().find("\n" + (data / "own").string() + "\n"), std::string::npos) << log();
  EXPECT_EQ(read_file(data / "own" / "new"), "made\n");
  EXPECT_FALSE(std::filesystem::exists("/etc/linac-test"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

TEST_F(Sandbox, HasGpusOnlyIfItWasGivenSome) {
  const std::filesystem::path device = "/dev/nvidia-linac-test";
  if (!std::ofstream(device)) GTEST_SKIP() << "/dev cannot be written";
  Command command = confined("");
  const auto shown = [&] {
    const auto words = sandboxed(command, {3, 4, -1});
    return std::find(words.begin(), words.end(), device) != words.end();
  };
  const bool without = shown();
  command.limits.gpus = {0};
  const bool with = shown();
  std::filesystem::remove(device);
  EXPECT_FALSE(without);
  EXPECT_TRUE(with);
}

TEST_F(Sandbox, ShowsWhereALinkOfTheProgramsLeads) {
  // A checkout below /tmp: LibTorch lies beside the build, which has a link to it.
  const auto build = folder_ / "build", torch = folder_ / "prefix" / "torch";
  std::filesystem::create_directories(build / "lib");
  std::filesystem::create_directories(torch);
  write_file_atomically(torch / "library", "found\n");
  std::filesystem::create_symlink(torch, build / "lib" / "torch");
  Command command = confined("cat " + (build / "lib" / "torch" / "library").string());
  command.view->programs = {build.string(), (build / "lib" / "torch").string()};
  start(command);
  ASSERT_TRUE(ended_within(20s));
  EXPECT_EQ(log(), "found\n");
}

TEST_F(Sandbox, SaysWhatItDoesNotShow) {
  const Places places = places_in(*confined("").view);
  EXPECT_EQ(places.hidden_with((data / "database").string()), data.string());
  EXPECT_EQ(places.hidden_with((data / "own/../others/file").string()), data.string());
  EXPECT_EQ(places.hidden_with((data / "own/file").string()), "");
  EXPECT_EQ(places.hidden_with((folder_ / "input").string()), "");
  EXPECT_EQ(places.hidden_with("/usr/bin/env"), "");
  EXPECT_EQ(places.hidden_with("/run/socket"), "/run");
}

TEST_F(Sandbox, TellsItsEndAndItsUse) {
  start(confined("sleep 0.5; exit 75"));
  supervisor_pid();
  ASSERT_TRUE(within(10s, [&] { return launcher_.use(key()).memory_bytes > 0; }));
  EXPECT_EQ(state(), AttemptState::kRunning);
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->status, 75);
}

TEST_F(Sandbox, StopsByTermAndThenByKill) {
  // Again and again: dash may miss a signal that comes right before `wait`.
  start(confined("trap 'echo checkpoint; exit 75' TERM; echo up; while :; do sleep 0.1 & wait; done"));
  ASSERT_TRUE(within(10s, [&] { return log() == "up\n"; }));
  launcher_.cancel(key());
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->status, 75);
  EXPECT_EQ(log(), "up\ncheckpoint\n");

  const AttemptKey stubborn{"stubborn", folder_ / "stubborn"};
  launcher_.prepare(stubborn, {});
  launcher_.start(stubborn, confined("trap '' TERM; unset LINAC_ATTEMPT; exec setsid sleep 60"));
  ASSERT_TRUE(within(10s, [&] { return AttemptFolder(stubborn.folder).sandbox().has_value(); }));
  std::this_thread::sleep_for(200ms);
  launcher_.cancel(stubborn);
  ASSERT_TRUE(within(10s, [&] { return launcher_.status(stubborn).state == AttemptState::kEnded; }));
  EXPECT_EQ(launcher_.status(stubborn).exit->signal, SIGKILL);
  EXPECT_FALSE(alive(*AttemptFolder(stubborn.folder).sandbox()));
}

TEST_F(Sandbox, IsStoppedAlsoWhenItsSupervisorIsGone) {
  start(confined("trap '' TERM; echo up; while :; do sleep 0.1 & wait; done"));
  ASSERT_TRUE(within(10s, [&] { return log() == "up\n"; }));
  kill(supervisor_pid(), SIGKILL);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(state(), AttemptState::kRunning);
  ASSERT_TRUE(within(10s, [&] {
    launcher_.cancel(key());
    return state() == AttemptState::kLost;
  }));
  EXPECT_FALSE(alive(*AttemptFolder(attempt()).sandbox()));
}

TEST(ProcessFacts, TellsAProcessFromAnotherOfTheSameNumber) {
  ProcessKey self = process_key(getpid());
  EXPECT_TRUE(alive(self));
  self.start_ticks += 1;
  EXPECT_FALSE(alive(self));
  EXPECT_FALSE(send_signal(self, 0));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_TRUE(within(5s, [&] { return process_key(child).pid == 0; }));  // a zombie is no process
  waitpid(child, nullptr, 0);
}

TEST(ProcessFacts, MeasuresUse) {
  const ProcessUse use = use_of({process_key(getpid())});
  EXPECT_GT(use.memory_bytes, 1 << 20);
  EXPECT_GE(use.cpu_s, 0);
}

}  // namespace
}  // namespace linac::launch
