#include "linac/train/trained/run_models.h"

#include <gtest/gtest.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"

namespace linac::trained {
namespace {

TEST(RunModels, AdviceNamesOnlyWhatIsThere) {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder / "run", models = run / "models";
  std::filesystem::create_directories(models);
  const auto says = [&](const std::string& text) { return advice_on_run(run).find(text) != std::string::npos; };
  EXPECT_TRUE(says("it is no run"));
  write_file_atomically(run / "job.yaml", "");
  EXPECT_TRUE(says("linac train " + (run / "job.yaml").string() + " --out " + run.string() + " --resume"));
  std::filesystem::create_directories(run / "trials");
  EXPECT_TRUE(says("it is a study; `linac study best " + run.string()));
  EXPECT_FALSE(says("--resume")) << "a study is no run to go on with";
  std::filesystem::remove(run / "trials");
  std::filesystem::create_directories(run / "checkpoints");
  EXPECT_NE(advice_on_run(run / "checkpoints").find("a folder of the run " + run.string()), std::string::npos);
  write_file_atomically(run / "run.json", R"({"error": {"kind": "collapse", "message": "NaN", "exit_code": 5}})");
  EXPECT_TRUE(says("collapsed")) << "to go on with it would collapse again";
  EXPECT_FALSE(says("--resume"));
  std::filesystem::remove(run / "run.json");
  write_file_atomically(models / "critic.safetensors", "");
  EXPECT_TRUE(says("critic.safetensors")) << "of a training loop of its own";
  EXPECT_FALSE(model_of_run(run));
  write_file_atomically(models / "model.pt", "");
  EXPECT_EQ(model_of_run(run), models / "model.pt");
  EXPECT_TRUE(says("linac predict --model " + run.string()));
  EXPECT_TRUE(says("linac export --model " + (models / "model.pt").string()));
  std::filesystem::rename(models / "model.pt", models / "model.pt2");
  EXPECT_EQ(model_of_run(run), models / "model.pt2");
  EXPECT_TRUE(says("linac export --model " + (models / "model.pt2").string()));
  write_file_atomically(models / "model.keras", "");
  EXPECT_TRUE(says("linac export --model " + (models / "model.keras").string()));
}

TEST(RunModels, ARunKnowsWhereItWasStarted) {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder / "run";
  std::filesystem::create_directories(run / "models");
  EXPECT_EQ(started_in(run), "");
  write_file_atomically(run / "run.json", R"({"folder": "/home/me"})");
  EXPECT_EQ(started_in(run), "/home/me");
  EXPECT_EQ(started_in(run / "models" / "model.keras"), "/home/me");
}

}  // namespace
}  // namespace linac::trained
