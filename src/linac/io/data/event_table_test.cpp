#include "linac/io/data/event_table.h"

#include <arrow/api.h>

#include <algorithm>

#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data::testing {
namespace {

class EventTableTest : public DataTest {
 protected:
  // What a batch must hold of `events`, by the definition.
  static TableBatch expected(const TestEvents& events, const std::vector<int64_t>& order,
                             const std::vector<ColumnRequest>& columns) {
    const auto scaled = [&](size_t column, size_t place, float x) {
      const ColumnRequest& request = columns[column];
      return request.offset.empty() ? x : (x - request.offset[place]) * request.factor[place];
    };
    const auto rows = static_cast<size_t>(columns[0].shape[0]);
    TableBatch batch{static_cast<int64_t>(order.size()), std::vector<std::vector<float>>(3)};
    for (const int64_t event : order) {
      const auto i = static_cast<size_t>(event);
      std::vector<float> particles;
      for (size_t row = 0; row < std::min(rows, events.particles[i].size()); ++row)
        for (size_t k = 0; k < 3; ++k) particles.push_back(scaled(0, k, events.particles[i][row][k]));
      particles.resize(rows * 3, 0.0F);
      batch.columns[0].insert(batch.columns[0].end(), particles.begin(), particles.end());
      for (size_t k = 0; k < 4; ++k) batch.columns[1].push_back(scaled(1, k, events.features[i][k]));
      batch.columns[2].push_back(static_cast<float>(events.labels[i]));
    }
    return batch;
  }

  static void expect_equal(const TableBatch& got, const TableBatch& wanted) {
    EXPECT_EQ(got.events, wanted.events);
    EXPECT_EQ(got.columns, wanted.columns);
  }

  static std::vector<int64_t> all(int64_t count) {
    std::vector<int64_t> order(static_cast<size_t>(count));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    return order;
  }
};

TEST_F(EventTableTest, TheFormatsAgree) {
  const TestEvents events = make_events(40);
  write_parquet(path("a.parquet"), events);
  write_parquet(path("a.arrow"), events);
  write_tfrecord(path("a.tfrecord"), events, 8);
  write_hdf5(path("a.h5"), events, 8);
  std::vector<ColumnRequest> columns = requests(8);
  columns[0].offset = {1, 2, 3}, columns[0].factor = {0.5, 2, -1};
  columns[1].offset = {1, 1, 1, 0.5}, columns[1].factor = {2, 2, 2, 2};
  for (const char* format : {"parquet", "arrow", "tfrecord", "h5"}) {
    SCOPED_TRACE(format);
    const auto table = EventTable::open({path(std::string("a.") + format)}, columns);
    ASSERT_EQ(table->size(), 40);
    expect_equal(read_all(*table), expected(events, all(40), columns));
    EXPECT_EQ(table->files()[0].format, format == std::string("h5") ? "hdf5" : format);
    EXPECT_EQ(table->files()[0].events, 40);
    EXPECT_EQ(table->files()[0].fingerprint.size(), 32U);
    EXPECT_EQ(table->files()[0].bytes, static_cast<int64_t>(std::filesystem::file_size(table->files()[0].url)));
    EXPECT_EQ(table->events_cut(0), 0);
  }
}

TEST_F(EventTableTest, LongerListsAreCutAndCounted) {
  const TestEvents events = make_events(40);
  write_parquet(path("a.parquet"), events);
  write_tfrecord(path("a.tfrecord"), events, 8);
  for (const char* name : {"a.parquet", "a.tfrecord"}) {
    const auto table = EventTable::open({path(name)}, requests(3));
    expect_equal(read_all(*table), expected(events, all(40), requests(3)));
    const auto longer = [](const auto& particles) { return particles.size() > 3; };
    EXPECT_EQ(table->events_cut(0), std::count_if(events.particles.begin(), events.particles.end(), longer));
    EXPECT_EQ(table->events_cut(1), 0);
  }
}

// As a Masking(-9) wants it: shorter lists are filled up with -9, and such rows are neither counted nor scaled.
TEST_F(EventTableTest, RowsMayBePaddedWithAnotherValue) {
  const TestEvents events = make_events(12);
  write_parquet(path("a.parquet"), events);
  auto columns = requests(6);
  columns[0].offset = {1, 1, 1}, columns[0].factor = {2, 2, 2};
  const std::vector<float> zeros = read_all(*EventTable::open({path("a.parquet")}, columns)).columns[0];
  columns[0].padding = -9;
  const auto table = EventTable::open({path("a.parquet")}, columns);
  TableBatch batch;
  for (int turn = 0; turn < 2; ++turn) {  // into used memory, too
    table->read(all(12), batch);
    for (size_t event = 0; event < 12; ++event) {
      const size_t filled = events.particles[event].size() * 3;
      for (size_t i = 0; i < 18; ++i)
        EXPECT_EQ(batch.columns[0][event * 18 + i], i < filled ? zeros[event * 18 + i] : -9) << event << " " << i;
    }
  }
  std::vector<float> column;
  table->read_column(0, all(12), column);
  EXPECT_EQ(column, batch.columns[0]);

  testing::write_hdf5(path("b.h5"), {{"x", {2, 3, 2}, {1, 2, -9, -9, 0, 0, -9, 4, -9, -9, -9, -9}}});
  const auto open = [&](const Transform& transform) {
    return EventTable::open({path("b.h5")},
                            {{.column = "x", .shape = {4, 2}, .offset = {1, 1}, .factor = {2, 2}, .padding = -9}},
                            transform);
  };
  const auto rows = open({});
  EXPECT_EQ(rows->longest(0), 3);
  EXPECT_EQ(read_all(*rows).columns[0],
            (std::vector<float>{0, 2, -9, -9, -2, -2, -9, -9, -20, 6, -9, -9, -9, -9, -9, -9}));
  EXPECT_EQ(open({.lists = {}, .define = {}, .filter = "len(x) == 1"})->size(), 1) << "rows that pad are none";
}

TEST_F(EventTableTest, AnyOrderOverSeveralFilesAndFormats) {
  const TestEvents events = make_events(45);
  write_parquet(path("a.parquet"), make_events(20));
  write_hdf5(path("b.h5"), make_events(10, 20), 6);
  write_tfrecord(path("c.tfrecord"), make_events(15, 30), 5);
  const auto columns = requests(5);
  const auto table = EventTable::open({path("a.*"), path("b.h5"), path("c.tfrecord")}, columns);
  ASSERT_EQ(table->size(), 45);
  TableBatch batch;
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{44, 0, 19, 20, 29, 30, 5, 5, 44}, {3}, {}, {41, 2}}) {
    table->read(order, batch);  // into used memory
    expect_equal(batch, expected(events, order, columns));
  }
}

