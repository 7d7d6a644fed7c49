#include "linac/train/train/input/table_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/text_codes.h"
#include "linac/io/data/read_share.h"
#include "linac/io/storage/source.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/record/record.h"
#include "linac/train/trained/job_transform.h"
#include "linac/train/trained/labelled_data.h"

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

// Of those that are not opened.
constexpr size_t kFilesShown = 12;

// "60 events", "60 of 100 events, 75 pass the filter".
std::string describe_events(const data::TableFile& file) {
  if (file.events == file.stored) return plural(file.events, "event");
  const bool passed_only = file.passed == file.events || file.passed == file.stored;
  return fmt::format("{} of {}{}", file.events, plural(file.stored, "event"),
                     passed_only ? "" : fmt::format(", {} pass the filter", file.passed));
}

// "parquet, 60 events from event 20 on", "18.4 MB, not opened yet"
std::string describe_file(const data::TableFile& file) {
  if (file.events < 0) return fmt::format("{:.1f} MB, not opened yet", static_cast<double>(file.bytes) / 1e6);
  return fmt::format("{}{}{}", file.format.empty() ? "" : file.format + ", ", describe_events(file),
                     file.first > 0 ? fmt::format(" from event {} on", file.first) : "");
}

/// Null where all files are open.
std::shared_ptr<data::WindowedTable> windowed(const job::Job& job, const std::vector<data::ColumnRequest>& columns,
                                              const data::Transform& transform) {
  fix_read_width(job);  // before the first file is opened
  if (job.data.shuffle_window == 0) return nullptr;
  return data::windowed_table(job.data.train, columns, transform, job.data.shuffle_window, counts_wanted(job));
}

double tested_share(const data::SplitRule& rule) {
  return rule.folds > 0 ? (1 - rule.test) / rule.folds : rule.validation;
}

}  // namespace

TableInput::TableInput(const job::Job& job, const std::vector<data::ColumnRequest>& columns)
    : job_(job),
      transform_(trained::transform_of(job, columns)),
      trained_(trained::of_training_alone(job, transform_)),
      windowed_(windowed(job, columns, trained_)),
      train_(windowed_ ? windowed_->first() : data::EventTable::open(job.data.train, columns, trained_)) {
  if (job.data.validation_split > 0) {
    const auto whole = train_;
    const int64_t split = trained::events_before_split(whole->size(), job.data.validation_split);
    train_ = whole->part(0, split);
    test_ = whole->part(split, whole->size() - split);
    for (size_t i = 0; i < columns.size(); ++i)
      if (!whole->classes(i).empty() && columns[i].texts->names.empty()) test_->need_known_classes(i);
  }
  data::Transform tested = transform_;
  if (job.data.split.tests()) {
    tested.split->part = data::Part::kValidation;
    const std::vector<std::string> files =
        windowed_ ? data::drawn_files(*windowed_, job.train.seed, job.data.shuffle_window) : job.data.train;
    test_ = data::EventTable::open(files, of_test(*train_), tested);
  }
  tested.split.reset();
  if (!job.data.test.empty()) test_ = data::EventTable::open(job.data.test, of_test(*train_), tested);
  opened_s_ = PhaseClock::now().wall - begun_;
}

// Of a window's file that nobody has opened no more is known than its version.
std::vector<data::TableFile> TableInput::train_files() const {
  if (!windowed_) return train_->files();
  std::vector<data::TableFile> files;
  for (const data::FileVersion& file : windowed_->files()) {
    const data::TableFile& first = train_->files().front();
    if (file.url == first.url) {
      files.push_back(first);
      continue;
    }
    data::TableFile& one = files.emplace_back();
    one.url = file.url;
    one.bytes = file.bytes;
    one.fingerprint = file.fingerprint;
    one.events = one.stored = one.passed = windowed_->size() < 0 ? -1 : windowed_->events_known(files.size() - 1);
  }
  return files;
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
  return [columns, transform = trained_, url = train_->files().front().url] {
    return data::read_share(storage::Source::open(url), columns, transform);
  };
}

nlohmann::json TableInput::split_json() const {
  if (job_.data.validation_split == 0 && !job_.data.split.tests()) return nullptr;
  nlohmann::json files = nlohmann::json::array();
  for (const data::EventTable* part : {train_.get(), test_.get()}) {
    if (windowed_ && part == train_.get()) continue;                          // its first file
    if (!windowed_ && job_.data.split.tests() && part == test_.get()) break;  // the same files
    for (const data::TableFile& file : part->files())
      if (files.empty() || files.back().at("url") != file.url)
        files.push_back({{"url", file.url}, {"fingerprint", file.fingerprint}});
  }
  return {{"train_events", train_events()}, {"test_events", test_->size()}, {"files", files}};
}

