#include "linac/base/base/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"

namespace linac {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{30};

/// All that others write, once this process's own end is closed. Its end comes when nobody is left who could: before
/// those end by themselves who sleep here.
std::string heard(Pipe& pipe) {
  pipe.to.reset();
  const auto begin = std::chrono::steady_clock::now();
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got; (got = ::read(pipe.from.get(), piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<size_t>(got));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kPatience);
  return text;
}

Program shell(const std::string& script) {
  return {.words = {"/bin/sh", "-c", script}};
}

ProcessEnd end_of(const std::string& script) {
  ProcessStart start = start_program(shell(script));
  EXPECT_TRUE(start) << start.problem();
  return start.process.wait();
}

std::string said_by(const Program& program, ChildSettings settings = {}) {
  Pipe pipe = make_pipe();
  settings.out = pipe.to.get();
  ProcessStart start = start_program(program, settings);
  EXPECT_TRUE(start) << start.problem();
  std::string text = heard(pipe);
  EXPECT_TRUE(start.process.wait().well());
  return text;
}

std::string number_of(const Descriptor& descriptor) {
  return std::to_string(descriptor.get());
}

TEST(ChildProcess, TellsTheExitCode) {
  const ProcessEnd well = end_of("exit 0"), badly = end_of("exit 7");
  EXPECT_TRUE(well.well());
  EXPECT_EQ(badly.exit_code, 7);
  EXPECT_EQ(badly.signal, 0);
  EXPECT_EQ(badly.status(), 7);
  EXPECT_FALSE(badly.well());
}

TEST(ChildProcess, TellsTheSignal) {
  const ProcessEnd end = end_of("kill -USR1 $$");
  EXPECT_EQ(end.signal, SIGUSR1);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.status(), 128 + SIGUSR1);
  EXPECT_FALSE(end.well());
}

TEST(ChildProcess, KeepsTheEnd) {
  ProcessStart start = start_program(shell("exit 3"));
  EXPECT_EQ(start.process.wait().exit_code, 3);
  EXPECT_FALSE(start.process.runs());
  EXPECT_EQ(start.process.ended()->exit_code, 3);
  EXPECT_EQ(start.process.wait_for(milliseconds(0))->exit_code, 3);
  ChildProcess other = std::move(start.process);
  EXPECT_EQ(other.wait().exit_code, 3);
  EXPECT_FALSE(start.process);  // NOLINT(bugprone-use-after-move): none
}

TEST(ChildProcess, NamesAMissingProgram) {
  ProcessStart start = start_program({.words = {"/no/such/program", "word"}});
  EXPECT_FALSE(start);
  EXPECT_EQ(start.problem(), "/no/such/program: cannot be started (exec: No such file or directory)");
  EXPECT_EQ(start.error, ENOENT);
  EXPECT_EQ(start.process.wait().exit_code, 127);
  ProcessStart searched = start_program({.words = {"no-such-program-of-linac"}});
  EXPECT_EQ(searched.problem(), "no-such-program-of-linac: cannot be started (exec: No such file or directory)");
}

TEST(ChildProcess, SaysWhyAFileIsNoProgram) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "text", "no program");
  ProcessStart start = start_program({.words = {(folder / "text").string()}});
  EXPECT_EQ(start.error, EACCES);
  std::filesystem::permissions(folder / "text", std::filesystem::perms::owner_all);
  EXPECT_EQ(start_program({.words = {(folder / "text").string()}}).error, ENOEXEC);
}

TEST(ChildProcess, SaysThatAFolderIsMissing) {
  Program program = shell("exit 0");
  program.folder = "/no/such/folder";
  ProcessStart start = start_program(program);
  EXPECT_EQ(start.problem(), "/bin/sh: cannot be started (chdir: No such file or directory)");
  EXPECT_EQ(start.process.wait().exit_code, 126);
}

TEST(ChildProcess, LooksForNamesInPath) {
  EXPECT_EQ(said_by({.words = {"sh", "-c", "echo $0 found"}}), "sh found\n");
}

