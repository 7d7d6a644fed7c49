#pragma once
// A trained model and the events it is to judge: what `predict` and `evaluate` share.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/io/data/transform/transform.h"
#include "linac/model/models/predictor.h"
#include "linac/physics/scores/task.h"
#include "linac/train/trained/output_task.h"

namespace linac::cli {

struct ModelEventsOptions {
  std::string model;                      // what trained::load_trained takes
  std::vector<std::string> data;          // paths, globs, URLs
  bool validation_split = false;          // in place of data: the events of the model's training that tested it
  bool filter = false;                    // of data only the events that the training's filter selects
  std::string part = {};                  // of data only this part of the training's split
  std::vector<std::string> fields;        // "input=column", or several with commas between
  std::string output;                     // whose truth is wanted; empty: the first
  std::string target;                     // the column of the truth; empty: what the output was trained on
  std::vector<std::string> classes;       // of the truth, where it holds texts and the model does not know them
  std::optional<scores::Task> task = {};  // what that output tells; empty: as the model's training says
  bool logits = false;                    // its values are logits, though the training does not say it
  std::string weight;                     // the column of what each event counts; empty: as in the training; "none"
  int64_t batch = 256;
  int threads = 0;  // batches side by side; 0: as many as there are processors
};

enum class Truth { kNone, kWanted };

class ModelEvents {
 public:
  /// A model that linac trained knows its columns and their scaling (its linac.json); another one reads the columns
  /// that its inputs are called. User error for a field that the model has no input for, or an output that it does not
  /// have; data errors as data::EventTable::open, and where files of the training have changed since.
  ModelEvents(const ModelEventsOptions& options, Truth truth);

  const models::Predictor& network() const { return *network_; }
  int64_t events() const { return table_->size(); }
  const std::vector<data::TableFile>& files() const { return table_->files(); }
  const std::filesystem::path& file() const { return file_; }  // of the model, on this machine
  const std::string& state() const { return state_; }          // of the run that is its; empty: none, or not known
  std::vector<std::string> outputs() const;                    // their names
  size_t output() const { return output_; }                    // that of the truth
  const trained::OutputTask& task() const { return task_; }    // what that output tells
  const std::string& target() const { return target_; }        // the truth's column
  const std::string& weight() const { return weight_; }        // the weights' column; empty: all count 1
  const std::string& data() const { return data_; }            // what the events are called in reports
  /// How the training split its events, where it did.
  std::optional<data::SplitRule> split() const;
  /// The names of the classes that output i tells apart, as far as the model knows them; else empty.
  std::vector<std::string> classes(size_t i) const;

  /// Of the events, in order, where they are wanted; weights of each event, or of each step of one.
  struct Known {
    std::span<const float> truth, weights;
    /// Of each output that is a sequence: 1 for each step that is there (real_steps()); else empty. Where the truth is
    /// wanted, of output() alone.
    std::span<const std::vector<uint8_t>> steps;
  };
  /// Whether output i is a list of rows, of which a mask or lists of the inputs say which are there.
  bool tells_steps(size_t i) const;

  /// Events [first, first + outputs[0] / size of an event), in order: a buffer an output, and what is known of them.
  using Sink = std::function<void(int64_t first, const std::vector<std::vector<float>>& outputs, const Known& known)>;
  /// Scores that are NaN or Inf: of all outputs, or of output() where the truth is wanted.
  struct NotFinite {
    int64_t events = 0;  // that have any
    std::string first;   // of them, and what is known of the cause
  };
  /// Computes all events, with a progress bar.
  NotFinite run(const Sink& sink) const;

 private:
  bool has_truth() const { return !target_.empty(); }
  std::vector<std::vector<uint8_t>> steps_of(const data::TableBatch& batch,
                                             const std::vector<std::vector<uint8_t>>& masks) const;
  std::vector<int64_t> not_finite(const std::vector<std::vector<float>>& outputs, int64_t events) const;
  std::string first_not_finite(int64_t event, int64_t of_batch, const data::TableBatch& batch) const;

  ModelEventsOptions options_;
  std::filesystem::path file_;
  std::string state_;
  std::unique_ptr<const models::Predictor> network_;
  std::shared_ptr<const data::EventTable> table_;
  std::vector<bool> masked_;  // of each output, whether the model has a mask of it
  size_t output_ = 0;
  trained::OutputTask task_;
  std::vector<data::ColumnRequest> inputs_;  // the columns that they read
  std::string target_, weight_, data_;
  nlohmann::json notes_;
};

/// Throws the error of ErrorCode::kNotFinite where there are any: "[where] 3 of 600 events ...; WAY_OUT".
void need_finite(const ModelEvents::NotFinite& found, int64_t events, const std::string& where,
                 const std::string& way_out);

}  // namespace linac::cli
