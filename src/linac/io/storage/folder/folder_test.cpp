// A folder on its way to a store and back, beside a store that is a path; s3:// is in tests/storage/run_test.py.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/storage/folder/folder_copy.h"
#include "linac/io/storage/folder/folder_mirror.h"
#include "linac/io/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;
using Pass = FolderUpload::Pass;

bool is_snapshot(std::string_view name) {
  return name.starts_with("snaps/s-");
}

FolderRules rules() {
  // As for runs, what is being made stays here: it is gone a moment later.
  return {[](std::string_view name) {
            return !name.starts_with("secret/") && !name.starts_with(".") &&
                   name.find(".tmp.") == std::string_view::npos;
          },
          "snaps", is_snapshot};
}

class Folder : public ::testing::Test {
 protected:
  Folder() {
    fs::create_directories(here / "snaps");
    fs::create_directories(here / "secret");
  }
  void put(const std::string& name, const std::string& content) const { write_file_atomically(here / name, content); }
  void add(const std::string& name, const std::string& content) const {
    std::ofstream(here / name, std::ios::app) << content;
  }
  FolderUpload upload() const {
    return {url, here, rules(), "copy", read_manifest(url), [] {}};
  }
  Manifest manifest() const { return read_manifest(url).value().manifest; }
  /// All that the manifest names, read from the store: what it says must be there.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const ManifestFile& file : manifest().files) {
      all[file.name] = read_file(store / file.object);
      EXPECT_EQ(static_cast<int64_t>(all[file.name].size()), file.size) << file.name;
      EXPECT_EQ(content_hash(all[file.name]), file.hash) << file.name;
    }
    return all;
  }
  /// Below the store, without manifest and locks.
  std::vector<std::string> objects() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(store)) {
      const std::string name = entry.path().lexically_relative(store).string();
      if (entry.is_regular_file() && name != kManifestName && !name.starts_with(".")) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const TemporaryFolder root;
  const fs::path here = root / "here", store = root / "store";
  const std::string url = store.string();
};

using Contents = std::map<std::string, std::string>;

TEST_F(Folder, WhatIsNewIsSentOnce) {
  put("job", "j");
  put("log", "one\n");
  put("snaps/s-1", "first");
  FolderUpload upload(url, here, rules(), "copy", std::nullopt, [] {});
  EXPECT_TRUE(upload.has_new_snapshot());
  upload.send(Pass::kQuick);
  EXPECT_FALSE(upload.has_new_snapshot());
  EXPECT_EQ(contents(), (Contents{{"job", "j"}, {"log", "one\n"}, {"snaps/s-1", "first"}}));
  EXPECT_EQ(manifest().find("snaps/s-1")->object, "snaps/s-1");
  EXPECT_EQ(manifest().copy, "copy");
  const int64_t sequence = manifest().sequence;
  upload.send(Pass::kAll);
  EXPECT_EQ(manifest().sequence, sequence) << "nothing is new";

  const ManifestFile former = *manifest().find("log");
  add("log", "two\n");
  put("snaps/s-2", "second");
  fs::remove(here / "snaps/s-1");
  upload.send(Pass::kQuick);
  EXPECT_EQ(contents(), (Contents{{"job", "j"}, {"log", "one\ntwo\n"}, {"snaps/s-2", "second"}}));
  EXPECT_EQ(read_file(store / former.object), "one\n") << "a reader of the former manifest still finds it";
  EXPECT_EQ(manifest().leaving.size(), 2U);
}

