#include "linac/train/table_input.h"

#include <fmt/format.h>

#include "linac/train/input.h"
#include "linac/train/record.h"

namespace linac::train {
namespace {

nlohmann::json files_json(const data::EventTable& table) {
  nlohmann::json files = nlohmann::json::array();
  for (const data::TableFile& file : table.files()) files.push_back(file_json(file));
  return files;
}

}  // namespace

TableInput::TableInput(const spec::Job& job, const std::vector<data::ColumnRequest>& columns)
    : job_(job),
      train_(data::EventTable::open(job.data.train, columns)),
      test_(job.data.test.empty() ? nullptr : data::EventTable::open(job.data.test, columns)) {}

nlohmann::json TableInput::json() const {
  nlohmann::json data{{"train", files_json(*train_)}};
  if (test_) data["test"] = files_json(*test_);
  return data;
}

std::vector<std::string> TableInput::describe() const {
  std::vector<std::string> lines;
  for (const auto& [role, table] : {std::pair("train", train_), std::pair("test", test_)}) {
    if (!table) continue;
    for (const data::TableFile& file : table->files()) {
      lines.push_back(fmt::format("{:<6} {}: {}, {} events", role, file.url, file.format, file.events));
    }
  }
  return lines;
}

void TableInput::warn_of_cuts() const {
  data::warn_of_cuts(*train_);
  if (test_) data::warn_of_cuts(*test_);
}

void TableInput::seek(const TrainState& state, const std::vector<int>& owned) {
  stream_.emplace(train_, stream_options(job_, state, train_->size(), owned), stream_position(state));
}

}  // namespace linac::train
