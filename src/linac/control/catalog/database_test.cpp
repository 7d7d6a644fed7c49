#include "linac/control/catalog/database.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/schema.h"
#include "linac/control/catalog/test_catalog.h"
#include "linac/control/catalog/users.h"

namespace linac::catalog {
namespace {

class DatabaseTest : public CatalogTest {};
LINAC_BOTH_DATABASES(DatabaseTest);

TEST_P(DatabaseTest, ValuesComeBackAsTheyWere) {
  auto db = open_database(url_);
  db->script(std::string("CREATE TABLE t (a BIGINT, b DOUBLE PRECISION, c TEXT, d ") + db->blob_type() + ")");
  const Bytes bytes{std::byte{0}, std::byte{255}, std::byte{39}};
  const std::string text = "it's \"quoted\" \xC3\xA9\xF0\x9F\x8E\x88 $1 \\ %";
  db->query("INSERT INTO t (a, b, c, d) VALUES ($4, $3, $2, $1)", bytes, text, -0.1, INT64_MIN);
  db->query("INSERT INTO t (a, b, c, d) VALUES ($1, $2, $3, $4)", Value(), Value(), Value(), Value());
  db->query("INSERT INTO t (a, b, c, d) VALUES ($1, $2, $3, $4)", INT64_MAX, -INFINITY, "", Bytes());
  const auto rows =
      db->query("SELECT a, b, c, d FROM t WHERE b IS NULL OR b < 0 ORDER BY CASE WHEN a < 0 THEN 0 ELSE 1 END, a");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].integer(0), INT64_MIN);
  EXPECT_EQ(rows[0].number(1), -0.1);
  EXPECT_EQ(rows[0].text(2), text);
  EXPECT_EQ(rows[0].bytes(3), bytes);
  const Row& empty = rows[1].null(0) ? rows[2] : rows[1];
  const Row& null = rows[1].null(0) ? rows[1] : rows[2];
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(null.null(i)) << i;
  EXPECT_EQ(empty.integer(0), INT64_MAX);
  EXPECT_EQ(empty.number(1), -INFINITY);
  EXPECT_EQ(empty.text(2), "");
  EXPECT_EQ(empty.bytes(3), Bytes());
  EXPECT_THROW(empty.text(0), Error);
}

TEST_P(DatabaseTest, TextThatIsNotUtf8IsRefused) {
  auto db = open_database(url_);
  for (const std::string& bad :
       {std::string("a\0b", 3), std::string("\xC0\x80"), std::string("\xFF"), std::string("\xED\xA0\x80"),
        std::string("\xF4\x90\x80\x80"), std::string("cut \xE2\x82")})
    EXPECT_EQ(refusal([&] { db->query("SELECT CAST($1 AS TEXT)", bad); }), RefusalKind::kInvalid);
  EXPECT_EQ(db->query("SELECT CAST($1 AS TEXT)", "\xE2\x82\xAC").front().text(0), "\xE2\x82\xAC");
}

