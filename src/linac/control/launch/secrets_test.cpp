// Secrets on their way to a command, by a real supervisor: the command has them, and nothing else keeps or shows them.

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "linac/base/base/error.h"
#include "linac/control/launch/sandbox.h"
#include "linac/control/launch/test_launch.h"

namespace linac::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char *kKey = "hunter2-and-more", *kProxy = "-----BEGIN PROXY-----\nMIIprivate\n";

class Secrets : public Launch {
 protected:
  Command with_secrets(const std::string& script) const {
    Command command = shell(script);
    command.secrets = {{"KEY", kKey, false}, {"X509_USER_PROXY", kProxy, true}};
    return command;
  }
  /// Files below the test's folder that hold part of a value.
  std::string kept_in() const {
    std::string files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      const std::string text = read_file(entry.path());
      for (const char* part : {kKey, "MIIprivate", "68756e74657232", "4d4949707269"})
        if (text.find(part) != std::string::npos) files += entry.path().string() + "\n";
    }
    return files;
  }
  fs::path files() const { return AttemptFolder(attempt()).secret_files(); }
};

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Processes, but for this one, in whose `file` (cmdline, environ) a value stands.
std::vector<pid_t> shown_by(const char* file, std::string_view value) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || std::stoi(name) == getpid()) continue;
    if (text_of(entry.path() / file).find(value) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

TEST_F(Secrets, ReachTheCommandAndNotItsLog) {
  start(with_secrets(
      "echo \"$KEY\" | wc -c; cat $X509_USER_PROXY | wc -c; stat -c '%a %u' $X509_USER_PROXY; "
      "echo key=$KEY; cat $X509_USER_PROXY; printf hunter2; sleep 0.2; echo -and-more; printf 'hunter2-'"));
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(log(),
            "17\n33\n600 " + std::to_string(geteuid()) +
                "\nkey=[secret KEY]\n[secret X509_USER_PROXY]\n[secret X509_USER_PROXY]\n[secret KEY]\nhunter2-");
  EXPECT_EQ(kept_in(), "");
  EXPECT_FALSE(fs::exists(files()));
}

TEST_F(Secrets, AreInNoFileButTheCommandsOwnWhileItRuns) {
  start(with_secrets("echo up; sleep 60"));
  ASSERT_TRUE(within(10s, [&] { return log() == "up\n"; }));
  EXPECT_EQ(kept_in(), (files() / "X509_USER_PROXY").string() + "\n");
  struct stat about {};
  ASSERT_EQ(stat(files().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700u);
  EXPECT_TRUE(shown_by("cmdline", kKey).empty());
  launcher_.cancel(key());
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(kept_in(), "");
}

TEST_F(Secrets, GoAlsoWhenTheSupervisorIsKilled) {
  start(with_secrets("echo up; sleep 1; echo key=$KEY; cat $X509_USER_PROXY"));
  ASSERT_TRUE(within(10s, [&] { return log() == "up\n"; }));
  kill(supervisor_pid(), SIGKILL);
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(state(), AttemptState::kLost);
  EXPECT_TRUE(within(5s, [&] {
    return log().ends_with("key=[secret KEY]\n[secret X509_USER_PROXY]\n[secret X509_USER_PROXY]\n");
  })) << log();
  EXPECT_EQ(kept_in(), "");
  EXPECT_FALSE(fs::exists(files()));
}

TEST_F(Secrets, GoAlsoWhenItNeverBegins) {
  const AttemptFolder folder(attempt());
  folder.make();
  folder.write_secrets(with_secrets("").secrets);  // a service was killed here
  EXPECT_NE(kept_in(), "");
  launcher_.prepare(key(), {});
  launcher_.cancel(key());
  launcher_.release(key());
  EXPECT_EQ(kept_in(), "");

  const AttemptKey other{"other", folder_ / "other"};
  Command command = with_secrets("true");
  command.argv = {(folder_ / "nothing").string()};
  launcher_.prepare(other, {});
  launcher_.start(other, command);
  ASSERT_TRUE(within(10s, [&] { return launcher_.status(other).state == AttemptState::kEnded; }));
  EXPECT_EQ(launcher_.status(other).exit->status, 127);
  EXPECT_EQ(kept_in(), "");
}

TEST_F(Secrets, OfAnEarlierStartAreNotThoseOfTheNext) {
  const AttemptFolder folder(attempt());
  folder.make();
  folder.write_secrets(with_secrets("").secrets);
  start(shell("echo \"<$KEY>\""));
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(log(), "<>\n");
  EXPECT_EQ(kept_in(), "");
}

// What was put in the way of a file does not get it, or is not removed through.
TEST_F(Secrets, LeadNowhereElse) {
  fs::create_directory(folder_ / "elsewhere");
  std::ofstream(folder_ / "elsewhere" / "kept") << "kept";
  fs::create_directory_symlink(folder_ / "elsewhere", files());
  start(with_secrets("echo ran"));
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(launcher_.status(key()).exit->status, 127);
  EXPECT_EQ(log(), "");
  EXPECT_EQ(kept_in(), "");
  EXPECT_EQ(read_file(folder_ / "elsewhere" / "kept"), "kept");
}

TEST_F(Secrets, AMillionBytesWithoutALineComeThrough) {
  start(with_secrets("head -c 1000000 /dev/zero | tr '\\0' h; echo $KEY"));
  ASSERT_TRUE(ended_within(20s));
  EXPECT_EQ(log(), std::string(1'000'000, 'h') + "[secret KEY]\n");
}

TEST_F(Secrets, OfAnotherAccountAreReadByThatOneAlone) {
  if (geteuid() != 0 || getpwnam("nobody") == nullptr) GTEST_SKIP() << "only root starts commands as others";
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  Command command = with_secrets("id -un; cat $X509_USER_PROXY; stat -c '%a %U' $X509_USER_PROXY; ls " +
                                 files().string() + "; ln -s /etc $X509_USER_PROXY.link; rm -f $X509_USER_PROXY; true");
  command.account = "nobody";
  command.directory = "/";
  start(command);
  ASSERT_TRUE(ended_within(10s));
  EXPECT_NE(log().find("nobody\n[secret X509_USER_PROXY]\n[secret X509_USER_PROXY]\n600 nobody\n"), std::string::npos)
      << log();
  EXPECT_NE(log().find("ls: cannot open directory"), std::string::npos) << log();
  EXPECT_NE(log().find("ln: failed"), std::string::npos) << log();
  EXPECT_EQ(kept_in(), "");
}

class SandboxedSecrets : public Secrets {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_sandbox(); !why.empty()) GTEST_SKIP() << "no sandbox here: " << why;
    fs::create_directory(folder_ / "data");
  }
};

