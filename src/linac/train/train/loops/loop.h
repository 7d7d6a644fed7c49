#pragma once
// What a Trainer drives: one kind of training, by its parts. What computes (loop_steps.h), what is read (loop_data.h)
// and what is told (loop_words.h) are interfaces of their own, so who tells people how a run goes needs nothing that
// could change it. Kinds: adversarial.h, fit.h, custom.h, chain_training.h; the table is in make_loop.cpp.

#include <memory>
#include <string>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/loops/computing.h"
#include "linac/train/train/loops/loop_data.h"
#include "linac/train/train/loops/loop_steps.h"
#include "linac/train/train/loops/loop_words.h"
#include "linac/train/train/record/phase_clock.h"

namespace linac::trained {
struct KerasFile;  // compiled_job.h
}

namespace linac::train {

/// The parts may be one object. What is told is of the steps so far.
struct Loop {
  std::shared_ptr<LoopSteps> steps;
  std::shared_ptr<const LoopData> data;
  std::shared_ptr<const LoopWords> words;
};

/// By model.kind. Opens and scans the data; throws what would fail later. Borrows everything but `computing`. `read`:
/// the job's Keras file if it has been read already; not needed any more when this returns.
Loop make_loop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock,
               const trained::KerasFile* read = nullptr);

/// Steps of an epoch: whole global batches, or train.steps_per_epoch if that is less. Data error naming the numbers if
/// there is none. `events` < 0: train.steps_per_epoch.
int64_t steps_per_epoch(const job::Job& job, int64_t events);

/// "7 steps an epoch of 2 replicas x 350 events (100 of the 5000 events are left over, others in each epoch)".
std::string epoch_in_words(const job::Job& job, int64_t events);

}  // namespace linac::train
