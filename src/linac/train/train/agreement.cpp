#include "linac/train/train/agreement.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/version.h"
#include "linac/io/storage/storage.h"
#include "linac/model/keras/archive.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/models/processor_probe.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/trained/chosen_model.h"

namespace linac::train {
namespace {

nlohmann::json fingerprints_of(const nlohmann::json& files) {
  nlohmann::json fingerprints = nlohmann::json::array();
  for (const auto& file : files) {
    fingerprints.push_back(file.at("fingerprint"));
    if (file.contains("made")) fingerprints.push_back(file["made"]);  // the mathematics of another system's library
  }
  return fingerprints;
}

// Of a model in two files, of both.
nlohmann::json content_of(const std::string& path) {
  if (path.empty()) return nullptr;
  nlohmann::json contents = nlohmann::json::array();
  for (const std::filesystem::path& part : keras::files_of(path))
    if (std::filesystem::is_regular_file(part)) contents.push_back(storage::fingerprint(part).content);
  return contents;
}

constexpr std::pair<const char*, const char*> kDifferences[] = {
    {"job", "another job"},
    {"train", "other training files"},
    {"test", "other test files"},
    {"scaling", "another scaling file"},
    {"model", "another model file"},
    {"processor", "a processor that computes other last bits"},
    {"start", "another start: one begins a new run, the other goes on with one (--resume)"}};

// The first difference, in words; empty if there is none.
std::string difference(const nlohmann::json& mine, const nlohmann::json& other) {
  for (const auto& [key, value] : mine.items()) {
    const nlohmann::json others = other.value(key, nlohmann::json());
    if (others == value) continue;
    for (const auto& [name, words] : kDifferences)
      if (key == name) return words;
    return fmt::format("{} {} instead of {}", key, others.dump(), value.dump());
  }
  return "";
}

// The first to leave a view ends it for all. Who is refused and has not read why would come into the next one, and the
// next: the others leave once all have read it.
void wait_until_told(comm::Group& group, int refused) {
  constexpr int kTag = 1;
  std::array<float, 1> word{};
  group.gather_text("");
  if (group.rank() == refused) return;
  if (group.rank() != 0) return group.receive(word, 0, kTag);
  for (int rank = 1; rank < group.size(); ++rank) {
    if (rank != refused) group.send(word, rank, kTag);
  }
}

}  // namespace

std::string processor_digest() {
  static const std::string digest = storage::content_hash(models::processor_probe());
  return digest;
}

nlohmann::json what_must_agree(const job::Job& job, const nlohmann::json& data) {
  // The settings that are free to differ between workers, runs and resumes are not part of the numerics.
  job::Job fixed = job;
  fixed.workers = 1;
  fixed.checkpoint = {};
  fixed.checkpoint.best_by = job.checkpoint.best_by;  // which model is handed over
  fixed.checkpoint.best_mode = job.checkpoint.best_mode;
  fixed.distribution = {};
  fixed.secrets.clear();
  fixed.train.audit.fault = {};  // of several liars each has its own
  job::forget_cached_file(fixed.model);
  nlohmann::json all;
  all["train"] = fingerprints_of(data.at("train"));
  all["test"] = fingerprints_of(data.value("test", nlohmann::json::array()));
  all["scaling"] = content_of(storage::local_copy(job.data.scaling));
  fixed.data.prefetch = fixed.data.prefetch_files = fixed.data.prefetch_reads = {};
  fixed.data.share = true;
  fixed.data.train.clear();  // the same files may have other paths on other hosts; their content is compared
  fixed.data.test.clear();
  fixed.data.scaling.clear();
  job::Model model = job.model;
  const bool of_run = model.is<job::KerasSettings>() || model.is<job::TorchScriptSettings>();
  for (const std::string* file : model.files())
    all["model"].push_back(content_of(of_run ? trained::model_of_job(*file) : storage::local_copy(*file)));
  for (std::string* file : fixed.model.files()) file->clear();
  all.update({{"linac", kVersion},
              {"libtorch", models::torch_version()},
              {"isa", kernels::to_string(kernels::best_isa())},
              {"processor", processor_digest()},
              {"job", job::to_yaml(fixed)}});
  return all;
}

nlohmann::json data_digests(const job::Job& job, const nlohmann::json& data) {
  const auto digest = [](const nlohmann::json& contents) { return storage::content_hash(contents.dump()); };
  nlohmann::json digests{{"scaling", digest(content_of(storage::local_copy(job.data.scaling)))}};
  for (const char* role : {"train", "test"}) {
    nlohmann::json contents = nlohmann::json::array();
    for (const auto& file : data.value(role, nlohmann::json::array())) contents.push_back(file.at("fingerprint"));
    digests[role] = digest(contents);
  }
  return digests;
}

std::optional<Disagreement> find_disagreement(comm::Group& group, const nlohmann::json& mine) {
  const auto all = group.gather_text(mine.dump());
  std::string verdict;
  for (size_t rank = 1; rank < all.size() && verdict.empty(); ++rank) {
    const std::string found = difference(mine, nlohmann::json::parse(all[rank]));
    if (!found.empty()) verdict = nlohmann::json{rank, found}.dump();
  }
  broadcast_bytes(group, verdict, 0);
  if (verdict.empty()) return std::nullopt;
  const auto json = nlohmann::json::parse(verdict);
  const int refused = json.at(0);
  wait_until_told(group, refused);
  return Disagreement{
      .rank = refused,
      .text = fmt::format("[train] rank {} has {} (compared with rank 0); start all workers with the same words, "
                          "from the same job, data and build, on processors of one kind",
                          refused, json.at(1).get<std::string>())};
}

void broadcast_bytes(comm::Group& group, std::string& bytes, int root) {
  std::vector<int> ranks(static_cast<size_t>(group.size()));
  for (int i = 0; i < group.size(); ++i) ranks[static_cast<size_t>(i)] = (root + i) % group.size();
  broadcast_bytes(group, bytes, ranks);
}

void broadcast_bytes(comm::Group& group, std::string& bytes, std::span<const int> ranks) {
  std::array<uint64_t, 1> size{bytes.size()};
  group.broadcast_among(ranks, std::as_writable_bytes(std::span(size)));
  bytes.resize(size[0]);
  group.broadcast_among(ranks, std::as_writable_bytes(std::span(bytes)));
}

std::vector<std::string> texts_of_all(comm::Group& group, const std::string& mine) {
  std::string all = nlohmann::json(group.gather_text(mine)).dump();
  broadcast_bytes(group, all, 0);
  return nlohmann::json::parse(all);
}

}  // namespace linac::train