TEST(ChildProcess, HasWordsFolderAndEnvironment) {
  const TemporaryFolder folder;
  Program program{
      .words = {"called so", "-c", "printf '%s|' \"$0\" \"$@\" \"$(pwd -P)\" \"$ONE\" \"$TWO\"", "a b", "c"},
      .path = "/bin/sh",
      .environment = std::vector<std::string>{"ONE=1 1"},
      .folder = folder.path().string()};
  EXPECT_EQ(said_by(program), "a b|c|" + std::filesystem::canonical(folder.path()).string() + "|1 1||");
}

TEST(ChildProcess, EnvironmentIsReplacedByName) {
  ::setenv("LINAC_TEST_CHILD", "old", 1);
  ::setenv("LINAC_TEST_CHILD_LONGER", "stays", 1);
  Program program = shell("echo $LINAC_TEST_CHILD $LINAC_TEST_CHILD_LONGER");
  EXPECT_EQ(said_by(program), "old stays\n");
  program.environment = environment_with({{"LINAC_TEST_CHILD", "new"}});
  EXPECT_EQ(said_by(program), "new stays\n");
}

TEST(ChildProcess, StreamsLeadWhereTheyShall) {
  Pipe in = make_pipe(), out = make_pipe(), errors = make_pipe();
  ProcessStart start = start_program(shell("read word; echo out $word; echo errors $word >&2"),
                                     {.in = in.from.get(), .out = out.to.get(), .errors = errors.to.get()});
  ASSERT_TRUE(start) << start.problem();
  ASSERT_EQ(::write(in.to.get(), "told\n", 5), 5);
  EXPECT_EQ(heard(out), "out told\n");
  EXPECT_EQ(heard(errors), "errors told\n");
  EXPECT_EQ(said_by(shell("cat"), {.in = ChildSettings::kNothing}), "");
}

TEST(ChildProcess, LeaksNoDescriptor) {
  const Descriptor open(::open("/dev/null", O_RDONLY)), closing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string script =
      "for n in " + number_of(open) + " " + number_of(closing) + "; do [ -e /proc/self/fd/$n ] && echo $n; done; true";
  EXPECT_EQ(said_by(shell(script)), "");
  EXPECT_EQ(said_by(shell(script), {.others = ChildSettings::Others::kKept}), number_of(open) + "\n");
  EXPECT_EQ(said_by(shell(script), {.inherited = {closing.get()}}), number_of(closing) + "\n");
  EXPECT_EQ(said_by(shell(script), {.inherited = {closing.get(), open.get()}}),
            number_of(open) + "\n" + number_of(closing) + "\n");
}