TEST_F(Folder, InTheEndAllFilesHaveTheirNames) {
  put("log", "one\n");
  put("snaps/s-1", "first");
  auto upload = std::make_unique<FolderUpload>(url, here, rules(), "copy", std::nullopt, [] {});
  upload->send(Pass::kAll);
  add("log", "two\n");
  upload->send(Pass::kAll);
  upload->send(Pass::kLast);
  EXPECT_TRUE(manifest().ended);
  EXPECT_EQ(objects(), (std::vector<std::string>{"log", "snaps/s-1"}));
  EXPECT_EQ(read_file(store / "log"), "one\ntwo\n");
  contents();
  // And on with it: another process, which has the same files.
  upload = std::make_unique<FolderUpload>(url, here, rules(), "copy", read_manifest(url), [] {});
  upload->send(Pass::kQuick);
  EXPECT_FALSE(manifest().ended);
  add("log", "three\n");
  upload->send(Pass::kQuick);
  EXPECT_EQ(read_file(store / "log"), "one\ntwo\n");
  EXPECT_EQ(contents()["log"], "one\ntwo\nthree\n");
  upload->send(Pass::kLast);
  EXPECT_EQ(objects(), (std::vector<std::string>{"log", "snaps/s-1"}));
  EXPECT_EQ(contents()["log"], "one\ntwo\nthree\n");
}

TEST_F(Folder, WhatIsNotWantedStaysHere) {
  put("secret/key", "hush");
  put("log", "l");
  write_file_atomically(root / "elsewhere", "hush");
  fs::create_symlink(root / "elsewhere", here / "link");
  fs::create_directory_symlink(here / "secret", here / "folder");
  put("\xff\xfe", "no text");
  ASSERT_EQ(::mkfifo((here / "fifo").c_str(), 0600), 0);
  FolderUpload(url, here, rules(), "copy", std::nullopt, [] {}).send(Pass::kLast);
  EXPECT_EQ(objects(), std::vector<std::string>{"log"});
}

TEST_F(Folder, WhatAKilledProcessLeftGoes) {
  put("snaps/s-2", "second");
  fs::create_directories(store / "versions");
  fs::create_directories(store / "snaps");
  for (const char* name : {"versions/cut", "snaps/s-1", "snaps/of-somebody", "of-somebody"})
    write_file_atomically(store / name, "x");
  FolderUpload(url, here, rules(), "copy", std::nullopt, [] {}).send(Pass::kQuick);
  EXPECT_EQ(objects(), (std::vector<std::string>{"of-somebody", "snaps/of-somebody", "snaps/s-2"}));
}

TEST_F(Folder, LargeFilesThatChangeWaitForASnapshot) {
  put("log", std::string(17 << 20, 'x'));
  put("snaps/s-1", "first");
  FolderUpload upload(url, here, rules(), "copy", std::nullopt, [] {});
  upload.send(Pass::kQuick);
  add("log", "y");
  upload.send(Pass::kQuick);
  EXPECT_EQ(manifest().find("log")->size, 17 << 20);
  put("snaps/s-2", "second");
  upload.send(Pass::kQuick);
  EXPECT_EQ(manifest().find("log")->size, (17 << 20) + 1);
  contents();
}

TEST_F(Folder, WhoIsTakenOverWritesNoMore) {
  put("log", "l");
  bool taken_over = false;
  FolderUpload one(url, here, rules(), "one", std::nullopt, [&] {
    if (taken_over) throw user_error("taken over");
  });
  one.send(Pass::kQuick);
  taken_over = true;
  add("log", "m");
  message_of(ErrorCode::kUser, [&] { one.send(Pass::kQuick); });
  EXPECT_EQ(contents(), (Contents{{"log", "l"}}));
}

// The other one's last manifest comes while who took over begins.
TEST_F(Folder, WhoTakesOverPrevails) {
  put("log", "l");
  put("snaps/s-1", "first");
  FolderUpload one(url, here, rules(), "one", std::nullopt, [] {});
  one.send(Pass::kQuick);
  put("log", "lm");
  upload().send(Pass::kQuick);
  put("log", "lmn");
  one.send(Pass::kQuick);
  EXPECT_EQ(manifest().copy, "one");
  EXPECT_EQ(contents(), (Contents{{"log", "lmn"}, {"snaps/s-1", "first"}}));
  fs::remove(store / kManifestName);
  put("log", "lmno");
  one.send(Pass::kQuick);
  EXPECT_EQ(contents(), (Contents{{"log", "lmno"}, {"snaps/s-1", "first"}}));
  one.send(Pass::kLast);
  EXPECT_EQ(contents(), (Contents{{"log", "lmno"}, {"snaps/s-1", "first"}}));
}

