#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <fstream>
#include <numeric>

#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data::testing {
namespace {

void write_columns(const std::string& path, const std::vector<std::string>& names,
                   const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t row_group_events) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < names.size(); ++i) fields.push_back(arrow::field(names[i], columns[i]->type()));
  const auto table = arrow::Table::Make(arrow::schema(fields), columns);
  const auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  if (path.ends_with(".arrow")) {
    const auto writer = arrow::ipc::MakeFileWriter(file, table->schema()).ValueOrDie();
    ASSERT_TRUE(writer->WriteTable(*table, row_group_events).ok() && writer->Close().ok());
  } else {
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, row_group_events).ok());
  }
  ASSERT_TRUE(file->Close().ok());
}

std::vector<float> padded(const std::vector<std::array<float, 3>>& particles, size_t rows) {
  std::vector<float> values(rows * 3, 0.0F);
  for (size_t row = 0; row < particles.size(); ++row)
    std::copy(particles[row].begin(), particles[row].end(), values.begin() + static_cast<int64_t>(3 * row));
  return values;
}

}  // namespace

void write_parquet(const std::string& path, const std::vector<std::string>& names,
                   const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  write_columns(path, names, columns, 7);
}

TestEvents make_events(size_t count, size_t first) {
  TestEvents events;
  for (size_t i = first; i < first + count; ++i) {
    const auto x = static_cast<float>(i);
    std::vector<std::array<float, 3>> particles;
    // A zero in the middle and in the last row is no padding.
    for (size_t k = 0; k < i % 6; ++k) particles.push_back({x, k == 1 ? 0.0F : static_cast<float>(k) + 0.5F, 0});
    if (i % 6 == 3) particles[1] = {0, 0, 0};
    events.particles.push_back(particles);
    events.features.push_back({x, -x, 0.25F * x, i % 2 == 0 ? 0.0F : 1.0F});
    events.labels.push_back(static_cast<int>(i % 3));
  }
  return events;
}

void write_parquet(const std::string& path, const TestEvents& events, int64_t row_group_events) {
  auto value = std::make_shared<arrow::FloatBuilder>();
  auto row = std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), value);
  arrow::ListBuilder particles(arrow::default_memory_pool(), row);
  auto feature = std::make_shared<arrow::DoubleBuilder>();
  arrow::ListBuilder features(arrow::default_memory_pool(), feature);
  arrow::Int32Builder labels;
  for (size_t i = 0; i < events.size(); ++i) {
    ASSERT_TRUE(particles.Append().ok() && features.Append().ok() && labels.Append(events.labels[i]).ok());
    for (const auto& particle : events.particles[i])
      ASSERT_TRUE(row->Append().ok() && value->AppendValues(particle.data(), 3).ok());
    for (const float x : events.features[i]) ASSERT_TRUE(feature->Append(x).ok());
  }
  write_columns(path, {"label", "particles", "features"},
                {labels.Finish().ValueOrDie(), particles.Finish().ValueOrDie(), features.Finish().ValueOrDie()},
                row_group_events);
}

void write_parquet(const std::string& path, const std::string& name, const std::shared_ptr<arrow::Array>& column) {
  write_columns(path, {name}, {column}, 7);
}

void write_tfrecord(const std::string& path, const TestEvents& events, size_t rows) {
  std::ofstream stream(path, std::ios::binary);
  for (size_t i = 0; i < events.size(); ++i) {
    Example example;
    example["particles"].floats = padded(events.particles[i], rows);
    example["features"].floats.assign(events.features[i].begin(), events.features[i].end());
    example["label"].integers = {events.labels[i]};
    stream << tfrecord_frame(encode_example(example));
  }
}

void write_hdf5(const std::string& path, const TestEvents& events, size_t rows) {
  std::vector<float> particles, features, labels;
  for (size_t i = 0; i < events.size(); ++i) {
    const std::vector<float> values = padded(events.particles[i], rows);
    particles.insert(particles.end(), values.begin(), values.end());
    features.insert(features.end(), events.features[i].begin(), events.features[i].end());
    labels.push_back(static_cast<float>(events.labels[i]));
  }
  const hsize_t n = events.size();
  write_hdf5(path, {{"particles", {n, rows, 3}, particles}, {"features", {n, 4}, features}, {"label", {n}, labels}},
             RawLayout{.chunk = {}, .as_double = true});
}

std::vector<ColumnRequest> requests(int64_t rows) {
  return {{"particles", {rows, 3}, {}, {}}, {"features", {4}, {}, {}}, {"label", {}, {}, {}}};
}

TableBatch read_all(const EventTable& table) {
  std::vector<int64_t> order(static_cast<size_t>(table.size()));
  std::iota(order.begin(), order.end(), 0);
  TableBatch batch;
  table.read(order, batch);
  return batch;
}

}  // namespace linac::data::testing