TEST(ChildProcess, EndsInTimeOrGoesOn) {
  ProcessStart start = start_program(shell("exec sleep 60"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(start.process.wait_for(milliseconds(50)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(50));
  EXPECT_FALSE(start.process.ended());
  EXPECT_TRUE(start.process.runs());
  start.process.send(SIGTERM);
  const auto end = start.process.wait_for(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGTERM);
  start.process.send(SIGTERM);  // to nobody
}

TEST(ChildProcess, KillsTheWholeGroup) {
  Pipe out = make_pipe();
  ProcessStart start =
      start_program(shell("sleep 60 & echo begun; wait"), {.out = out.to.get(), .leads = ChildSettings::Leads::kGroup});
  EXPECT_EQ(::getpgid(start.process.id()), start.process.id());
  EXPECT_FALSE(start.process.wait_for(milliseconds(200)));
  start.process.kill();
  EXPECT_EQ(start.process.wait().signal, SIGKILL);
  // Its end comes when nobody is left who has the other one.
  EXPECT_EQ(heard(out), "begun\n");
}

TEST(ChildProcess, GoesWithItsOwner) {
  Pipe out = make_pipe();
  pid_t id = 0;
  {
    const ProcessStart start = start_program(shell("echo begun; exec sleep 60"), {.out = out.to.get()});
    id = start.process.id();
  }
  EXPECT_LT(::kill(id, 0), 0);
  EXPECT_EQ(errno, ESRCH);
  const std::string said = heard(out);  // there is an end
  EXPECT_TRUE(said.empty() || said == "begun\n") << said;
}

TEST(ChildProcess, OutlivesAnOwnerWhoReleasesIt) {
  Pipe in = make_pipe(), out = make_pipe();
  pid_t id = 0;
  {
    ProcessStart start = start_program(shell("read word; echo $word"), {.in = in.from.get(), .out = out.to.get()});
    id = start.process.release();
  }
  ASSERT_EQ(::write(in.to.get(), "lives\n", 6), 6);
  EXPECT_EQ(heard(out), "lives\n");
  EXPECT_TRUE(ChildProcess(id, false).wait().well());
}

TEST(ChildProcess, LeadsASession) {
  ProcessStart start = start_program(shell("exec sleep 60"), {.leads = ChildSettings::Leads::kSession});
  EXPECT_EQ(::getsid(start.process.id()), start.process.id());
  ProcessStart other = start_program(shell("exec sleep 60"));
  EXPECT_EQ(::getsid(other.process.id()), ::getsid(0));
  EXPECT_EQ(::getpgid(other.process.id()), ::getpgid(0));
}

TEST(ChildProcess, HearsOfItsParentsEnd) {
  Pipe out = make_pipe();
  ProcessStart parent = run_in_child(
      [&] {
        ProcessStart start = start_program(shell("exec sleep 60"), {.out = out.to.get(), .death_signal = SIGTERM});
        start.process.release();
        return start ? 4 : 5;
      },
      {.inherited = {out.to.get()}});
  EXPECT_EQ(parent.process.wait().exit_code, 4);
  EXPECT_EQ(heard(out), "");  // there is an end
}

// What /proc/self/status says of them: bit n - 1 for signal n.
uint64_t mask_of(const std::string& name, const Program::Signals signals) {
  Program program{.words = {"sed", "-n", "s/^" + name + ":[[:space:]]*//p", "/proc/self/status"}, .signals = signals};
  return std::stoull(said_by(program), nullptr, 16);
}

TEST(ChildProcess, HasItsSignals) {
  const auto bit = [](int signal) { return uint64_t{1} << (signal - 1); };
  sigset_t blocked, former;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &former);
  const auto ignored = ::signal(SIGHUP, SIG_IGN), handled = ::signal(SIGUSR1, [](int) {});
  using Signals = Program::Signals;
  EXPECT_NE(mask_of("SigBlk", Signals::kSame) & bit(SIGUSR2), 0u);
  EXPECT_EQ(mask_of("SigBlk", Signals::kUnblocked), 0u);
  EXPECT_EQ(mask_of("SigBlk", Signals::kDefault), 0u);
  EXPECT_NE(mask_of("SigIgn", Signals::kSame) & bit(SIGHUP), 0u);
  EXPECT_NE(mask_of("SigIgn", Signals::kUnblocked) & bit(SIGHUP), 0u);
  // 32 and 33 are the C library's own: its posix_spawn(), as make uses it, leaves them ignored, and nobody else may set
  // them.
  const uint64_t own = (uint64_t{1} << 31) | (uint64_t{1} << 32);
  EXPECT_EQ(mask_of("SigIgn", Signals::kDefault) & ~own, 0u);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &former, &after);
  EXPECT_EQ(::sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(::sigismember(&after, SIGUSR1), 0);
  EXPECT_NE(::signal(SIGUSR1, handled), SIG_DFL);  // the parent's handler is as it was
  EXPECT_EQ(::signal(SIGHUP, ignored), SIG_IGN);
}

// What is opened then has their numbers.
Pipe low_pipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

TEST(ChildProcess, StartsWithoutStreamsOfItsOwn) {
  ProcessStart closed = run_in_child(
      [] {
        for (const int stream : {0, 1, 2}) ::close(stream);
        Pipe in = low_pipe(), out = low_pipe();  // 0 to 3: each is a stream's, and none in its place
        if (in.to.get() != 1 || out.from.get() != 2) return 9;
        ProcessStart start = start_program(shell("read word; echo out $word; [ -e /proc/self/fd/2 ] && echo errors"),
                                           {.in = in.from.get(), .out = out.to.get()});
        if (!start || ::write(in.to.get(), "told\n", 5) != 5) return 10;
        // The reading end was its number 2, and closed by itself.
        if (heard(out) != "out told\n") return 11;
        in.from.reset();
        in.to.reset();
        Pipe both = low_pipe();
        ProcessStart turned =
            start_program(shell("echo one; echo two >&2"),
                          {.in = ChildSettings::kNothing, .out = both.to.get(), .errors = both.to.get()});
        if (!turned || heard(both) != "one\ntwo\n") return 12;
        const ProcessStart missing = start_program({.words = {"/no/such/program"}});
        if (missing.error != ENOENT) return 13;
        const Pipe above = make_pipe();
        return above.from.get() > 2 && above.to.get() > 2 ? 0 : 14;
      },
      {.others = ChildSettings::Others::kKept});
  EXPECT_EQ(closed.process.wait().status(), 0);
}

TEST(ChildProcess, SeveralThreadsStartAtOnce) {
  constexpr int kThreads = 8, kEach = 12;
  std::atomic<int> good{0};
  ProcessStart lasting = start_program(shell("exec sleep 60"));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<ProcessStart> others;  // had one of them another's pipe, that would have no end
      for (int i = 0; i < kEach; ++i) {
        others.push_back(start_program(shell("exec sleep 60")));
        const std::string word = std::to_string(t * kEach + i);
        const bool missing = start_program({.words = {"/no/such/program"}}).error == ENOENT;
        if (missing && said_by(shell("echo " + word)) == word + "\n") ++good;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads * kEach);
  EXPECT_TRUE(lasting.process.runs());
}

TEST(RunInChild, EndsWithWhatTheFunctionSays) {
  int changed = 1;
  ProcessStart start = run_in_child([&] { return changed = 9; });
  EXPECT_EQ(start.process.wait().exit_code, 9);
  EXPECT_EQ(changed, 1);  // it has a memory of its own
  EXPECT_EQ(run_in_child([]() -> int { throw std::runtime_error("no"); }).process.wait().exit_code, 1);
  EXPECT_EQ(run_in_child([] { return ::raise(SIGKILL); }).process.wait().signal, SIGKILL);
}

TEST(RunInChild, HasWhatItIsGivenAlone) {
  const Descriptor open(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe out = make_pipe();
  const auto look = [&] { return ::fcntl(open.get(), F_GETFD) < 0 && ::write(STDOUT_FILENO, "out", 3) == 3 ? 0 : 1; };
  ProcessStart alone = run_in_child(look, {.in = ChildSettings::kNothing, .out = out.to.get()});
  EXPECT_TRUE(alone.process.wait().well());
  ProcessStart kept = run_in_child(look, {.out = out.to.get(), .others = ChildSettings::Others::kKept});
  EXPECT_FALSE(kept.process.wait().well());
  EXPECT_EQ(heard(out), "out");
}

TEST(RunInChild, LeadsAGroupAtOnce) {
  ProcessStart start = run_in_child([] { return ::pause(); }, {.leads = ChildSettings::Leads::kGroup});
  EXPECT_EQ(::getpgid(start.process.id()), start.process.id());
  start.process.kill();
  EXPECT_EQ(start.process.wait().signal, SIGKILL);
}

TEST(AboveStreams, LeavesOthersAlone) {
  Descriptor open(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = open.get();
  ASSERT_GT(number, STDERR_FILENO);
  EXPECT_EQ(above_streams(std::move(open)).get(), number);
  EXPECT_FALSE(above_streams(Descriptor()));
}

}  // namespace
}  // namespace linac
