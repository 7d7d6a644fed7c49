#pragma once
// The training and test showers of a job, and the stream of a run's batches. Not thread-safe, but for test().

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/io/data/dataset.h"
#include "linac/io/data/order/batch_stream.h"
#include "linac/io/data/order/windowed_showers.h"
#include "linac/train/train/record/phase_clock.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class ShowerInput {
 public:
  /// Opens the job's data.train and data.test. Errors as data::Dataset::open.
  explicit ShowerInput(const job::Job& job);

  /// -1: not known (LoopData::train_events()).
  int64_t train_events() const { return windowed_ ? -1 : train_->size(); }
  /// With data.shuffle_window the first file alone.
  const data::Dataset& train() const { return *train_; }
  /// Null without data.test.
  const data::Dataset* test() const { return test_.get(); }

  double opened_s() const { return opened_s_; }

  /// See LoopData::data() and LoopData::describe_data().
  nlohmann::json json() const;
  std::vector<std::string> describe() const;
  /// Of all training showers; with data.shuffle_window of those of all files that a training has read up to `place`,
  /// or of the first file.
  primaries::TrainedRange range(const std::optional<InputPlace>& place) const;

  /// The stream goes on at the state's position; `owned`: the worker's replicas.
  void seek(const TrainState& state, const std::vector<int>& owned);
  struct Step {
    std::vector<data::SampleBatch> replicas;  // as in `owned`
    std::optional<InputPlace> place;          // nothing without windows
  };
  /// After seek().
  Step next();
  /// Of any replica in the step at which the state stands, read at once. Thread-safe, after seek().
  data::SampleBatch batch_of(const TrainState& state, int replica);
  /// BatchStream::depth(), after seek().
  int batches_ahead() const { return windowed_stream_ ? windowed_stream_->depth() : stream_->depth(); }

 private:
  void remember(const data::Dataset& file);

  const job::Job& job_;
  const double begun_ = PhaseClock::now().wall;
  double opened_s_ = 0;
  std::mutex mutex_;                                       // of ranges_
  std::map<std::string, primaries::TrainedRange> ranges_;  // of the files that were opened in windows
  std::shared_ptr<data::WindowedShowers> windowed_;        // null: train_ has all
  std::shared_ptr<const data::Dataset> train_, test_;
  std::optional<data::BatchStream<data::Dataset>> stream_;
  std::optional<data::BatchStream<data::WindowedShowers>> windowed_stream_;
  uint64_t seed_ = 0;                            // of the stream's order
  std::optional<primaries::TrainedRange> seen_;  // up to the last step that was read
};

}  // namespace linac::train
