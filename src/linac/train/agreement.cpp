#include "linac/train/agreement.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/error.h"
#include "linac/base/version.h"
#include "linac/kernels/isa.h"
#include "linac/models/torch_threads.h"

namespace linac::train {
namespace {

// The settings that are free to differ between workers, runs and resumes are not part of the numerics.
nlohmann::json numerics(const spec::Job& job, const nlohmann::json& data) {
  spec::Job fixed = job;
  fixed.workers = 1;
  fixed.checkpoint = {};
  fixed.distribution = {};
  fixed.data.train.clear();  // the same files may have other paths on other hosts; their content is compared
  fixed.data.test.clear();
  spec::forget_cached_file(fixed.model);
  nlohmann::json files = nlohmann::json::array();
  for (const auto& file : data.at("train")) files.push_back(file.at("fingerprint"));
  return {{"linac", kVersion},
          {"libtorch", models::torch_version()},
          {"isa", kernels::to_string(kernels::best_isa())},
          {"job", spec::to_yaml(fixed)},
          {"data", files}};
}

// The first difference, in words; empty if there is none.
std::string difference(const nlohmann::json& mine, const nlohmann::json& other) {
  for (const auto& [key, value] : mine.items()) {
    if (other.value(key, nlohmann::json()) == value) continue;
    return key == "job" || key == "data"
               ? fmt::format("another {}", key)
               : fmt::format("{} {} instead of {}", key, other.value(key, nlohmann::json()).dump(), value.dump());
  }
  return "";
}

}  // namespace

std::optional<Disagreement> find_disagreement(comm::Group& group, const spec::Job& job, const nlohmann::json& data) {
  const nlohmann::json mine = numerics(job, data);
  const auto all = group.gather_text(mine.dump());
  std::string verdict;
  for (size_t rank = 1; rank < all.size() && verdict.empty(); ++rank) {
    const std::string found = difference(mine, nlohmann::json::parse(all[rank]));
    if (!found.empty()) verdict = nlohmann::json{rank, found}.dump();
  }
  broadcast_bytes(group, verdict, 0);
  if (verdict.empty()) return std::nullopt;
  const auto json = nlohmann::json::parse(verdict);
  return Disagreement{
      .rank = json.at(0),
      .text = fmt::format("[train] rank {} has {} (compared with rank 0); start all workers from the same job, data "
                          "and build",
                          json.at(0).get<int>(), json.at(1).get<std::string>())};
}

void broadcast_bytes(comm::Group& group, std::string& bytes, int root) {
  if (group.size() == 1) return;
  // The group moves floats bit by bit; the size travels as 16-bit halves, exact in a float.
  std::array<float, 4> halves{};
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<float>((bytes.size() >> (16 * i)) & 0xFFFF);
  group.broadcast(halves, root);
  size_t size = 0;
  for (size_t i = 0; i < halves.size(); ++i) size |= static_cast<size_t>(halves[i]) << (16 * i);
  if (size == 0) {
    bytes.clear();
    return;
  }
  std::vector<float> carrier((size + sizeof(float) - 1) / sizeof(float));
  if (group.rank() == root) std::memcpy(carrier.data(), bytes.data(), size);
  group.broadcast(carrier, root);
  bytes.assign(reinterpret_cast<const char*>(carrier.data()), size);
}

}  // namespace linac::train
