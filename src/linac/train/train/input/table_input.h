#pragma once
// The training and test events of a job whose model reads tables, and the stream of a run's batches. Not thread-safe,
// but for test().

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/order/batch_stream.h"
#include "linac/io/data/order/windowed_table.h"
#include "linac/io/data/transform/transform.h"
#include "linac/train/train/record/phase_clock.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class TableInput {
 public:
  /// Opens the job's data.train and data.test, or takes the last part of data.train for the test, as Keras's
  /// validation_split does, or a part of it by data.split. Errors as data::EventTable::open; data error if that leaves
  /// no event on a side.
  TableInput(const job::Job& job, const std::vector<data::ColumnRequest>& columns);

  /// -1: not known (LoopData::train_events()).
  int64_t train_events() const { return windowed_ ? windowed_->size() : train_->size(); }
  int64_t test_events() const { return test_ ? test_->size() : 0; }
  /// With data.shuffle_window the first file alone.
  const data::EventTable& train() const { return *train_; }
  bool is_windowed() const { return windowed_ != nullptr; }
  /// Of train(), and of each file that is opened later.
  void check_each(const std::function<void(const data::EventTable&)>& check);
  const data::EventTable& test() const { return *test_; }

  double opened_s() const { return opened_s_; }

  /// See LoopData::data() and LoopData::describe_data().
  nlohmann::json json() const;
  std::vector<std::string> describe() const;
  /// See LoopData::read_share().
  std::function<double()> read_share() const;
  /// Which events of which files test, for a model's notes (train/trained/labelled_data.h); null without a split.
  nlohmann::json split_json() const;
  /// What is made of the files, for a model's notes; null where it is nothing.
  nlohmann::json transform_json() const;
  /// Warns of lists that are longer than the model's input, of a filter that selects all, and of columns that are
  /// computed for nobody. For one worker of all.
  void warn() const;

  /// The stream goes on at the state's position; `owned`: the worker's replicas.
  void seek(const TrainState& state, const std::vector<int>& owned);
  /// The next step's batch of each owned replica. After seek().
  std::vector<data::TableBatch> next();
  /// Of any replica in the step at which the state stands, read at once. Thread-safe, after seek().
  data::TableBatch batch_of(const TrainState& state, int replica);
  /// "a.parquet: event 17": at place `i` of the last next()'s batch of owned replica `replica`.
  std::string describe_event(size_t replica, int64_t i);
  /// BatchStream::depth(), after seek().
  int batches_ahead() const { return windowed_stream_ ? windowed_stream_->depth() : stream_->depth(); }
  /// Of the last next(); nothing without windows.
  const std::optional<InputPlace>& place() const { return place_; }

 private:
  std::vector<data::TableFile> train_files() const;

  const job::Job& job_;
  const double begun_ = PhaseClock::now().wall;
  double opened_s_ = 0;
  data::Transform transform_;                             // of all events, and the part that trains
  data::Transform trained_;                               // the same with what selects those that train alone
  std::shared_ptr<data::WindowedTable> windowed_;         // null: train_ has all
  std::shared_ptr<const data::EventTable> train_, test_;  // test_: may be null
  std::optional<data::BatchStream<data::EventTable>> stream_;
  std::optional<data::BatchStream<data::WindowedTable>> windowed_stream_;
  uint64_t seed_ = 0;        // of the stream's order
  data::Position position_;  // of the last next()
  std::optional<InputPlace> place_;
};

}  // namespace linac::train
