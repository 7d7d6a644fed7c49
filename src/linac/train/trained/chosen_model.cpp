#include "linac/train/trained/chosen_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_choice.h"
#include "linac/base/job/run_record.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/storage.h"
#include "linac/train/trained/checkpoint_files.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/trained/state_file.h"

namespace linac::trained {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& run) {
  return run / "checkpoints";
}

// What is there under the whole name is no choice.
job::RunChoice choice_in(const std::string& name) {
  return fs::exists(name) ? job::RunChoice{name, ""} : job::split_choice(name);
}

// Whether it is one of a run, by where it lies.
bool is_checkpoint(const fs::path& file) {
  return file.extension() == ".safetensors" && file.parent_path().filename() == "checkpoints";
}

std::vector<fs::path> all_checkpoints(const fs::path& run) {
  std::vector<fs::path> files;
  if (fs::exists(folder_of(run))) files = list_checkpoints(folder_of(run));
  for (const fs::path& chosen : chosen_checkpoints(folder_of(run)))
    if (fs::exists(chosen)) files.push_back(chosen);
  return files;
}

fs::path behind_epoch(const fs::path& run, const job::RunChoice& choice) {
  const int wanted = job::epoch_in(choice.which);
  std::set<int64_t> there;
  for (const fs::path& file : all_checkpoints(run)) {
    const CheckpointMoment moment = moment_of(weights::read_meta(file), file);
    if (moment.step != 0) continue;
    if (moment.epochs == wanted) return file;
    there.insert(moment.epochs);
  }
  throw user_error(
      fmt::format("[model] {}@{}: no checkpoint behind epoch {} is kept (there {}: {}); checkpoint.keep says how many "
                  "of the newest "
                  "stay, and the best one stays in any case",
                  choice.run, choice.which, wanted, there.size() == 1 ? "is" : "are",
                  there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
}

fs::path checkpoint_in(const fs::path& run, const job::RunChoice& choice) {
  if (!fs::is_directory(run))
    throw user_error(fmt::format("[model] {}@{}: {} is no folder of a run", choice.run, choice.which, choice.run));
  if (job::epoch_in(choice.which) > 0) return behind_epoch(run, choice);
  const fs::path best = best_checkpoint(folder_of(run));
  const std::vector<fs::path> all = all_checkpoints(run);
  if (choice.which == "best" && fs::exists(best)) return best;
  if (choice.which == "last" && fs::exists(folder_of(run)))
    if (const auto steps = list_checkpoints(folder_of(run)); !steps.empty()) return steps.back();
  throw user_error(fmt::format("[model] {}@{}: {}; {}", choice.run, choice.which,
                               all.empty()              ? "the run holds no checkpoint"
                               : choice.which == "best" ? "no epoch was the best so far: take @last"
                                                        : "the run has its best checkpoint alone: take @best",
                               advice_on_run(run)));
}

std::optional<job::RunSummary> summary_of(const fs::path& run) {
  const fs::path file = run / job::kSummaryFile;
  if (!fs::exists(file)) return std::nullopt;
  return job::read_summary(read_file(file), file.string());
}

// Of a folder that is taken as it is.
std::string words_of_run(const std::string& name, const fs::path& run) {
  const auto left = model_of_run(run);
  if (!left || left->stem() != "model") {
    std::error_code none;
    if (!fs::exists(folder_of(run), none) || all_checkpoints(run).empty()) return "";
    const fs::path file = checkpoint_of(run.string());
    return fmt::format("{}, {}", file.filename().string(), state_words(weights::read_meta(file), file));
  }
  const auto summary = summary_of(run);
  if (!summary || !summary->handed_over_epoch || !summary->best) return "";
  const int64_t epoch = *summary->handed_over_epoch, best = summary->best->epoch + 1;
  if (best == 0 || best == epoch)
    return fmt::format("epoch {}{}", epoch, best == 0 ? "" : fmt::format(", the best in {}", summary->best->by));
  return fmt::format("epoch {}{}; the best in {} is epoch {}: {}@best", epoch,
                     epoch == summary->epochs_done ? ", the last" : "", summary->best->by, best, name);
}

ChosenModel of_checkpoint(const std::string& name, const fs::path& run, const fs::path& file) {
  ChosenModel chosen{.path = file, .run = run};
  const std::string bytes = read_file(file);
  const weights::TensorFile state = weights::decode_tensors(bytes, file.string());
  chosen.words = fmt::format("{}, {}", file.filename().string(), state_words(state.meta, file));
  if (const CheckpointMoment moment = moment_of(state.meta, file); moment.step == 0) chosen.epochs = moment.epochs;
  if (!is_of_labelled_events(state.meta, file)) return chosen;
  const fs::path folder = storage::cache_folder() / "models" / "states" / storage::content_hash(bytes);
  make_folder(folder);
  chosen.path = model_of_state(name, run, state, file, folder);
  storage::use_cached(chosen.path);
  storage::write_note(chosen.path,
                      {{.etag = {}, .modified = {}, .size = static_cast<int64_t>(fs::file_size(chosen.path))},
                       fs::absolute(file).string(),
                       storage::piece_sums_of(chosen.path)});
  storage::make_room();
  return chosen;
}

ChosenModel choose(const std::string& name) {
  const job::RunChoice choice = choice_in(name);
  const fs::path local = storage::local_copy(choice.run);
  if (!choice.which.empty()) return of_checkpoint(name, local, checkpoint_in(local, choice));
  if (fs::is_directory(local)) {
    const auto summary = summary_of(local);
    return {.path = local,
            .run = local,
            .words = words_of_run(name, local),
            .epochs = summary ? summary->handed_over_epoch.value_or(0) : 0};
  }
  if (fs::exists(local) && is_checkpoint(local))
    return of_checkpoint(name, fs::absolute(local).parent_path().parent_path(), local);
  return {.path = local};
}

struct Known {
  std::mutex mutex;
  std::map<std::string, ChosenModel> models;
  std::set<std::string> told;
};
Known& known() {
  static Known all;
  return all;
}

}  // namespace

ChosenModel chosen_model(const std::string& name) {
  Known& all = known();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.models.find(name);
  // A folder may have another model by now.
  if (found != all.models.end() && !fs::is_directory(found->second.path)) return found->second;
  return all.models[name] = choose(name);
}

fs::path told_model(const std::string& name) {
  ChosenModel chosen = chosen_model(name);
  Known& all = known();
  const std::scoped_lock lock(all.mutex);
  if (!chosen.words.empty() && all.told.insert(name).second)
    log::info(fmt::format("[model] {}: {}", name, chosen.words));
  return chosen.path;
}

std::string model_of_job(const std::string& name) {
  if (name.empty()) return "";
  const fs::path path = told_model(name);
  if (!fs::is_directory(path)) return path.string();
  if (const auto file = model_of_run(path)) return file->string();
  throw user_error(fmt::format("[model] {}: no trained model; {}", name, advice_on_run(path)));
}

fs::path checkpoint_of(const std::string& name) {
  const job::RunChoice choice = choice_in(name);
  const fs::path local = storage::local_copy(choice.run);
  if (!choice.which.empty()) return checkpoint_in(local, choice);
  if (!fs::is_directory(local)) return local;
  if (const fs::path best = best_checkpoint(folder_of(local)); fs::exists(best)) return best;
  if (fs::exists(folder_of(local)))
    if (const auto steps = list_checkpoints(folder_of(local)); !steps.empty()) return steps.back();
  throw user_error(fmt::format("[model] {}: holds no checkpoint; give a run's folder, a checkpoint or a .keras file",
                               local.string()));
}

}  // namespace linac::trained