// Files grow and a snapshot comes while the folder is listed, whatever the order in which it is.
TEST_F(Folder, ASnapshotThatComesWhileTheFolderIsListedWaits) {
  std::vector<std::string> logs;
  for (char c = 'a'; c <= 'z'; ++c) logs.push_back(fmt::format("log-{}", c));
  const auto grow = [&](int n) {
    for (const std::string& log : logs) add(log, "x");
    put(fmt::format("snaps/s-{}", n), "");
  };
  int n = 1, calls_left = 0;
  FolderRules growing = rules();
  growing.is_snapshot = [&](std::string_view name) {
    if (calls_left > 0 && --calls_left == 0) grow(++n);
    return is_snapshot(name);
  };
  grow(1);
  FolderUpload upload(url, here, growing, "copy", std::nullopt, [] {});
  upload.send(Pass::kQuick);
  for (int after = 1; after <= 30; ++after) {
    calls_left = after;
    upload.send(Pass::kQuick);
    const Manifest now = manifest();
    int last = 0;
    for (const ManifestFile& file : now.files)
      if (is_snapshot(file.name)) last = std::max(last, std::stoi(file.name.substr(8)));
    for (const std::string& log : logs) EXPECT_GE(now.find(log)->size, last) << log << ", after " << after;
  }
  EXPECT_EQ(n, 31);
}