TEST_P(DatabaseTest, AReadThatTakesTooLongIsRefused) {
  const std::string endless =
      "WITH RECURSIVE c(x) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT x + 1 FROM c WHERE x < 1000000000000) SELECT "
      "COUNT(*) FROM c";
  auto c = open_connection(url_);
  c->begin_read({.time = std::chrono::milliseconds(50)});
  EXPECT_EQ(refusal([&] { c->query(endless); }), RefusalKind::kInvalid);
  c->rollback();
  c->begin_read({.time = std::chrono::milliseconds(60'000)});
  EXPECT_EQ(c->query("SELECT 1").size(), 1u);
  c->commit();
  // Long statements are not kept: each would be another.
  for (int i = 0; i < 3; ++i) {
    const std::string text(2 * kKeptSqlBytesMax, 'a');
    EXPECT_EQ(c->query("SELECT '" + text + "' || CAST($1 AS TEXT)", std::to_string(i)).front().text(0),
              text + std::to_string(i));
  }
}

TEST_P(DatabaseTest, AReadOfTooManyBytesIsRefused) {
  constexpr size_t kMost = 10'000, kText = 500, kRows = kMost / (kText + kValueBytes);
  const std::string rows =
      "WITH RECURSIVE c(x) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT x + 1 FROM c WHERE x < $1) SELECT "
      "CAST($2 AS TEXT) FROM c";
  const std::string text(kText, 'a');
  auto c = open_connection(url_);
  c->begin_read({.bytes = kMost});
  EXPECT_EQ(c->query(rows, int64_t{kRows}, text).size(), kRows);
  EXPECT_EQ(refusal([&] { c->query(rows, int64_t{kRows} + 1, text); }), RefusalKind::kInvalid);
  EXPECT_EQ(c->query(rows, int64_t{kRows}, text).size(), kRows);  // of each statement, in the same view
  c->commit();
  c->begin_read();
  EXPECT_EQ(c->query(rows, int64_t{kRows} + 1, text).size(), kRows + 1);
  c->commit();
}

TEST_P(DatabaseTest, ErrorsSayWhatTheyAre) {
  auto db = open_database(url_);
  db->script("CREATE TABLE t (a BIGINT PRIMARY KEY, b BIGINT UNIQUE)");
  db->query("INSERT INTO t (a, b) VALUES (1, 2)");
  EXPECT_EQ(refusal([&] { db->query("INSERT INTO t (a, b) VALUES (1, 3)"); }), RefusalKind::kExists);
  EXPECT_EQ(refusal([&] { db->query("INSERT INTO t (a, b) VALUES (3, 2)"); }), RefusalKind::kExists);
  try {
    db->query("SELECT nonsense FROM t");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInternal);
  }
  EXPECT_TRUE(db->alive());
  EXPECT_EQ(db->query("SELECT COUNT(*) FROM t").front().integer(0), 1);
}

TEST_P(DatabaseTest, PostedStatementsAreCarriedOutInOrderAndTheirErrorsFound) {
  auto c = open_connection(url_);
  c->script("CREATE TABLE t (a BIGINT PRIMARY KEY)");
  c->begin_write();
  for (int64_t i = 0; i < 1000; ++i) c->post("INSERT INTO t (a) VALUES ($1)", i);
  EXPECT_EQ(c->query("SELECT COUNT(*) FROM t").front().integer(0), 1000);
  c->commit();
  c->begin_write();
  EXPECT_THROW(
      {
        c->post("INSERT INTO t (a) VALUES ($1)", int64_t{1000});
        c->post("INSERT INTO t (a) VALUES ($1)", int64_t{7});
        c->commit();
      },
      Refusal);
  EXPECT_TRUE(c->failed());
  c->rollback();
  EXPECT_EQ(c->query("SELECT COUNT(*) FROM t").front().integer(0), 1000);
}

TEST_P(DatabaseTest, MigratesFromNothingAndOnce) {
  auto db = open_database(url_);
  const auto newest = static_cast<int>(migrations().size());
  EXPECT_EQ(migrate(*db), 0);
  EXPECT_EQ(migrate(*db), newest);
  EXPECT_EQ(db->query("SELECT name FROM experiments WHERE id = 0").front().text(0), "Default");
  auto second = open_database(url_);
  EXPECT_EQ(migrate(*second), newest);
  EXPECT_EQ(second->query("SELECT COUNT(*) FROM experiments").front().integer(0), 1);
}

TEST_P(DatabaseTest, AnOldCatalogKeepsWhatItHad) {
  auto c = open_connection(url_);
  migrate(*c, 2);
  c->query(
      "INSERT INTO runs (id, experiment, name, user_name, state, reason, deleted, created_ms, started_ms, ended_ms, "
      "order_ms) VALUES ('r', 0, 'old', 'kim', 'RUNNING', '', 0, 1000, 2000, 0, 2000)");
  c->query("INSERT INTO run_tags (run, key, value) VALUES (1, 'linac.cursor', 'here'), (1, 'site', 'T2')");
  c->query(
      "INSERT INTO transitions (run, time_ms, from_state, to_state, reason) VALUES (1, 2000, 'PENDING', 'RUNNING', "
      "'attempt 1')");
  c->query("INSERT INTO users (name, role, account, disabled, created_ms) VALUES ('kim', 'member', 'kim', 0, 5)");
  EXPECT_EQ(migrate(*c), 2);
  EXPECT_EQ(folder_place(*c, "r"), "here");
  EXPECT_EQ(run(*c, "r").tags, (Tags{{"site", "T2"}}));
  const auto history = transitions(*c, "r");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].from, std::nullopt);
  EXPECT_EQ(history[0].to, RunState::kPending);
  EXPECT_EQ(history[0].time_ms, 1000);
  EXPECT_EQ(history[1].to, RunState::kRunning);
  EXPECT_EQ(user(*c, "kim").quota, Quota());
}

TEST_P(DatabaseTest, ANewerCatalogIsRefused) {
  auto db = open_database(url_);
  migrate(*db);
  db->query("INSERT INTO schema_version (version) VALUES ($1)", int64_t{1000});
  try {
    migrate(*db);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUser);
    EXPECT_NE(std::string(e.what()).find("1000"), std::string::npos);
  }
}

TEST_P(DatabaseTest, MoreStatementsThanAreKept) {
  auto db = open_database(url_);
  for (int i = 0; i < 1200; ++i)
    ASSERT_EQ(db->query("SELECT CAST($1 AS BIGINT) + " + std::to_string(i), int64_t{1}).front().integer(0), i + 1);
}

TEST(OpenDatabase, SaysWhatIsWrongWithoutThePassword) {
  const auto message = [](const std::string& url) {
    try {
      open_database(url);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message("mysql://me:geheim@host/x").find("'mysql'"), std::string::npos);
  EXPECT_EQ(message("mysql://me:geheim@host/x").find("geheim"), std::string::npos);
  EXPECT_NE(message("/nowhere/at/all.db").find("/nowhere/at/all.db"), std::string::npos);
  const std::string refused = message("postgresql://me:geheim@127.0.0.1:1/x");
  EXPECT_NE(refused.find("127.0.0.1:1/x"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("geheim"), std::string::npos) << refused;
}

}  // namespace
}  // namespace linac::catalog
