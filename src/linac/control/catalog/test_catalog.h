#pragma once
// For tests only: every test of the catalog runs on SQLite and on a PostgreSQL server that the test program starts for
// itself, once.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "linac/base/base/refusal.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/catalog/catalog.h"

namespace linac::catalog {

/// A PostgreSQL server in a temporary folder, on a socket there. As the user postgres if the test is root: it refuses
/// root.
class PostgresqlServer {
 public:
  static bool available();
  PostgresqlServer();
  ~PostgresqlServer();

  /// The URL of a database of its own.
  std::string make_database();
  void start();
  /// The server and its children at once, with nothing written down.
  void kill();

 private:
  TemporaryFolder folder_;
  std::string programs_;
  pid_t process_ = -1;
  int databases_ = 0;
};

/// The parameter is "sqlite" or "postgresql"; each test has an empty database.
class CatalogTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  bool postgresql() const { return std::string(GetParam()) == "postgresql"; }
  /// Of the whole program.
  static PostgresqlServer& server();

  std::string url_;
  TemporaryFolder folder_;
};

#define LINAC_BOTH_DATABASES(Suite) \
  INSTANTIATE_TEST_SUITE_P(Both, Suite, testing::Values("sqlite", "postgresql"), [](const auto& i) { return i.param; })

/// A migrated database with one connection, within a transaction that is never committed.
class RecordsTest : public CatalogTest {
 protected:
  void SetUp() override;
  void TearDown() override;
  Database& db() { return *database_; }

 private:
  std::unique_ptr<Database> database_;
};

/// The kind of refusal that `action` throws; nothing if it throws none.
template <class F>
std::optional<RefusalKind> refusal(F action) {
  try {
    action();
  } catch (const Refusal& e) {
    EXPECT_EQ(std::string(e.what()).front(), '[') << e.what();
    return e.kind();
  }
  return std::nullopt;
}

}  // namespace linac::catalog