// Snapshot N says how far the log reaches; whoever reads finds a log that is no shorter, whenever that is.
TEST_F(Folder, AReaderSeesOneMomentWhileAllChanges) {
  std::atomic<bool> end = false;
  std::jthread worker([&] {
    for (int n = 1; !end; ++n) {
      add("log", "line\n");
      put("best", fmt::format("{}", n));
      put(fmt::format("snaps/s-{:06}", n), fmt::format("{}", n));
      if (n > 3) fs::remove(here / fmt::format("snaps/s-{:06}", n - 3));
      if (n % 50 == 0) write_end_of_file_atomically(here / "log", 5 * n, "");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  std::jthread sender([&] {
    FolderUpload upload(url, here, rules(), "copy", std::nullopt, [] {});
    while (!end) upload.send(Pass::kQuick);
  });
  const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> ends(&end, [](auto* flag) { *flag = true; });
  const auto has_snapshot = [&] {
    const auto read = read_manifest(url);
    return read && std::any_of(read->manifest.files.begin(), read->manifest.files.end(),
                               [](const ManifestFile& one) { return is_snapshot(one.name); });
  };
  while (!has_snapshot()) std::this_thread::yield();
  int64_t sequences = 0, last = -1;
  for (int i = 0; i < 4000 && sequences < 10; ++i) {
    const fs::path there = root / "there";
    const Manifest read = fetch_folder(url, *read_manifest(url), there, is_snapshot).manifest;
    sequences += read.sequence != std::exchange(last, read.sequence);
    size_t snapshots = 0;
    for (const auto& entry : fs::directory_iterator(there / "snaps")) {
      ++snapshots;
      const int n = std::stoi(read_file(entry.path()));
      EXPECT_GE(fs::file_size(there / "log"), 5U * static_cast<unsigned>(n));
      EXPECT_GE(std::stoi(read_file(there / "best")), n);
    }
    EXPECT_GE(snapshots, 1U);
  }
  EXPECT_EQ(sequences, 10);
}

TEST_F(Folder, ACopyIsMadeWholeAndBroughtUpToDate) {
  put("log", "one");
  put("snaps/s-1", "first");
  put("snaps/s-2", "second");
  FolderUpload upload(url, here, rules(), "copy", std::nullopt, [] {});
  upload.send(Pass::kAll);
  const fs::path there = root / "there";
  fs::create_directories(there);
  write_file_atomically(there / "of-before", "x");
  write_file_atomically(there / "log", "one");
  fetch_folder(url, *read_manifest(url), there, is_snapshot);
  EXPECT_EQ(read_file(there / "log"), "one");
  EXPECT_EQ(read_file(there / "snaps/s-2"), "second");
  EXPECT_FALSE(fs::exists(there / "of-before"));
  fs::remove(here / "snaps/s-1");
  upload.send(Pass::kAll);
  fetch_folder(url, *read_manifest(url), there, is_snapshot);
  EXPECT_FALSE(fs::exists(there / "snaps/s-1"));
}

TEST_F(Folder, WhatIsDamagedIsNotTaken) {
  put("log", "one");
  put("snaps/s-1", "first");
  put("snaps/s-2", "second");
  FolderUpload(url, here, rules(), "copy", std::nullopt, [] {}).send(Pass::kAll);
  write_file_atomically(store / "snaps/s-2", "sec0nd");
  const fs::path there = root / "there";
  fetch_folder(url, *read_manifest(url), there, is_snapshot);
  EXPECT_FALSE(fs::exists(there / "snaps/s-2"));
  EXPECT_EQ(read_file(there / "snaps/s-1"), "first");
  fs::remove(store / "snaps/s-1");
  message_of(ErrorCode::kData, [&] { fetch_folder(url, *read_manifest(url), root / "other", is_snapshot); });
  write_file_atomically(store / "snaps/s-1", "first");
  write_file_atomically(store / manifest().find("log")->object, "on");
  const std::string message =
      message_of(ErrorCode::kData, [&] { fetch_folder(url, *read_manifest(url), root / "third", is_snapshot); });
  EXPECT_NE(message.find("damaged"), std::string::npos) << message;
}

constexpr MirrorTimes kQuickTimes{.interval = std::chrono::milliseconds(50),
                                  .look = std::chrono::milliseconds(5),
                                  .first_wait = std::chrono::milliseconds(10),
                                  .wait_max = std::chrono::milliseconds(20),
                                  .patience = std::chrono::milliseconds(100)};

class Mirror : public Folder {
 protected:
  std::unique_ptr<FolderMirror> mirror() {
    auto upload = std::make_unique<FolderUpload>(url, here, rules(), "copy", read_manifest(url), [this] {
      if (taken_over) throw user_error("taken over");
    });
    return std::make_unique<FolderMirror>(
        url, std::move(upload), [this] { ++lost; }, kQuickTimes);
  }
  static void wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(holds());
  }
  bool has(const std::string& name, const std::string& content) const {
    const auto read = read_manifest(url);
    const ManifestFile* const file = read ? read->manifest.find(name) : nullptr;
    return file != nullptr && file->hash == content_hash(content);
  }
  std::atomic<int> lost = 0;
  std::atomic<bool> taken_over = false;
};

TEST_F(Mirror, SendsWhatComesAndTheRestInTheEnd) {
  const auto mirror = this->mirror();
  wait_until([&] { return read_manifest(url).has_value(); });
  put("snaps/s-1", "first");
  wait_until([&] { return has("snaps/s-1", "first"); });
  add("log", "one");
  wait_until([&] { return has("log", "one"); });
  add("log", "two");
  mirror->finish(true);
  EXPECT_EQ(read_file(store / "log"), "onetwo");
  EXPECT_TRUE(manifest().ended);
  EXPECT_EQ(lost, 0);
}

TEST_F(Mirror, GoesOnWhenTheStoreIsBack) {
  write_file_atomically(store, "no folder can be made here");
  const auto mirror = this->mirror();
  put("snaps/s-1", "first");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  fs::remove(store);
  wait_until([&] { return has("snaps/s-1", "first"); });
  mirror->finish(false);
  EXPECT_EQ(contents(), (Contents{{"snaps/s-1", "first"}}));
}

TEST_F(Mirror, ARefusalInTheEndIsAnError) {
  const auto mirror = this->mirror();
  wait_until([&] { return read_manifest(url).has_value(); });
  fs::remove_all(store);
  write_file_atomically(store, "x");
  put("log", "l");
  message_of(ErrorCode::kEnvironment, [&] { mirror->finish(true); });
}

TEST_F(Mirror, WhoIsTakenOverStops) {
  const auto mirror = this->mirror();
  wait_until([&] { return read_manifest(url).has_value(); });
  taken_over = true;
  add("log", "m");
  wait_until([&] { return lost == 1; });
  message_of(ErrorCode::kUser, [&] { mirror->finish(true); });
}

}  // namespace
}  // namespace linac::storage
