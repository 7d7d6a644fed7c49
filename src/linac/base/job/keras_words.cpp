#include "linac/base/job/keras_words.h"

namespace linac::job {
namespace {

struct Word {
  const char* keras;
  const char* here;
};

constexpr Word kWords[] = {
    {"batch_size", "train.replicas x train.batch here: set train.batch"},
    {"learning_rate", "train.optimizer.lr here, or train.lr in short"},
    {"validation_data", "data.test here"},
    {"validation_split", "data.validation_split here"},
    {"validation_freq", "validate.every_epochs here"},
    {"sample_weight", "data.event_weight here"},
    {"class_names", "data.classes here"},
    {"restore_best_weights", "train.early_stopping.restore_best here"},
    {"EarlyStopping", "train.early_stopping here"},
    {"ReduceLROnPlateau", "train.schedule.plateau here"},
    {"ModelCheckpoint", "checkpoint here"},
    {"save_best_only", "always done here: checkpoint.best_by says what is best"},
    {"save_freq", "checkpoint.every_epochs or checkpoint.every_steps here"},
    {"clipnorm", "train.optimizer.global_clipnorm here, over all weights"},
    {"shuffle", "always done here, by train.seed"},
    {"callbacks", "a setting each here: train.early_stopping, checkpoint, train.schedule (docs/start/from-keras.md)"},
    {"steps_per_execution", "nothing to set here"},
    {"verbose", "nothing to set here"},
    {"initial_epoch", "known to the run here: go on with --resume"},
};

}  // namespace

std::string keras_setting(const std::string& name) {
  for (const Word& word : kWords)
    if (name == word.keras) return word.here;
  return "";
}

}  // namespace linac::job
