#pragma once
// The part of a training that says what it reads: its files and events. Member functions are for one thread, but for
// what read_share() returns.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/job/run_record.h"

namespace linac::train {

class LoopData {
 public:
  virtual ~LoopData() = default;

  /// {"train": [file, ...], "test": [...]}: url, format, events, bytes, fingerprint of each.
  virtual nlohmann::json data() const = 0;
  /// Of the bytes of the training files, the share that is read, as the first file tells when the function is called;
  /// errors as of its Source. It needs nothing of the loop, so another thread may wait for a slow link.
  virtual std::function<double()> read_share() const {
    return [] { return 1.0; };
  }
  /// Of the outputs whose targets the files hold as texts.
  virtual std::vector<job::OutputClasses> classes() const { return {}; }
  virtual int64_t train_events() const = 0;  // -1: not known, and train.steps_per_epoch is given
  virtual int64_t test_events() const = 0;   // 0: no test data
  /// A line a file, with what can be said of its content. Data error if one opens but cannot be read.
  virtual std::vector<std::string> describe_data() const = 0;
  /// How long this loop took to open its data: to read and pack them all, or a first window; 0 where it opens none.
  virtual double opened_s() const { return 0; }
};

}  // namespace linac::train
