#pragma once
// The phases into which a worker's time falls: the words of the record (run_record.h), of `linac report`, of metrics
// ("time/compute") and of the pages. A new phase is an entry here, and a colour where it is drawn.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace linac::job {

/// Computing first, as reports show them.
enum class Phase : size_t { kCompute, kTest, kCommunication, kInput, kUpdate, kCheckpoint, kReport };

struct PhaseEntry {
  Phase phase;
  const char* name;
  bool computes;        // counts as work in an efficiency
  const char* meaning;  // a sentence
};
inline constexpr std::array kPhases{
    PhaseEntry{Phase::kCompute, "compute", true, "Forward and backward passes of the worker's replicas."},
    PhaseEntry{Phase::kTest, "test", true, "The test at the end of an epoch, the exchange of its results included."},
    PhaseEntry{Phase::kCommunication, "communication", false,
               "Waiting for what other workers send, as far as computing does not hide it."},
    PhaseEntry{Phase::kInput, "input", false, "Waiting for the next batch."},
    PhaseEntry{Phase::kUpdate, "update", false, "The optimiser."},
    PhaseEntry{
        Phase::kCheckpoint, "checkpoint", false,
        "Copying the state for a checkpoint, and waiting for one before it, on the worker that writes the record."},
    PhaseEntry{Phase::kReport, "report", false,
               "The record, TensorBoard and pictures, on the worker that writes the record."}};

/// In the order in which a training goes through them.
inline constexpr std::array kPhasesInTime{Phase::kInput, Phase::kCompute,    Phase::kCommunication, Phase::kUpdate,
                                          Phase::kTest,  Phase::kCheckpoint, Phase::kReport};
static_assert(kPhasesInTime.size() == kPhases.size());
/// Those of a step.
inline constexpr std::array kStepPhases{Phase::kInput, Phase::kCompute, Phase::kCommunication, Phase::kUpdate};

constexpr const char* name_of(Phase phase) {
  return kPhases[static_cast<size_t>(phase)].name;
}
constexpr bool computes(Phase phase) {
  return kPhases[static_cast<size_t>(phase)].computes;
}
constexpr std::optional<Phase> phase_named(std::string_view name) {
  for (const PhaseEntry& entry : kPhases)
    if (name == entry.name) return entry.phase;
  return std::nullopt;
}

}  // namespace linac::job
