#pragma once
// What the workers of a group must have in common before the first step, and how bytes reach all of them. Collective
// functions.

#include <nlohmann/json.hpp>
#include <string>

#include "linac/comm/group.h"
#include "linac/spec/job.h"

namespace linac::train {

/// Compares version, LibTorch, instruction set, job and data (Loop::data) of all workers. Throws a user error on every
/// rank, naming the first that differs and in what: other kernels or other data would make the answer depend on who
/// computes.
void agree_on_numerics(comm::Group& group, const spec::Job& job, const nlohmann::json& data);

/// `bytes` of rank 0 on every rank.
void broadcast_bytes(comm::Group& group, std::string& bytes);

}  // namespace linac::train
