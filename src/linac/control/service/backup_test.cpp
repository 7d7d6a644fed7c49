#include "linac/control/service/backup.h"

#include <gtest/gtest.h>

#include <functional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/catalog/catalog.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"
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
  const BackupSummary back = restore(backup_, other_, "");
  EXPECT_EQ(back.rows, made.rows);
  EXPECT_EQ(back.files, 2);
  EXPECT_EQ(read_file(other_ / "artifacts/0/r/artifacts/model.bin"), std::string(100000, 'm'));
  EXPECT_FALSE(fs::exists(other_ / "artifacts/0/r/artifacts/link"));
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

}  // namespace
}  // namespace linac::service
