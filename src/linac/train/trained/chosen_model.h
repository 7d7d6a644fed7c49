#pragma once
// From the name of a run to the networks that are meant: the one way for all that take a trained model. A name is that
// of a run's folder, of one of its states (base/job/run_choice.h: RUN@best, RUN@last, RUN@epoch=N), of a checkpoint, or
// of a file of a model; folders and files also by URL. Thread-safe functions.

#include <cstdint>
#include <filesystem>
#include <string>

namespace linac::trained {

struct ChosenModel {
  /// What the name stands for on this machine. Of a folder without a choice the folder, whose model is that of
  /// model_of_run(), or of generators checkpoint_of(). Of a state of a run of labelled events a file of the kind that
  /// the run leaves as its model, with these weights and what a training that goes on from them needs, in the cache. Of
  /// generators the checkpoint.
  std::filesystem::path path;
  std::filesystem::path run = {};  // its folder; empty for a file of a model
  /// Which state it is, and which others there are: "epoch 4, the last; the best in auc is epoch 2, RUN@best". Empty
  /// for a file of a model, or where it is not known.
  std::string words = {};
  int64_t epochs = 0;  // whole ones that trained it; 0: not known, or it stands within one
};

/// Made once for a name in a process. User error if there is no such state, with those that are there; data error if
/// its checkpoint is damaged.
ChosenModel chosen_model(const std::string& name);
/// The same, and tells people its words, once.
std::filesystem::path told_model(const std::string& name);

/// The file of a job's model.file: of a run's folder the model that it has left. User error if that is none.
std::string model_of_job(const std::string& name);

/// Of a run's folder its best checkpoint, else the newest; of one of its states that checkpoint. A file is itself. User
/// error if there is none.
std::filesystem::path checkpoint_of(const std::string& name);

}  // namespace linac::trained
