#include "linac/train/comm/meeting/run_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <set>
#include <thread>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"

namespace linac::comm {
namespace {

namespace fs = std::filesystem;
using std::literals::chrono_literals::operator""ms;

EnvironmentLookup with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

unsigned mode(const fs::path& path) {
  struct stat facts {};
  EXPECT_EQ(lstat(path.c_str(), &facts), 0);
  return facts.st_mode & 0777;
}

TEST(RunKey, OfTheEnvironment) {
  const std::string text = RunKey::draw().text();
  EXPECT_EQ(text.size(), 64);
  EXPECT_EQ(key_of_environment(with({{"LINAC_RUN_KEY", text}}))->text(), text);
  EXPECT_FALSE(key_of_environment(with({{"LINAC_RUN_KEY", ""}})));
  EXPECT_NE(RunKey::draw().text(), text);

  const TemporaryFolder folder;
  const fs::path file = folder.path() / "secret", link = folder.path() / "mounted";
  write_file_atomically(file, text + "\n");
  fs::create_symlink(file, link);
  const auto lookup = with({{"LINAC_RUN_KEY_FILE", link}});
  chmod(file.c_str(), 0640);
  EXPECT_NE(refused([&] { key_of_environment(lookup); }).find("chmod 600"), std::string::npos);
  chmod(file.c_str(), 0400);
  EXPECT_EQ(key_of_environment(lookup)->text(), text);
  fs::remove(file);
  EXPECT_NE(refused([&] { key_of_environment(lookup); }).find("LINAC_RUN_KEY_FILE"), std::string::npos);
}

TEST(RunKey, WhatIsNoneIsNamedAndNotShown) {
  const std::string text = RunKey::draw().text();
  for (const std::string& bad : {text.substr(1), text + "0", "x" + text.substr(1), std::string("secret")}) {
    const std::string said = refused([&] { RunKey::parse(bad, "LINAC_RUN_KEY"); });
    EXPECT_NE(said.find("LINAC_RUN_KEY"), std::string::npos) << said;
    EXPECT_EQ(said.find(bad), std::string::npos) << said;
  }
}

TEST(RunKey, ProcessesThatMakeOneAtTheSameTimeHaveTheSame) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "runs" / "a";
  constexpr int kProcesses = 8;
  std::vector<std::string> keys(kProcesses);
  {
    std::vector<std::jthread> threads;
    for (std::string& key : keys) threads.emplace_back([&key, &run] { key = make_key_in(run).text(); });
  }
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), 1);
  EXPECT_EQ(read_key_in(run, 0ms).text(), keys[0]);
  EXPECT_EQ(mode(run / "private"), 0700);
  EXPECT_EQ(mode(run / "private" / "key"), 0600);
  for (const auto& entry : fs::directory_iterator(run / "private")) EXPECT_EQ(entry.path().filename(), "key");
}

TEST(RunKey, WhatOthersCouldReadOrHaveLaidThereIsRefused) {
  const TemporaryFolder folder;
  const fs::path run = folder.path(), key = run / "private" / "key";
  EXPECT_NE(refused([&] { read_key_in(run, 60ms); }).find("LINAC_RUN_KEY"), std::string::npos);
  EXPECT_NE(refused([&] { read_key_in("", 60ms); }).find("LINAC_RUN_KEY"), std::string::npos);

  fs::create_directory(run / "private");
  chmod((run / "private").c_str(), 0755);
  EXPECT_NE(refused([&] { make_key_in(run); }).find("chmod 700"), std::string::npos);
  chmod((run / "private").c_str(), 0700);
  make_key_in(run);
  chmod(key.c_str(), 0644);
  EXPECT_NE(refused([&] { read_key_in(run, 0ms); }).find("chmod 600"), std::string::npos);

  fs::remove(key);
  ASSERT_EQ(mkfifo(key.c_str(), 0600), 0);
  EXPECT_NE(refused([&] { read_key_in(run, 0ms); }).find("not a file"), std::string::npos);
  fs::remove(key);
  write_file_atomically(run / "elsewhere", RunKey::draw().text());
  chmod((run / "elsewhere").c_str(), 0600);
  fs::create_symlink(run / "elsewhere", key);
  EXPECT_THROW(read_key_in(run, 0ms), Error);
  fs::rename(run / "private", run / "other");
  fs::create_symlink(run / "other", run / "private");
  EXPECT_NE(refused([&] { make_key_in(run); }).find("not a folder"), std::string::npos);
}

TEST(RunKey, Seals) {
  const RunKey key = RunKey::draw();
  const std::string sealed = key.seal("run/joined/1", "{}");
  EXPECT_EQ(key.open("run/joined/1", sealed), "{}");
  EXPECT_EQ(key.open("run/joined/2", sealed), std::nullopt);
  EXPECT_EQ(RunKey::draw().open("run/joined/1", sealed), std::nullopt);
  EXPECT_EQ(key.open("run/joined/1", sealed + " "), std::nullopt);
  EXPECT_EQ(key.open("run/joined/1", "{}"), std::nullopt);
  EXPECT_EQ(key.open("", key.seal("", "")), "");
  EXPECT_NE(key.derive("a", "b"), key.derive("b", "a"));
}

}  // namespace
}  // namespace linac::comm
