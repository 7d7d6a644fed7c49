#pragma once
// What the workers of a group must have in common before the first step, and how bytes reach all of them. Collective
// functions.

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"

namespace linac::train {

struct Disagreement {
  int rank = 0;
  std::string text;  // in what it differs from rank 0
};

/// What this processor computes of fixed numbers (model/models/processor_probe.h), as a digest.
std::string processor_digest();

/// Version, LibTorch, instruction set, processor, job and the content of every file that the job names (`data`:
/// Loop::data): with others the answer would depend on who computes. Files count by their content, not by where they
/// lie. Reads the files of the model and the scaling: once, at the start, as they may change later.
nlohmann::json what_must_agree(const job::Job& job, const nlohmann::json& data);

/// What the state of a training rests on: digests of "train", "test" and "scaling", the contents of these files in
/// their order, whatever they are called. For a later start, which may compute with another build.
nlohmann::json data_digests(const job::Job& job, const nlohmann::json& data);

/// Compares what_must_agree() of all workers. The first that differs, alike on every rank.
std::optional<Disagreement> find_disagreement(comm::Group& group, const nlohmann::json& mine);

/// `bytes` of rank `root` on every rank.
void broadcast_bytes(comm::Group& group, std::string& bytes, int root);
/// The same among some ranks, from the first of them; they alone call it.
void broadcast_bytes(comm::Group& group, std::string& bytes, std::span<const int> ranks);
/// The texts of all ranks, by rank, on every rank. Each at most comm::Group::kMaxTextBytes, in UTF-8.
std::vector<std::string> texts_of_all(comm::Group& group, const std::string& mine);

}  // namespace linac::train