std::vector<std::string> TableInput::describe() const {
  std::vector<std::string> lines;
  const auto describe_files = [&](const char* role, const std::vector<data::TableFile>& files) {
    for (const data::TableFile& file : files) {
      if (file.events < 0 && lines.size() == kFilesShown) {
        lines.push_back(fmt::format("{:<6} and {} others", role, files.size() - lines.size()));
        break;
      }
      lines.push_back(fmt::format("{:<6} {}: {}", role, file.url, describe_file(file)));
    }
  };
  const std::vector<data::TableFile> files = train_files();
  describe_files("train", files);
  if (test_) describe_files("test", test_->files());
  lines.push_back(order_in_words(job_, files.size()));
  for (size_t i = 0; i < train_->columns().size(); ++i)
    if (!train_->classes(i).empty()) lines.push_back(describe_classes(*train_, test_.get(), i));
  if (job_.data.validation_split > 0) {
    lines.push_back(fmt::format("split  data.validation_split = {}: {} train, the last {} test",
                                job_.data.validation_split, plural(train_->size(), "event"), test_->size()));
  }
  if (transform_.split && windowed_ && !job_.data.split.tests()) {
    lines.push_back(fmt::format("split  by {}: {} of the events stay apart", fmt::join(transform_.split->key, ", "),
                                transform_.split->test));
  } else if (transform_.split && windowed_) {
    lines.push_back(fmt::format("split  by {}: {} of the events test, those of {}; test = {} of them stay apart",
                                fmt::join(transform_.split->key, ", "), tested_share(*transform_.split),
                                plural(test_ ? test_->files().size() : 0, "drawn file"), transform_.split->test));
  } else if (transform_.split) {
    lines.push_back(fmt::format("split  by {}: {} train, {} test; test = {} of the events stay apart",
                                fmt::join(transform_.split->key, ", "), plural(train_->size(), "event"),
                                job_.data.split.tests() ? test_->size() : 0, transform_.split->test));
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
  if (!trained_.filter.empty() && passed == stored)
    log::warn(fmt::format("[data] {} = \"{}\" selects all of {}",
                          transform_.filter.empty() ? "data.train_filter" : "data.filter", trained_.filter,
                          plural(stored, "event")));
  std::vector<data::WantedColumn> read;
  for (const data::ColumnRequest& column : train_->columns()) {
    read.push_back({.name = column.column, .shape = {}});
    for (const data::JoinedColumn& part : column.joined) read.push_back({.name = part.column, .shape = {}});
  }
  const data::Transform needed = data::needed_of(trained_, read);
  for (const auto& [name, formula] : transform_.define)
    if (!needed.define.contains(name))
      log::warn(fmt::format("[data] data.define.{} is not computed: nothing reads '{}'", name, name));
  if (needed.lists.size() < transform_.lists.size())
    log::warn("[data] of data.lists some have columns that nothing reads, and do nothing");
}

void TableInput::seek(const TrainState& state, const std::vector<int>& owned) {
  const data::BatchStreamOptions options = stream_options(job_, state, train_events(), owned);
  seed_ = options.seed;
  if (windowed_)
    windowed_stream_.emplace(windowed_, options, stream_position(state));
  else
    stream_.emplace(train_, options, stream_position(state));
}

std::vector<data::TableBatch> TableInput::next() {
  if (!windowed_stream_) {
    data::BatchStream<data::EventTable>::Step step = stream_->next();
    position_ = step.position;
    return std::move(step.replicas);
  }
  data::BatchStream<data::WindowedTable>::Step step = windowed_stream_->next();
  position_ = step.position;
  place_ = InputPlace{seed_, step.position.epoch, step.window};
  return std::move(step.replicas);
}

data::TableBatch TableInput::batch_of(const TrainState& state, int replica) {
  const data::Position here = stream_position(state);
  return windowed_stream_ ? windowed_stream_->read(here, replica) : stream_->read(here, replica);
}

std::string TableInput::describe_event(size_t replica, int64_t i) {
  if (windowed_stream_) {
    const data::EventOfFile event = windowed_stream_->event_of(position_, replica, i);
    return fmt::format("{}: event {}", windowed_->files().at(event.file).url, event.event);
  }
  return data::describe_event(train_->files(), stream_->event_of(position_, replica, i).event);
}

}  // namespace linac::train
