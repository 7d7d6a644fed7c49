#include "linac/control/sites/slurm_script.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"
#include "linac/control/sites/shell.h"

namespace linac::sites {
namespace {

SlurmSettings farm() {
  SlurmSettings settings;
  settings.folder = "/scratch/me";
  settings.program = "/scratch/me/it's here/linac";
  return settings;
}

Launch launch() {
  return {
      .label = "demo-1", .job = "name: demo\n", .workers = 8, .out = "/scratch/me/demo-1", .key = std::string(64, 'a')};
}

TEST(SlurmScript, AsksForWhatTheSiteSays) {
  SlurmSettings settings = farm();
  settings.partition = "main";
  settings.time = "4h";
  settings.cpus = 3;
  settings.memory = "16G";
  settings.gpus = 1;
  settings.workers_per_node = 4;
  settings.sbatch = {"--constraint=ib"};
  const std::string script = batch_script(settings, launch());
  for (const char* const line : {"--job-name=demo-1", "--partition=main", "--ntasks=8", "--ntasks-per-node=4",
                                 "--cpus-per-task=3", "--mem-per-cpu=5462M", "--gpus-per-node=4", "--time=240",
                                 "--signal=TERM@120", "--requeue", "--no-kill", "--constraint=ib"})
    EXPECT_NE(script.find(std::string("\n#SBATCH ") + line + "\n"), std::string::npos) << line << " in\n" << script;
  Launch hasty = launch();
  hasty.seconds_max = 120;
  expect_in(batch_script(settings, hasty), {"--time=2\n", "--signal=TERM@30\n"});
}

TEST(SlurmScript, HoldsNoSecret) {
  Launch kept = launch();
  kept.out = "s3://bucket/demo-1";
  const std::string all = batch_script(farm(), kept) + slurm_worker(farm(), kept);
  EXPECT_EQ(all.find(kept.key), std::string::npos);
  expect_in(all, {"LINAC_RUN_KEY_FILE=/scratch/me/demo-1/launch/private/key", "--out s3://bucket/demo-1"});
}

TEST(SlurmScript, CanBeReadByAShell) {
  SlurmSettings settings = farm();
  settings.environment = {{"GREETING", "it's $HOME `id`"}};
  settings.setup = {"module() { :; }", "module load linac"};
  for (const std::string& script : {batch_script(settings, launch()), slurm_worker(settings, launch())}) {
    const ShellAnswer answer = Shell().run("cat > /dev/null\nsh -n <<'END_OF_SCRIPT'\n" + script + "END_OF_SCRIPT");
    EXPECT_EQ(answer.status, 0) << answer.errors;
  }
  expect_in(slurm_worker(settings, launch()), {"'/scratch/me/it'\\''s here/linac' train job.yaml"});
}

TEST(SlurmScript, PutsAContainerAroundTheProgram) {
  SlurmSettings settings = farm();
  settings.container = "/scratch/images/linac.sif";
  expect_in(slurm_worker(settings, launch()), {"apptainer exec --bind /scratch/me /scratch/images/linac.sif "});
}

}  // namespace
}  // namespace linac::sites