// LD_PRELOAD is no name of a secret; if it were, what starts the sandbox would not be moved by it.
TEST_F(SandboxedSecrets, AreWithinItAlone) {
  Command command = with_secrets("echo key=$KEY $LD_PRELOAD; cat $X509_USER_PROXY; sleep 60");
  command.secrets.push_back({"LD_PRELOAD", (folder_ / "none.so").string(), false});
  command.view = View{{(folder_ / "data").string(), (folder_ / "attempt").string()}, {}, {}, {folder_.path().string()}};
  start(command);
  ASSERT_TRUE(within(10s, [&] { return log().find("[secret X509_USER_PROXY]\n[") != std::string::npos; })) << log();
  EXPECT_NE(log().find("key=[secret KEY] [secret LD_PRELOAD]\n"), std::string::npos) << log();
  EXPECT_TRUE(shown_by("cmdline", kKey).empty());
  const auto outer = AttemptFolder(attempt()).process();
  ASSERT_TRUE(outer);
  for (const pid_t pid : shown_by("environ", kKey)) EXPECT_NE(pid, outer->pid);
  launcher_.cancel(key());
  ASSERT_TRUE(ended_within(10s));
  EXPECT_EQ(kept_in(), "");
}

}  // namespace
}  // namespace linac::launch
