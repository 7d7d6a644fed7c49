#include "linac/train/trained/run_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/job/run_record.h"
#include "linac/model/chain/chain_file.h"

namespace linac::trained {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelNames[] = {"model.keras",     "model.pt",     "model.pt2",     "model.safetensors",
                                       "generator.keras", "generator.pt", "generator.pt2", "generator.chain"};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool collapsed(const fs::path& run) {
  const fs::path file = run / job::kSummaryFile;
  if (!fs::exists(file)) return false;
  const auto summary = job::read_summary(read_file(file), file.string());
  return summary && summary->error && summary->error->exit_code == static_cast<int>(ErrorCode::kNumeric);
}

}  // namespace

std::span<const char* const> model_names() {
  return kModelNames;
}

std::optional<fs::path> model_of_run(const fs::path& run) {
  for (const char* name : kModelNames)
    if (fs::exists(run / "models" / name)) return run / "models" / name;
  return std::nullopt;
}

fs::path started_in(const fs::path& model) {
  const fs::path run = fs::is_directory(model) ? model : fs::absolute(model).parent_path().parent_path();
  const fs::path file = run / job::kSummaryFile;
  if (!fs::exists(file)) return {};
  const auto summary = job::read_summary(read_file(file), file.string());
  return summary ? fs::path(summary->folder) : fs::path();
}

std::string advice_on_run(const fs::path& run) {
  if (const auto model = model_of_run(run)) {
    const bool generates = model->stem() == "generator",
               exported = model->extension() != ".safetensors" && !chain::is_chain_file(*model);
    return fmt::format("its trained model is {}: `linac {} --model {}`{}", model->string(),
                       generates ? "generate" : "predict", shell_word(run.string()),
                       exported ? fmt::format(", `linac export --model {}`", shell_word(model->string())) : "");
  }
  if (const auto names = names_in(run / "models"); !names.empty())
    return fmt::format("its folder models has {}: weights for the code that made them", fmt::join(names, ", "));
  if (fs::exists(run / "job.yaml") && collapsed(run))
    return "its training collapsed before it left one; its run.json says why: mend that and train anew with another "
           "--out";
  if (fs::is_directory(run / "trials")) {
    return fmt::format("it is a study; `linac study best {}` names its best trial, whose folder in {} is that of a run",
                       shell_word(run.string()), (run / "trials").string());
  }
  if (fs::exists(run / "job.yaml")) {
    return fmt::format(
        "it has left no model yet; go on with it: `linac train {} --out {} --resume`, or take its newest "
        "checkpoint: {}@last",
        shell_word((run / "job.yaml").string()), shell_word(run.string()), run.string());
  }
  if (const fs::path whole = (run / "").parent_path().parent_path(); fs::exists(whole / "job.yaml"))
    return fmt::format("it is a folder of the run {}; {}", whole.string(), advice_on_run(whole));
  return "it is no run; give the folder of a run that came to its end, or a .keras file";
}

}  // namespace linac::trained
