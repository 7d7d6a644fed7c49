#include "linac/control/catalog/catalog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <latch>
#include <thread>

#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/experiments.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class WholeCatalogTest : public CatalogTest {};
LINAC_BOTH_DATABASES(WholeCatalogTest);

TEST_P(WholeCatalogTest, WhatIsWrittenIsRead) {
  Catalog catalog(url_);
  const int64_t id = catalog.write([](Database& d) { return create_experiment(d, "showers", "", {{"site", "T2"}}); });
  EXPECT_EQ(catalog.read_as([&](Database& d) { return experiment(d, id); }).tags.at("site"), "T2");
  EXPECT_EQ(refusal([&] { catalog.read_as([&](Database& d) { return experiment(d, id + 1); }); }),
            RefusalKind::kNotFound);
  EXPECT_THROW(catalog.read([](Database& d) { d.query("DELETE FROM runs WHERE nonsense = 1"); }), Error);
  EXPECT_EQ(catalog.read_as([&](Database& d) { return experiment(d, id); }).name, "showers");
}

TEST_P(WholeCatalogTest, StaysAfterClosing) {
  const std::string id = Catalog(url_).write(
      [](Database& d) { return create_run(d, {.experiment = 0, .name = "first", .user = {}, .tags = {}}).id; });
  Catalog again(url_);
  EXPECT_EQ(again.read_as([&](Database& d) { return run(d, id); }).name, "first");
}

/// Many writes of which some fail, all queued before the first is carried out.
TEST_P(WholeCatalogTest, InAGroupAThrowingOneIsUndoneAlone) {
  Catalog catalog(url_);
  constexpr int kWrites = 200;
  std::latch begin(1), end(kWrites + 1);
  catalog.write([&](Database&) { begin.wait(); }, [&](const std::exception_ptr&) { end.count_down(); });
  std::array<std::exception_ptr, kWrites> errors;
  for (int i = 0; i < kWrites; ++i) {
    catalog.write(
        [i](Database& d) {
          create_experiment(d, fmt::format("e{}", i), "", {});
          if (i % 10 == 3) throw std::runtime_error("thought better of it");
          if (i % 10 == 4) create_experiment(d, fmt::format("e{}", i - 4), "", {});  // refused before a statement fails
          if (i % 10 == 5)
            d.query(
                "INSERT INTO experiments (id, name, artifact_location, deleted, created_ms, updated_ms) "
                "VALUES (0, 'x', '', 0, 0, 0)");  // refused by the database
        },
        [&, i](const std::exception_ptr& e) {
          errors[static_cast<size_t>(i)] = e;
          end.count_down();
        });
  }
  begin.count_down();
  end.wait();
  for (int i = 0; i < kWrites; ++i) {
    const bool bad = i % 10 >= 3 && i % 10 <= 5;
    EXPECT_EQ(errors[static_cast<size_t>(i)] != nullptr, bad) << i;
    const auto found =
        catalog.read_as([&](Database& d) { return experiment_by_name(d, Viewer::of_all(), fmt::format("e{}", i)); });
    EXPECT_EQ(found.has_value(), !bad) << i;
  }
}

