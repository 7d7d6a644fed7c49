#pragma once
// What the workers of a group must have in common before the first step, and how bytes reach all of them. Collective
// functions.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "linac/comm/group.h"
#include "linac/spec/job.h"

namespace linac::train {

struct Disagreement {
  int rank = 0;
  std::string text;  // in what it differs from rank 0
};

/// Compares version, LibTorch, instruction set, job and data (Loop::data) of all workers: other kernels or other data
/// would make the answer depend on who computes. The first that differs, alike on every rank.
std::optional<Disagreement> find_disagreement(comm::Group& group, const spec::Job& job, const nlohmann::json& data);

/// `bytes` of rank `root` on every rank.
void broadcast_bytes(comm::Group& group, std::string& bytes, int root);

}  // namespace linac::train
