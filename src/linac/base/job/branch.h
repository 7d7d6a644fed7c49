#pragma once
// What of a job may change where a new run goes on from the checkpoint of another one: what no value of the checkpoint
// depends on, neither its size nor its meaning. Names, budgets, workers and where things lie are free; rates and the
// other numbers of the optimizer, weights of losses, smoothing, flips of labels and dropout may change. Anything else,
// as the network, the data, the batch or the optimizer itself, makes another training. Pure, thread-safe.

#include <string>
#include <string_view>

#include "linac/base/job/job.h"

namespace linac::job {

/// The job without what is free to differ between a run and its resume.
Job without_free_settings(Job job);

/// Whether a run of `then` may go on as one of `now` with another value of this key, "train.optimizer.lr".
bool may_change_in_branch(std::string_view key);

/// User error naming the first key that differs and must not: "WHERE: train.batch is 30 there and 60 here; ...; HINT".
void need_branch(const Job& then, const Job& now, const std::string& where, const std::string& hint);

}  // namespace linac::job