TEST_P(WholeCatalogTest, MoreThanMayWaitIsRefused) {
  Catalog catalog(url_);
  std::latch begin(1), taken(1);
  std::atomic<size_t> good = 0, limited = 0, other = 0;
  catalog.write(
      [&](Database&) {
        taken.count_down();
        begin.wait();
      },
      [](const std::exception_ptr&) {});
  taken.wait();
  for (size_t i = 0; i < Catalog::kWaitingMax + 10; ++i) {
    catalog.write([](Database&) {},
                  [&](const std::exception_ptr& e) {
                    if (!e)
                      ++good;
                    else if (refusal([&] { std::rethrow_exception(e); }) == RefusalKind::kLimit)
                      ++limited;
                    else
                      ++other;
                  });
  }
  EXPECT_EQ(limited, 10u);
  EXPECT_EQ(good, 0u);
  begin.count_down();
  while (good < Catalog::kWaitingMax && other == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(good, Catalog::kWaitingMax);
  EXPECT_EQ(other, 0u);
}

/// Whoever has a thousand waiting, and whose works take long, keeps another waiting for the one that goes on.
TEST_P(WholeCatalogTest, ThoseWhoWriteAreServedInTurn) {
  Catalog catalog(url_);
  constexpr size_t kWrites = 1500;
  std::latch begin(1), taken(1), end(kWrites + 3);
  std::vector<std::string> order;  // of the works, on the writing thread
  std::function<void(const std::string&, int)> write = [&](const std::string& who, int number) {
    catalog.write(
        [&, who, number](Database&) {
          order.push_back(fmt::format("{}{}", who, number));
          if (who == "ann" && number == 2) write("bob", 2);  // comes while the transaction goes on
          std::this_thread::sleep_for(std::chrono::milliseconds(number == 2 ? 25 : 0));  // longer than a transaction
        },
        [&](const std::exception_ptr& e) {
          EXPECT_FALSE(e);
          end.count_down();
        },
        who);
  };
  catalog.write(
      [&](Database&) {
        taken.count_down();
        begin.wait();
      },
      [](const std::exception_ptr&) {});
  taken.wait();
  for (int i = 0; i < static_cast<int>(kWrites); ++i) write("ann", i);
  write("bob", 0);
  write("bob", 1);
  begin.count_down();
  end.wait();
  ASSERT_EQ(order.size(), kWrites + 3);
  EXPECT_EQ(std::vector<std::string>(order.begin(), order.begin() + 7),
            (std::vector<std::string>{"ann0", "bob0", "ann1", "bob1", "ann2", "bob2", "ann3"}));
  for (size_t i = 7; i < order.size(); ++i) EXPECT_EQ(order[i], fmt::format("ann{}", i - 3));
}

TEST_P(WholeCatalogTest, ASecondServiceIsRefused) {
  Catalog catalog(url_);
  EXPECT_THROW(Catalog second(url_), Error);
  EXPECT_EQ(catalog.write([](Database& d) { return experiment(d, 0).name; }), "Default");
}

TEST_P(WholeCatalogTest, ManyThreadsReadAndWrite) {
  Catalog catalog(url_, 2);
  const std::string id = catalog.write([](Database& d) { return create_run(d, {}).id; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::string key = fmt::format("m{}", t);
      for (int64_t i = 0; i < 50; ++i) {
        catalog.write([&](Database& d) { append_points(d, id, std::array{KeyedPoint{key, {i, i, 0.5}}}); });
        // Acknowledged is visible.
        ASSERT_EQ(catalog.read_as([&](Database& d) { return curve(d, id, key).size(); }), static_cast<size_t>(i) + 1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(catalog.read_as([&](Database& d) { return run(d, id).metrics.size(); }), 8u);
}

constexpr int kSenders = 4;

/// Sends batches of three points until it is killed; each acknowledged one is noted in a file.
void send_until(Catalog& catalog, const std::string& run, const std::string& notes, const std::atomic<bool>& stop) {
  const int file = ::open(notes.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::vector<std::thread> threads;
  for (int t = 0; t < kSenders; ++t) {
    threads.emplace_back([&, t] {
      const std::string sender = fmt::format("s{}", t);
      int64_t n = catalog.read_as([&](Database& d) { return acknowledged(d, run, sender); });
      while (!stop) {
        ++n;
        std::vector<KeyedPoint> points;
        for (int64_t i = 0; i < 3; ++i) points.push_back({sender, {n * 3 + i, n, 0.25}});
        catalog.write([&](Database& d) { append_batch(d, run, sender, n, points); });
        const std::string note = fmt::format("{} {}\n", t, n);
        if (::write(file, note.data(), note.size()) < 0) return;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  ::close(file);
}

/// Everything that was noted is there, once.
void expect_all(Catalog& catalog, const std::string& run, const std::string& notes) {
  std::array<int64_t, kSenders> noted{};
  std::ifstream lines(notes);
  for (int64_t t, n; lines >> t >> n;) noted.at(static_cast<size_t>(t)) = n;
  EXPECT_GT(*std::max_element(noted.begin(), noted.end()), 0);  // not of each: one thread may have had no turn yet
  for (size_t t = 0; t < kSenders; ++t) {
    const std::string sender = fmt::format("s{}", t);
    const int64_t kept = catalog.read_as([&](Database& d) { return acknowledged(d, run, sender); });
    EXPECT_GE(kept, noted[t]);
    EXPECT_LE(kept, noted[t] + 1);
    const auto points = catalog.read_as([&](Database& d) { return curve(d, run, sender); });
    ASSERT_EQ(points.size(), static_cast<size_t>(kept) * 3);
    for (size_t i = 0; i < points.size(); ++i) ASSERT_EQ(points[i].step, static_cast<int64_t>(i) + 3);
  }
}

/// Not a test: the process that AKilledProcessLosesNothing starts and kills.
TEST(WritingProcess, DISABLED_SendsUntilKilled) {
  const char* url = std::getenv("LINAC_TEST_CATALOG");
  ASSERT_NE(url, nullptr);
  Catalog catalog(url);
  send_until(catalog, std::getenv("LINAC_TEST_RUN"), std::getenv("LINAC_TEST_NOTES"), false);
}

TEST_P(WholeCatalogTest, AKilledProcessLosesNothing) {
  const std::string notes = folder_ / "notes";
  const std::string id = Catalog(url_).write([](Database& d) { return create_run(d, {}).id; });
  for (int round = 0; round < 5; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("LINAC_TEST_CATALOG", url_.c_str(), 1);
      ::setenv("LINAC_TEST_RUN", id.c_str(), 1);
      ::setenv("LINAC_TEST_NOTES", notes.c_str(), 1);
      ::execl("/proc/self/exe", "catalog_test", "--gtest_filter=WritingProcess.*", "--gtest_also_run_disabled_tests",
              nullptr);
      ::_exit(127);
    }
    std::error_code none;
    const auto before = std::filesystem::exists(notes) ? std::filesystem::file_size(notes, none) : 0;
    for (int i = 0;
         i < 1000 && (!std::filesystem::exists(notes) || std::filesystem::file_size(notes, none) <= before + 500); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(17 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    Catalog catalog(url_);
    expect_all(catalog, id, notes);
  }
}

TEST_P(WholeCatalogTest, AKilledPostgresqlLosesNothing) {
  if (!postgresql()) GTEST_SKIP() << "SQLite has no server";
  Catalog catalog(url_);
  const std::string id = catalog.write([](Database&d) { return create_run(d, {}).id; }), notes = folder_ / "notes";
  std::atomic<bool> stop = false;
  std::thread senders([&] { send_until(catalog, id, notes, stop); });
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + 31 * round));
    server().kill();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server().start();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  stop = true;
  senders.join();
  expect_all(catalog, id, notes);
}

TEST_P(WholeCatalogTest, AnEndedBackendIsReplaced) {
  if (!postgresql()) GTEST_SKIP() << "SQLite has no server";
  Catalog catalog(url_, 2);
  auto admin = open_database(url_);
  for (int i = 0; i < 10; ++i) {
    admin->query(
        "SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()");
    const int64_t id = catalog.write([&](Database& d) { return create_experiment(d, fmt::format("e{}", i), "", {}); });
    EXPECT_EQ(catalog.read_as([&](Database& d) { return experiment(d, id).name; }), fmt::format("e{}", i));
  }
}

}  // namespace
}  // namespace linac::catalog
