#include "linac/train/table_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/plural.h"
#include "linac/data/text_codes.h"
#include "linac/train/input.h"
#include "linac/train/record.h"
#include "linac/trained/labelled_data.h"

namespace linac::train {
namespace {

nlohmann::json files_json(const data::EventTable& table) {
  nlohmann::json files = nlohmann::json::array();
  for (const data::TableFile& file : table.files()) files.push_back(file_json(file));
  return files;
}

// The test events have the classes of the training.
std::vector<data::ColumnRequest> of_test(const data::EventTable& training) {
  std::vector<data::ColumnRequest> columns = training.columns();
  for (data::ColumnRequest& column : columns)
    if (column.texts) column.texts->always = true;
  return columns;
}

// "label  'QCD' (264 train, 66 test), ...", cut where there are many.
std::string describe_classes(const data::EventTable& train, const data::EventTable* test, size_t i) {
  constexpr size_t kShown = 12;
  const std::vector<std::string>& classes = train.classes(i);
  const std::vector<int64_t> training = train.events_of_classes(i);
  const std::vector<int64_t> tested = test ? test->events_of_classes(i) : std::vector<int64_t>();
  std::string text = fmt::format("{:<6}", train.columns()[i].column);
  for (size_t place = 0; place < std::min(kShown, classes.size()); ++place) {
    text += fmt::format("{} {} ({} train{})", place == 0 ? "" : ",", data::shown_text(classes[place]), training[place],
                        test ? fmt::format(", {} test", tested[place]) : "");
  }
  return text + (classes.size() > kShown ? fmt::format(" and {} others", classes.size() - kShown) : "");
}

}  // namespace

TableInput::TableInput(const spec::Job& job, const std::vector<data::ColumnRequest>& columns)
    : job_(job), train_(data::EventTable::open(job.data.train, columns)) {
  if (job.data.validation_split > 0) {
    const auto whole = train_;
    const int64_t split = trained::events_before_split(whole->size(), job.data.validation_split);
    train_ = whole->part(0, split);
    test_ = whole->part(split, whole->size() - split);
    for (size_t i = 0; i < columns.size(); ++i)
      if (!whole->classes(i).empty() && columns[i].texts->names.empty()) test_->need_known_classes(i);
  }
  if (!job.data.test.empty()) test_ = data::EventTable::open(job.data.test, of_test(*train_));
}

nlohmann::json TableInput::json() const {
  nlohmann::json data{{"train", files_json(*train_)}};
  if (test_) data["test"] = files_json(*test_);
  return data;
}

nlohmann::json TableInput::split_json() const {
  if (job_.data.validation_split == 0) return nullptr;
  nlohmann::json files = nlohmann::json::array();
  for (const data::EventTable* part : {train_.get(), test_.get()}) {
    for (const data::TableFile& file : part->files())
      if (files.empty() || files.back().at("url") != file.url)
        files.push_back({{"url", file.url}, {"fingerprint", file.fingerprint}});
  }
  return {{"train_events", train_->size()}, {"test_events", test_->size()}, {"files", files}};
}

std::vector<std::string> TableInput::describe() const {
  std::vector<std::string> lines;
  for (const auto& [role, table] : {std::pair("train", train_), std::pair("test", test_)}) {
    if (!table) continue;
    for (const data::TableFile& file : table->files()) {
      lines.push_back(fmt::format("{:<6} {}: {}, {}{}", role, file.url, file.format, plural(file.events, "event"),
                                  file.first > 0 ? fmt::format(" from event {} on", file.first) : ""));
    }
  }
  for (size_t i = 0; i < train_->columns().size(); ++i)
    if (!train_->classes(i).empty()) lines.push_back(describe_classes(*train_, test_.get(), i));
  if (job_.data.validation_split > 0) {
    lines.push_back(fmt::format("split  data.validation_split = {}: {} train, the last {} test",
                                job_.data.validation_split, plural(train_->size(), "event"), test_->size()));
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
