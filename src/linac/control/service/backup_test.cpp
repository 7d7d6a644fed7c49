#include "linac/control/service/backup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/catalog/catalog.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/users.h"
#include "linac/control/service/data_folder.h"

namespace linac::service {
namespace {

namespace fs = std::filesystem;

class BackupTest : public testing::Test {
 protected:
  BackupTest() {
    make_folder(data_ / "artifacts/0/r/artifacts");
    write_file_atomically(data_ / "artifacts/0/r/artifacts/model.bin", std::string(100000, 'm'));
    make_folder(data_ / "runs/r/attempt-1");
    write_file_atomically(data_ / "runs/r/attempt-1/supervisor.json", "{}");
    fs::last_write_time(data_ / "runs/r/attempt-1/supervisor.json",
                        fs::file_time_type::clock::now() - std::chrono::hours(5));
    fs::create_symlink("/etc/hostname", data_ / "artifacts/0/r/artifacts/link");
    catalog::Catalog catalog(catalog_url(data_, ""));
    run_ = catalog.write([](catalog::Database& db) {
      const std::string id = catalog::create_run(db, {.name = "one", .user = "kim"}).id;
      catalog::append_points(db, id, std::vector<catalog::KeyedPoint>{{"loss", {1, 1, 0.5}}});
      return id;
    });
  }
  static ErrorCode code(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  }

  TemporaryFolder folder_;
  const fs::path data_ = folder_ / "data", backup_ = folder_ / "backup", other_ = folder_ / "other";
  std::string run_;
};

TEST_F(BackupTest, WhatIsRestoredIsWhatWasThere) {
  const BackupSummary made = back_up(data_, "", backup_);
  EXPECT_EQ(made.runs, 1);
  EXPECT_EQ(made.files, 2);
  EXPECT_EQ(made.bytes, 100002);
  catalog::Catalog books(catalog_url(data_, ""));
  const auto audited = books.read_as([](catalog::Database& db) { return catalog::audited(db, 1); });
  EXPECT_EQ(audited.at(0).action, "backup");
  const BackupSummary back = restore(backup_, other_, "");
  EXPECT_EQ(back.rows, made.rows);
  EXPECT_EQ(back.files, 2);
  EXPECT_EQ(read_file(other_ / "artifacts/0/r/artifacts/model.bin"), std::string(100000, 'm'));
  EXPECT_EQ(fs::read_symlink(other_ / "artifacts/0/r/artifacts/link"), "/etc/hostname");
  const char* file = "runs/r/attempt-1/supervisor.json";
  EXPECT_EQ(fs::last_write_time(data_ / file), fs::last_write_time(other_ / file));
  catalog::Catalog catalog(catalog_url(other_, ""));
  EXPECT_EQ(catalog.read_as([&](catalog::Database& db) { return catalog::curve(db, run_, "loss"); }).size(), 1u);
}

TEST_F(BackupTest, AServiceMayUseTheCatalogMeanwhile) {
  catalog::Catalog catalog(catalog_url(data_, ""));
  catalog.write([](catalog::Database& db) { catalog::create_run(db, {.name = "two", .user = "kim"}); });
  EXPECT_EQ(back_up(data_, "", backup_).runs, 2);
}

TEST_F(BackupTest, NothingIsOverwrittenAndDamageIsSeen) {
  back_up(data_, "", backup_);
  EXPECT_EQ(code([&] { back_up(data_, "", backup_); }), ErrorCode::kUser);
  EXPECT_EQ(code([&] { back_up(folder_ / "nowhere", "", folder_ / "b"); }), ErrorCode::kUser);
  EXPECT_EQ(code([&] { restore(backup_, data_, ""); }), ErrorCode::kUser);
  EXPECT_EQ(code([&] { restore(data_, other_, ""); }), ErrorCode::kUser);
  fs::remove(backup_ / "data/artifacts/0/r/artifacts/model.bin");
  EXPECT_EQ(code([&] { restore(backup_, other_, ""); }), ErrorCode::kData);
  EXPECT_FALSE(fs::exists(folder_ / "b"));
}

TEST_F(BackupTest, KeysThatARunHasLinkedAreNotInIt) {
  const fs::path run = data_ / "artifacts/0/r/artifacts";
  make_folder(data_ / kPrivateFolder);
  write_file_atomically(data_ / kPrivateFolder / "secrets.key", "the key of all secrets");
  make_folder(data_ / kSitesFolder / "farm");
  write_file_atomically(data_ / kSitesFolder / "farm/key", "the key of a run there");
  fs::create_hard_link(data_ / kPrivateFolder / "secrets.key", run / "weights");
  fs::create_hard_link(data_ / kSitesFolder / "farm/key", run / "more");
  fs::create_hard_link(data_ / kDatabaseFile, run / "books");
  fs::create_hard_link(run / "model.bin", run / "same.bin");
  fs::create_directory_symlink(data_ / kPrivateFolder, run / "models");
  EXPECT_EQ(back_up(data_, "", backup_).files, 3);
  const fs::path copy = backup_ / "data/artifacts/0/r/artifacts";
  for (const char* name : {"weights", "more", "books"}) EXPECT_FALSE(fs::exists(copy / name)) << name;
  EXPECT_TRUE(fs::exists(copy / "same.bin"));
  EXPECT_TRUE(fs::is_symlink(copy / "models"));
}

TEST_F(BackupTest, FilesOfOthersThatARunHasLinkedAreNotInIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has files of others";
  const fs::path run = data_ / "artifacts/0/r/artifacts";
  write_file_atomically(folder_ / "shadow", "of somebody else");
  ASSERT_EQ(chown(run.c_str(), 65534, 65534), 0);
  fs::create_hard_link(folder_ / "shadow", run / "shadow");
  back_up(data_, "", backup_);
  EXPECT_FALSE(fs::exists(backup_ / "data/artifacts/0/r/artifacts/shadow"));
}

TEST_F(BackupTest, FoldersOfAnyDepthAndFilesWithHolesAreCopied) {
  constexpr int kDepth = 1500;  // more than there are descriptors, often
  constexpr off_t kBytes = off_t{1} << 30;
  const auto deepest = [](const fs::path& root, bool make) {
    Descriptor at(open((root / "artifacts/0/r/artifacts").c_str(), O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < kDepth && at; ++i) {
      if (make) mkdirat(at.get(), "f", 0700);
      at = Descriptor(openat(at.get(), "f", O_DIRECTORY | O_CLOEXEC));
    }
    return at;
  };
  {
    const Descriptor file(openat(deepest(data_, true).get(), "sparse", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(pwrite(file.get(), "middle", 6, kBytes / 2), 6);
    ASSERT_EQ(ftruncate(file.get(), kBytes), 0);
  }
  EXPECT_EQ(back_up(data_, "", backup_).bytes, 100002 + kBytes);
  restore(backup_, other_, "");
  const Descriptor file(openat(deepest(other_, false).get(), "sparse", O_RDONLY | O_CLOEXEC));
  struct stat about {};
  ASSERT_EQ(fstat(file.get(), &about), 0);
  EXPECT_EQ(about.st_size, kBytes);
  EXPECT_LT(about.st_blocks, 10000);
  char text[7] = {};
  EXPECT_EQ(pread(file.get(), text, 6, kBytes / 2), 6);
  EXPECT_STREQ(text, "middle");
  for (const fs::path& folder : {data_, backup_, other_}) remove_tree(folder);
}

}  // namespace
}  // namespace linac::service