// As NanoAOD has its jets: lists that belong together become rows.
TEST_F(EventTableTest, ListsBecomeRows) {
  const auto lists = [](const std::vector<std::vector<float>>& events) {
    arrow::ListBuilder list(arrow::default_memory_pool(), std::make_shared<arrow::FloatBuilder>());
    for (const auto& values : events)
      EXPECT_TRUE(list.Append().ok() &&
                  static_cast<arrow::FloatBuilder*>(list.value_builder())->AppendValues(values).ok());
    return list.Finish().ValueOrDie();
  };
  write_parquet(path("a.parquet"), {"Jet_pt", "Jet_eta", "Tau_pt"},
                {lists({{30, 20, 10}, {}, {50}}), lists({{1, -1, 2}, {}, {0.5}}), lists({{1}, {2}, {3}})});
  ColumnRequest rows{.column = "", .shape = {2, 2}, .offset = {}, .factor = {}};
  rows.joined = {{"Jet_pt"}, {"Jet_eta"}};
  const auto table = EventTable::open({path("a.parquet")}, {rows});
  EXPECT_EQ(read_all(*table).columns[0], (std::vector<float>{30, 1, 20, -1, 0, 0, 0, 0, 50, 0.5, 0, 0}));
  EXPECT_EQ(table->events_cut(0), 1);
  EXPECT_EQ(table->longest(0), 3);
  rows.offset = {10, 0}, rows.factor = {0.1F, 2};
  const Transform transform{.lists = {{.columns = {"Jet_pt", "Jet_eta"}, .filter = "Jet_eta > 0", .sort = "Jet_pt"}},
                            .define = {},
                            .filter = "len(Jet_pt) > 0"};
  const auto chosen = EventTable::open({path("a.parquet")}, {rows}, transform);
  EXPECT_EQ(read_all(*chosen).columns[0], (std::vector<float>{0, 4, 2, 2, 4, 1, 0, 0}));
  std::vector<float> column;
  const std::vector<int64_t> last = {1};
  chosen->read_column(0, last, column);
  EXPECT_EQ(column, (std::vector<float>{4, 1, 0, 0}));
  rows.joined[1].column = "Tau_pt";
  const std::string unequal = message_of(ErrorCode::kData, [&] { EventTable::open({path("a.parquet")}, {rows}); });
  EXPECT_TRUE(contains(unequal, "event 0: column 'Jet_pt' holds a list of 3 values and 'Tau_pt' a list of 1 value"))
      << unequal;
  rows.shape = {2, 3};
  EXPECT_TRUE(contains(message_of([&] { EventTable::open({path("a.parquet")}, {rows}); }), "[ROWS, 2]"));
}

