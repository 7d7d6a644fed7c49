#include "linac/train/table_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/plural.h"
#include "linac/data/read_share.h"
#include "linac/data/text_codes.h"
#include "linac/storage/source.h"
#include "linac/train/input.h"
#include "linac/train/record.h"
#include "linac/trained/job_transform.h"
#include "linac/trained/labelled_data.h"

namespace linac::train {
namespace {

nlohmann::json files_json(const std::vector<data::TableFile>& of) {
  nlohmann::json files = nlohmann::json::array();
  for (const data::TableFile& file : of) files.push_back(file_json(file));
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

// "60 events", "60 of 100 events, 75 pass the filter".
std::string describe_events(const data::TableFile& file) {
  if (file.events == file.stored) return plural(file.events, "event");
  const bool passed_only = file.passed == file.events || file.passed == file.stored;
  return fmt::format("{} of {}{}", file.events, plural(file.stored, "event"),
                     passed_only ? "" : fmt::format(", {} pass the filter", file.passed));
}

/// Null where all files are open.
std::shared_ptr<data::WindowedTable> windowed(const spec::Job& job, const std::vector<data::ColumnRequest>& columns,
                                              const data::Transform& transform) {
  if (job.data.shuffle_window == 0) return nullptr;
  if (!transform.empty())
    throw user_error(
        "[data] data.shuffle_window reads columns as the files have them: name a column in data.event_weight, or write "
        "files with the formula's values");
  return data::WindowedTable::open(job.data.train, columns, job.data.shuffle_window);
}

}  // namespace

TableInput::TableInput(const spec::Job& job, const std::vector<data::ColumnRequest>& columns)
    : job_(job),
      transform_(trained::transform_of(job, columns)),
      windowed_(windowed(job, columns, transform_)),
      train_(windowed_ ? windowed_->first() : data::EventTable::open(job.data.train, columns, transform_)) {
  if (job.data.validation_split > 0) {
    const auto whole = train_;
    const int64_t split = trained::events_before_split(whole->size(), job.data.validation_split);
    train_ = whole->part(0, split);
    test_ = whole->part(split, whole->size() - split);
    for (size_t i = 0; i < columns.size(); ++i)
      if (!whole->classes(i).empty() && columns[i].texts->names.empty()) test_->need_known_classes(i);
  }
  data::Transform tested = transform_;
  if (job.data.split.validation > 0) {
    tested.split->part = data::Part::kValidation;
    test_ = data::EventTable::open(job.data.train, of_test(*train_), tested);
  }
  tested.split.reset();
  if (!job.data.test.empty()) test_ = data::EventTable::open(job.data.test, of_test(*train_), tested);
}

const std::vector<data::TableFile>& TableInput::train_files() const {
  return windowed_ ? windowed_->files() : train_->files();
}

void TableInput::check_each(const std::function<void(const data::EventTable&)>& check) {
  check(*train_);
  if (windowed_) windowed_->check_each(check);
}

nlohmann::json TableInput::json() const {
  nlohmann::json data{{"train", files_json(train_files())}};
  if (test_) data["test"] = files_json(test_->files());
  return data;
}

std::function<double()> TableInput::read_share() const {
  std::vector<std::string> columns;
  for (const data::ColumnRequest& request : train_->columns()) {
    if (request.joined.empty()) columns.push_back(request.column);
    for (const data::JoinedColumn& one : request.joined) columns.push_back(one.column);
  }
  return [columns, transform = transform_, url = train_->files().front().url] {
    return data::read_share(storage::Source::open(url), columns, transform);
  };
}

nlohmann::json TableInput::split_json() const {
  if (job_.data.validation_split == 0 && job_.data.split.validation == 0) return nullptr;
  nlohmann::json files = nlohmann::json::array();
  for (const data::EventTable* part : {train_.get(), test_.get()}) {
    if (job_.data.split.validation > 0 && part == test_.get()) break;  // the same files
    for (const data::TableFile& file : part->files())
      if (files.empty() || files.back().at("url") != file.url)
        files.push_back({{"url", file.url}, {"fingerprint", file.fingerprint}});
  }
  return {{"train_events", train_->size()}, {"test_events", test_->size()}, {"files", files}};
}

std::vector<std::string> TableInput::describe() const {
  std::vector<std::string> lines;
  const auto describe_files = [&](const char* role, const std::vector<data::TableFile>& files) {
    for (const data::TableFile& file : files) {
      lines.push_back(fmt::format("{:<6} {}: {}, {}{}", role, file.url, file.format, describe_events(file),
                                  file.first > 0 ? fmt::format(" from event {} on", file.first) : ""));
    }
  };
  describe_files("train", train_files());
  if (test_) describe_files("test", test_->files());
  if (windowed_)
    lines.push_back(fmt::format("order  drawn in each epoch: {} at a time, {} in all",
                                plural(job_.data.shuffle_window, "file"), windowed_->files().size()));
  for (size_t i = 0; i < train_->columns().size(); ++i)
    if (!train_->classes(i).empty()) lines.push_back(describe_classes(*train_, test_.get(), i));
  if (job_.data.validation_split > 0) {
    lines.push_back(fmt::format("split  data.validation_split = {}: {} train, the last {} test",
                                job_.data.validation_split, plural(train_->size(), "event"), test_->size()));
  }
  if (transform_.split) {
    lines.push_back(fmt::format("split  by {}: {} train, {} test; test = {} of the events stay apart",
                                fmt::join(transform_.split->key, ", "), plural(train_->size(), "event"),
                                job_.data.split.validation > 0 ? test_->size() : 0, transform_.split->test));
  }
  return lines;
}

nlohmann::json TableInput::transform_json() const {
  return transform_.empty() ? nlohmann::json() : data::to_json(transform_);
}

void TableInput::warn() const {
  data::warn_of_cuts(*train_);
  if (test_) data::warn_of_cuts(*test_);
  int64_t stored = 0, passed = 0;
  for (const data::TableFile& file : train_->files()) {
    stored += file.stored;
    passed += file.passed;
  }
  if (!transform_.filter.empty() && passed == stored)
    log::warn(fmt::format("[data] data.filter = \"{}\" selects all of {}", transform_.filter, plural(stored, "event")));
  std::vector<data::WantedColumn> read;
  for (const data::ColumnRequest& column : train_->columns()) {
    read.push_back({.name = column.column, .shape = {}});
    for (const data::JoinedColumn& part : column.joined) read.push_back({.name = part.column, .shape = {}});
  }
  const data::Transform needed = data::needed_of(transform_, read);
  for (const auto& [name, formula] : transform_.define)
    if (!needed.define.contains(name))
      log::warn(fmt::format("[data] data.define.{} is not computed: nothing reads '{}'", name, name));
  if (needed.lists.size() < transform_.lists.size())
    log::warn("[data] of data.lists some have columns that nothing reads, and do nothing");
}

void TableInput::seek(const TrainState& state, const std::vector<int>& owned) {
  const data::BatchStreamOptions options = stream_options(job_, state, train_events(), owned);
  if (windowed_)
    windowed_stream_.emplace(windowed_, options, stream_position(state));
  else
    stream_.emplace(train_, options, stream_position(state));
}

}  // namespace linac::train
