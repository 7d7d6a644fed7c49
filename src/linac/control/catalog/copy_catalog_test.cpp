#include "linac/control/catalog/copy_catalog.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/models.h"
#include "linac/control/catalog/queue.h"
#include "linac/control/catalog/schema.h"
#include "linac/control/catalog/test_catalog.h"
#include "linac/control/catalog/users.h"

namespace linac::catalog {
namespace {

std::vector<std::vector<Value>> content(const std::string& url, std::string_view table) {
  const auto database = open_connection(url);
  std::vector<std::vector<Value>> all;
  for (const Row& row : database->query("SELECT * FROM " + std::string(table)))
    all.emplace_back(row.values().begin(), row.values().end());
  std::sort(all.begin(), all.end());
  return all;
}

class CopyTest : public CatalogTest {
 protected:
  /// Something in most tables: text beyond ASCII, NaN, bytes, nothing.
  void fill(const std::string& url) {
    Catalog catalog(url);
    catalog.write([](Database& db) {
      User kim;
      kim.name = "kim";
      kim.quota.core_hours_max = 2.5;
      create_user(db, kim);
      NewToken token = make_token("kim", Role::kMember, 0, "n\xC3\xB6te", hash_);
      add_token(db, token.token, hash_);
      audit(db, {0, "kim", "user.create", "kim", "127.0.0.1"});
      NewRun run;
      run.name = "\xCE\xB3 showers";
      run.user = "kim";
      run.tags = {{"site", "T2"}, {"empty", ""}};
      const std::string first = create_run(db, run).id;
      set_parameters(db, first, {{"lr", "1e-3"}});
      add_inputs(db, first, {{"data", "abc", "local", "/a.h5", "", "{}", {{"mlflow.data.context", "train"}}}});
      for (int64_t batch = 1; batch <= 300; ++batch)
        append_batch(
            db, first, "s", batch,
            std::vector<KeyedPoint>{{"loss", {batch, batch, batch % 7 ? 1.0 / static_cast<double>(batch) : NAN}},
                                    {"acc", {batch, batch, static_cast<double>(batch)}}});
      set_folder_place(db, first, "here");
      Wishes after;
      after.cost_max = 0.1;
      const std::string job = submit(db, run, "train: {}", {}, "key");
      after.depends_on = {job};
      submit(db, run, "train: {}", after, "");
      create_model(db, "gan", "", {});
      create_version(db, "gan", {"runs:/x/model", first, "", "kim", {{"a", "b"}}});
      set_alias(db, "gan", "best", 1);
    });
  }
  /// The other kind of database, or the same; empty.
  std::string fresh(bool postgresql) {
    return postgresql ? server().make_database() : (folder_ / ("copy-" + std::to_string(++made_) + ".db")).string();
  }
  static inline std::string hash_;
  int made_ = 0;
};
LINAC_BOTH_DATABASES(CopyTest);

TEST_P(CopyTest, EverythingArrivesInEitherDatabaseAndTheCatalogGoesOnThere) {
  fill(url_);
  for (const bool postgresql : {false, true}) {
    if (postgresql && !PostgresqlServer::available()) continue;
    const std::string to = fresh(postgresql);
    int64_t told = 0, told_of = 0;
    const RowCounts counts = copy_catalog(url_, to, [&](int64_t done, int64_t of) {
      told = done;
      told_of = of;
    });
    EXPECT_EQ(told, told_of);
    EXPECT_EQ(counts.at("runs"), 3);
    EXPECT_GT(counts.at("blocks"), 1);
    EXPECT_EQ(count_rows(to), counts);
    for (const std::string_view table : tables()) EXPECT_EQ(content(url_, table), content(to, table)) << table;

    Catalog catalog(to);
    const std::string added = catalog.write([](Database& db) {
      NewRun run;
      run.user = "kim";
      return create_run(db, run).id;  // a number of its own
    });
    EXPECT_EQ(catalog.read_as([&](Database& db) { return search_runs(db, Viewer::of_all(), {}).items.size(); }), 4u);
    EXPECT_EQ(catalog.read_as([&](Database& db) { return queue(db).size(); }), 2u);
    EXPECT_NE(added, "");
  }
}

TEST_P(CopyTest, NothingIsOverwrittenAndNothingElseIsTaken) {
  fill(url_);
  const std::string to = fresh(postgresql());
  copy_catalog(url_, to, [](int64_t, int64_t) {});
  const auto code = [](const auto& action) {
    try {
      action();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::kInternal;
  };
  const auto copy = [](const std::string& from, const std::string& into) {
    copy_catalog(from, into, [](int64_t, int64_t) {});
  };
  EXPECT_EQ(code([&] { copy(url_, to); }), ErrorCode::kUser);
  EXPECT_EQ(code([&] { copy(fresh(postgresql()), fresh(false)); }), ErrorCode::kUser);
  const std::string used = fresh(postgresql());
  const Catalog catalog(used);
  EXPECT_EQ(code([&] { copy(url_, used); }), ErrorCode::kUser);
  const std::string newer = fresh(postgresql());
  copy(url_, newer);
  open_connection(newer)->query("INSERT INTO schema_version (version) VALUES (1000)");
  EXPECT_EQ(code([&] { copy(newer, fresh(false)); }), ErrorCode::kUser);
}

TEST(Schema, ListsItsTables) {
  const auto database = open_sqlite(":memory:");
  migrate(*database);
  std::set<std::string> there, listed(tables().begin(), tables().end());
  for (const Row& row : database->query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE "
                                        "'sqlite%' AND name <> 'schema_version'"))
    there.insert(row.text(0));
  EXPECT_EQ(there, listed);
}

}  // namespace
}  // namespace linac::catalog