TEST_F(EventTableTest, PartsAreSetsOfTheirOwn) {
  const TestEvents events = make_events(30);
  write_parquet(path("a.parquet"), make_events(12));
  write_hdf5(path("b.h5"), make_events(18, 12), 6);
  const auto columns = requests(3);
  const auto whole = EventTable::open({path("a.parquet"), path("b.h5")}, columns);
  const auto cut = [&](int64_t first, int64_t count) {
    return std::count_if(events.particles.begin() + first, events.particles.begin() + first + count,
                         [](const auto& particles) { return particles.size() > 3; });
  };
  const auto first = whole->part(0, 20), last = whole->part(20, 10), inner = first->part(10, 7);
  for (const auto& [part, begin] : {std::pair(first, 0), std::pair(last, 20), std::pair(inner, 10)}) {
    std::vector<int64_t> order = all(part->size());
    for (int64_t& event : order) event += begin;
    expect_equal(read_all(*part), expected(events, order, columns));
    EXPECT_EQ(part->events_cut(0), cut(begin, part->size()));
    double sum = 0;
    for (const int64_t event : order) sum += events.labels[static_cast<size_t>(event)];
    EXPECT_EQ(part->facts(2).sum, sum);
    EXPECT_EQ(part->facts(2).values, part->size());
  }
  ASSERT_EQ(first->files().size(), 2U);
  EXPECT_EQ(first->files()[1].events, 8);
  ASSERT_EQ(last->files().size(), 1U);
  EXPECT_EQ(last->files()[0].url, path("b.h5"));
  EXPECT_EQ(last->files()[0].first, 8);
  EXPECT_EQ(last->files()[0].fingerprint, whole->files()[1].fingerprint);
  whole->part(0, 1)->need(2, {0, 0, true}, "the first event's label is 0");
  EXPECT_THROW(whole->part(1, 1)->need(2, {0, 0, true}, "and the next one's 1"), Error);
}

TEST_F(EventTableTest, NumbersAndListsAreJoinedInTheOrderAskedFor) {
  const TestEvents events = make_events(20);
  write_parquet(path("a.parquet"), make_events(12));
  write_tfrecord(path("b.tfrecord"), make_events(5, 12), 8);
  write_hdf5(path("c.h5"), make_events(3, 17), 8);
  ColumnRequest joined{"", {5}, {1, 2, 3, 4, 5}, {2, 2, 2, 2, 0.5}, {{"features"}, {"label"}}};
  const ColumnRequest turned{"", {5}, {}, {}, {{"label"}, {"features", 4}}}, label{"label", {}, {}, {}};
  EXPECT_EQ(joined.describe(), "features, label");
  // The same columns in another order are another packed file.
  for (const bool is_turned : {false, true}) {
    const auto table =
        EventTable::open({path("a.parquet"), path("b.tfrecord"), path("c.h5")}, {is_turned ? turned : joined, label});
    const TableBatch batch = read_all(*table);
    for (size_t event = 0; event < 20; ++event) {
      const auto number = static_cast<float>(events.labels[event]);
      std::vector<float> wanted(events.features[event].begin(), events.features[event].end());
      wanted.insert(is_turned ? wanted.begin() : wanted.end(), number);
      if (!is_turned)
        for (size_t i = 0; i < 5; ++i) wanted[i] = (wanted[i] - joined.offset[i]) * joined.factor[i];
      const auto got = std::span(batch.columns[0]).subspan(event * 5, 5);
      EXPECT_EQ(std::vector<float>(got.begin(), got.end()), wanted) << event;
      EXPECT_EQ(batch.columns[1][event], number);  // what follows is where it was
    }
    EXPECT_EQ(table->facts(0).values, 100);
  }
}

