// Arrow's own files (IPC; Feather, version 2): record batches as they lie in memory, with or without compression. One
// of them is in memory at a time, and all that it points to is checked before it is followed.

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/arrow_records.h"
#include "linac/io/data/formats/batches/batch_table.h"
#include "linac/io/data/verify/findings.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockEvents = 4096;

class ArrowBatches : public BatchReader {
 public:
  explicit ArrowBatches(const SourcePtr& source) : name_(source->url()), path_(source->path()->string()) {
    open({});
    const arrow::FieldVector& fields = reader_->schema()->fields();
    for (size_t i = 0; i < fields.size(); ++i) {
      wholes_.push_back({.name = fields[i]->name(), .field = i, .type = fields[i]->type()});
      std::ranges::move(columns_of(wholes_.back()), std::back_inserter(columns_));
    }
    events_ = value(reader_->CountRows());
  }

  const std::string& name() const { return name_; }
  /// Fields that hold no records, and the fields of records.
  const std::vector<RecordColumn>& columns() const { return columns_; }
  /// The fields of the file.
  const std::vector<RecordColumn>& wholes() const { return wholes_; }

  /// What next() hands out.
  void choose(std::vector<RecordColumn> wanted, const EventRange& range) {
    wanted_ = std::move(wanted);
    std::vector<int> read;
    arrow::FieldVector schema;
    for (const RecordColumn& column : wanted_) {
      read.push_back(static_cast<int>(column.field));
      schema.push_back(arrow::field(column.name, column.type));
    }
    std::ranges::sort(read);
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const RecordColumn& column : wanted_)
      places_.push_back(
          static_cast<int>(std::ranges::lower_bound(read, static_cast<int>(column.field)) - read.begin()));
    schema_ = arrow::schema(schema);
    skip_ = range.first;
    left_ = range.end(events_) - range.first;
    open(read);
  }

  int64_t events() const override { return events_; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (left_ > 0) {
      if (!batch_ || done_ == batch_->num_rows()) read_next();
      const int64_t count = std::min({kBlockEvents, batch_->num_rows() - done_, left_});
      if (count <= 0) continue;
      auto block = batch_->Slice(done_, count);
      done_ += count;
      left_ -= count;
      near_ += count;
      return block;
    }
    return nullptr;
  }

 private:
  void open(const std::vector<int>& fields) {
    arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = arrow::system_memory_pool();
    options.use_threads = false;
    options.included_fields = fields;  // none: all
    const auto file = value(arrow::io::ReadableFile::Open(path_, options.memory_pool));
    reader_ = value(arrow::ipc::RecordBatchFileReader::Open(file, options));
  }

  void read_next() {
    if (number_ == reader_->num_record_batches()) fail(fmt::format("it ends at event {} of {}", near_, events_));
    const auto read = value(reader_->ReadRecordBatch(number_++));
    need(read->ValidateFull());
    done_ = std::min(skip_, read->num_rows());
    skip_ -= done_;
    arrow::ArrayVector arrays;
    for (size_t i = 0; i < wanted_.size(); ++i)
      arrays.push_back(value(field_of(read->column(places_[i]), wanted_[i].path)));
    batch_ = arrow::RecordBatch::Make(schema_, read->num_rows(), std::move(arrays));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("[arrow] {}: {}; copy or write the file again", name_, what));
  }
  void need(const arrow::Status& status) const {
    if (!status.ok()) fail(fmt::format("cannot be read near event {} ({})", near_, status.message()));
  }
  template <class T>
  T value(arrow::Result<T> result) const {
    need(result.status());
    return std::move(result).ValueUnsafe();
  }

  const std::string name_, path_;
  std::vector<RecordColumn> wholes_, columns_, wanted_;
  std::vector<int> places_;  // of the columns in a batch as it is read
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int number_ = 0;                            // of the next batch
  int64_t events_ = 0, done_ = 0, near_ = 0;  // done_: of the batch
  int64_t skip_ = 0, left_ = 0;               // events
};

RecordColumn named(const ArrowBatches& file, const std::vector<RecordColumn>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &RecordColumn::name);
  if (found != columns.end()) return *found;
  std::vector<std::string> described;
  for (const RecordColumn& column : file.columns()) described.push_back(column.described());
  refuse_missing(file.name(), name, described, "arrow");
}

}  // namespace

TableContents arrow_contents(const SourcePtr& source) {
  const ArrowBatches file(source);
  return contents_of(file.events(), file.columns());
}

std::unique_ptr<TableReader> open_arrow_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  auto batches = std::make_unique<ArrowBatches>(source);
  std::vector<StoredColumn> stored;
  std::vector<RecordColumn> chosen;
  for (const WantedColumn& wanted : columns) {
    chosen.push_back(named(*batches, batches->columns(), wanted.name));
    stored.push_back(stored_for(source->url(), wanted, *chosen.back().type));
  }
  batches->choose(std::move(chosen), {});
  return table_of(std::move(batches), source->url(), columns, std::move(stored));
}

// Without names records stay what they are.
std::unique_ptr<BatchReader> open_arrow_batches(const SourcePtr& source, const BatchColumns& columns,
                                                const EventRange& range, const RecordMarks* /*marks*/) {
  auto batches = std::make_unique<ArrowBatches>(source);
  std::vector<RecordColumn> known = batches->wholes(), chosen;
  if (columns.names.empty())
    std::ranges::copy_if(known, std::back_inserter(chosen),
                         [&](const auto& one) { return !columns.leaves_out(one.name); });
  known.insert(known.end(), batches->columns().begin(), batches->columns().end());
  for (const std::string& name : columns.names) chosen.push_back(named(*batches, known, name));
  batches->choose(std::move(chosen), range);
  return batches;
}

void check_arrow(const SourcePtr& source, Findings& findings) {
  ArrowBatches file(source);
  int64_t done = 0;
  file.choose(file.wholes(), {});
  const auto where = [&] { return events_in_words(done, std::max<int64_t>(1, file.events() - done)); };
  try {
    while (const auto batch = file.next()) {
      done += batch->num_rows();
      findings.read(source->size() * batch->num_rows() / std::max<int64_t>(1, file.events()));
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kData) throw;
    findings.damaged(where(), error.what());
  }
  findings.read_to_the_end();
  findings.checked(fmt::format("all values of {} (the format has no checksums)", events_in_words(0, file.events())),
                   false);
}

}  // namespace linac::data
