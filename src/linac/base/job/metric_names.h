#pragma once
// How the numbers of a run's record are called as metrics: the tags of TensorBoard, the keys of the catalog's curves
// and of the pages are the same words. Thread-safe functions.

#include <array>
#include <optional>
#include <string>

#include "linac/base/job/phases.h"

namespace linac::job::metric {

inline constexpr const char* kLearningRate = "learning_rate";
inline constexpr const char* kEpochs = "epoch";  // how many are done
inline constexpr const char* kEpochSeconds = "epoch_seconds";
inline constexpr const char* kDrift = "round/drift";       // of groups that train apart (RoundLine)
inline constexpr const char* kShutOut = "audit/shut_out";  // workers that computed wrongly (AuditLine)
inline constexpr const char* kWorkers = "workers";         // how many train
inline constexpr const char* kCpuSeconds = "time/cpu";     // of all workers
inline constexpr const char* kRateEnd = "_per_s";          // "showers_per_s"
// Fronts of names.
inline constexpr const char* kLoss = "loss/";
inline constexpr const char* kParts = "parts/";
inline constexpr const char* kTrain = "train/";
inline constexpr const char* kTest = "test/";
inline constexpr const char* kEpoch = "epoch_";  // in TensorBoard, as Keras writes it
inline constexpr const char* kPhysics = "physics/";
inline constexpr const char* kTime = "time/";
inline constexpr const char* kProfile = "profile/";
inline constexpr const char* kSystem = "system/";

struct NameEntry {
  const char* name;  // capitals stand for what is filled in
  const char* what;
};
/// All names, for people.
inline constexpr std::array kNames{
    NameEntry{"MEASURE", "a loss or metric of a step that has no parts, such as `accuracy`"},
    NameEntry{"loss/MEASURE", "the whole (`total`) of a loss that has parts"},
    NameEntry{"parts/MEASURE/PART", "its parts"},
    NameEntry{"learning_rate", "of the step"},
    NameEntry{"train/MEASURE", "the mean over an epoch's steps, of parts the whole"},
    NameEntry{"test/MEASURE", "on the test data after an epoch"},
    NameEntry{"epoch_MEASURE", "these two in TensorBoard, by epoch: of its runs `train` and `validation`"},
    NameEntry{"physics/FIGURE", "figures of the comparison of test showers, where they were due"},
    NameEntry{"epoch", "how many epochs are done, those of a run that a branch goes on from too"},
    NameEntry{"epoch_seconds", "how long an epoch took, test included"},
    NameEntry{"UNIT_per_s", "its rate: `showers_per_s`, `events_per_s`"},
    NameEntry{"workers", "how many trained from this step on"},
    NameEntry{"time/PHASE", "wall seconds of all workers in a phase so far"},
    NameEntry{"time/cpu", "CPU seconds of all workers so far"},
    NameEntry{"profile/PART",
              "in TensorBoard: per cent of the workers' steps that `input`, `forward`, `backward`, "
              "`sum`, `idle`, `update` or `other` took since the last such point"},
    NameEntry{"profile/NETWORK/PART", "likewise in updates of one network, where there are several"},
    NameEntry{"system/...", "what the service measures of a job and its host, by second of the job"}};

/// "loss/d_real" for "d_real/total", "parts/d_real/angle" for its other parts, "accuracy" for itself.
std::string of_step(const std::string& measure);
/// "test/d_real" for "d_real/total" behind kTest, "test/auc" for "auc"; nothing for a part.
std::optional<std::string> of_whole(const char* front, const std::string& measure);
/// "time/compute"
std::string of_phase(Phase phase);
/// "showers_per_s"
std::string of_rate(const std::string& unit);

}  // namespace linac::job::metric