TEST_F(EventTableTest, JoinedColumnsThatDoNotFitAreRefused) {
  write_parquet(path("a.parquet"), make_events(8));
  write_hdf5(path("b.h5"), make_events(8), 8);
  const auto message = [&](const char* file, const ColumnRequest& request) -> std::string {
    try {
      EventTable::open({path(file)}, {request});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto expect = [&](const std::string& found, const std::string& wanted) {
    EXPECT_NE(found.find(wanted), std::string::npos) << found;
  };
  for (const char* file : {"a.parquet", "b.h5"}) {
    SCOPED_TRACE(file);
    expect(message(file, {"", {6}, {}, {}, {{"label"}, {"features"}}}),
           std::string(file) + ": the columns label, features have 5 values an event, wanted are 6");
    expect(message(file, {"", {5}, {}, {}, {{"label"}, {"features", 3}}}),
           "event 0: column 'features' is stored as a list of 4 values, and its scaling is of 3");
    expect(message(file, {"", {5, 3}, {}, {}, {{"label"}, {"features"}}}), "wanted is [5, 3] an event");
    expect(message(file, {"", {5}, {}, {}, {{"label"}, {"featuers"}}}), "'featuers' (found: ");
    expect(message(file, {"label", {2}, {}, {}}), "columns: [label, ...]");
  }
  expect(message("b.h5", {"", {5}, {}, {}, {{"label"}, {"particles"}}}),
         "'particles' is stored as [8, 3], wanted is a number or a list an event; it cannot be joined");
  const auto value = std::make_shared<arrow::FloatBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), value);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(lists.Append().ok());
    for (int k = 0; k < (i == 2 ? 1 : 2); ++k) ASSERT_TRUE(value->Append(1).ok());
  }
  write_parquet(path("ragged.parquet"), "x", lists.Finish().ValueOrDie());
  expect(message("ragged.parquet", {"", {2}, {}, {}, {{"x"}}}),
         "ragged.parquet: event 2: column 'x' is stored as a list of 1 value, and the events before have 2");
}

TEST_F(EventTableTest, ListsAreTakenAsTheyAreNested) {
  // list<float>[2] of int8: a fixed list; the same values as rows of two and as one list of four.
  const auto type = arrow::fixed_size_list(arrow::list(arrow::int8()), 2);
  auto value = std::make_shared<arrow::Int8Builder>();
  auto row = std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), value);
  arrow::FixedSizeListBuilder rows(arrow::default_memory_pool(), row, 2);
  for (int8_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(rows.Append().ok());
    for (int8_t k = 0; k < 2; ++k) ASSERT_TRUE(row->Append().ok() && value->Append(i).ok() && value->Append(k).ok());
  }
  write_parquet(path("fixed.parquet"), "x", rows.Finish().ValueOrDie());
  const auto table = EventTable::open({path("fixed.parquet")}, {{"x", {3, 2}, {}, {}}});
  EXPECT_EQ(read_all(*table).columns[0], (std::vector<float>{0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 2, 0, 2, 1, 0, 0}));

  auto flat = std::make_shared<arrow::BooleanBuilder>();
  arrow::LargeListBuilder lists(arrow::default_memory_pool(), flat);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(lists.Append().ok());
    for (int k = 0; k < 4; ++k) ASSERT_TRUE(flat->Append(k == i).ok());
  }
  write_parquet(path("flat.parquet"), "x", lists.Finish().ValueOrDie());
  const auto plain = EventTable::open({path("flat.parquet")}, {{"x", {2, 2}, {}, {}}});
  EXPECT_EQ(read_all(*plain).columns[0], (std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0}));
}

TEST_F(EventTableTest, ZerosOfAnImageAreNoPadding) {
  write_hdf5(path("a.h5"), {{"image", {1, 2, 2, 1}, {5, 7, 0, 0}}});
  const auto table = EventTable::open({path("a.h5")}, {{"image", {2, 2, 1}, {1}, {2}}});
  EXPECT_EQ(read_all(*table).columns[0], (std::vector<float>{8, 12, -2, -2}));
}

TEST_F(EventTableTest, ManyConstantsOfScaling) {
  // More values than one pass of the scaling covers.
  std::vector<float> values(3 * 700), offset(700), factor(700);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < 700; ++i) offset[i] = static_cast<float>(i), factor[i] = static_cast<float>(i % 3);
  write_hdf5(path("a.h5"), {{"x", {1, 3, 700}, values}});
  const auto table = EventTable::open({path("a.h5")}, {{"x", {3, 700}, offset, factor}});
  const std::vector<float> got = read_all(*table).columns[0];
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(got[i], (values[i] - offset[i % 700]) * factor[i % 700]) << i;
}

}  // namespace
}  // namespace linac::data::testing
