#include "linac/io/data/formats/batches/batch_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"

namespace linac::data {

std::filesystem::path BatchWriter::hidden(const std::filesystem::path& path) {
  return path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
}

BatchWriter::BatchWriter(std::filesystem::path path) : path_(std::move(path)), part_(hidden(path_)) {}

BatchWriter::~BatchWriter() {
  if (!in_place_) ::unlink(part_.c_str());
}

void BatchWriter::fail(const std::string& why) const {
  throw environment_error(
      fmt::format("[convert] {}: cannot be written ({}); check folder, permissions and space", path_.string(), why));
}

void BatchWriter::need(const arrow::Status& status) const {
  if (!status.ok()) fail(status.message());
}

void BatchWriter::append(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& from) {
  if (batch->num_rows() == 0) return;
  if (const arrow::Status status = batch->ValidateFull(); !status.ok())
    throw data_error(fmt::format("{}: {}; mend the file, or leave the column out (--columns)", from, status.message()));
  write(batch, from);
  events_ += batch->num_rows();
}

void BatchWriter::close() {
  finish();
  in_place_ = put_in_place(part_, path_);
  if (!in_place_) fail(std::generic_category().message(errno));
}

}  // namespace linac::data
