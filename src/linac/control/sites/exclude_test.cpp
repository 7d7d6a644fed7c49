#include "linac/control/sites/exclude.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/record.h"
#include "linac/control/sites/shell.h"
#include "linac/control/sites/sites_file.h"
#include "linac/control/sites/slurm_script.h"

#include <nlohmann/json.hpp>

namespace linac::sites {
namespace {

using Names = std::vector<std::string>;

std::unique_ptr<Site> site(const std::string& entry) {
  return std::move(parse_sites("there: {folder: /a, " + entry + "}", "s.yaml")[0]);
}

Launch launch(int workers, Names exclude = {}) {
  Launch launch{.label = "demo-1", .job = "name: demo\n", .workers = workers, .out = "/a/demo-1", .key = "k"};
  launch.exclude = std::move(exclude);
  return launch;
}

std::string planned(const Site& site, const Launch& launch) {
  std::string text;
  for (const PlannedStep& step : site.plan(launch)) text += step.title + "\n" + step.text + "\n";
  return text;
}

TEST(Exclude, NamesOfAHost) {
  EXPECT_TRUE(same_host("n04", "n04"));
  EXPECT_TRUE(same_host("n04", "me@n04.example.org"));
  EXPECT_TRUE(same_host("n04.example.org", "n04"));
  EXPECT_FALSE(same_host("n04", "n040"));
  EXPECT_FALSE(same_host("n04.a.org", "n04.b.org"));
  EXPECT_EQ(hosts_in_words("n04,n05.a.org,n04", "x"), (Names{"n04", "n05.a.org"}));
  for (const char* const text : {"n04,", "n04 n05", "-n", "$(id)", ","})
    expect_in(message_of([&] { hosts_in_words(text, "[launch] --exclude"); }), {"[launch] --exclude", "n04,n05"});
  expect_in(message_of([] { site("kind: local, exclude: ['a b']"); }), {"there.exclude", "'a b'"});
}

// As sh has it, too.
TEST(Exclude, TheShellMeansTheSame) {
  const auto said = [](const Names& excluded, const std::string& hosts) {
    return Shell()
        .need("", is_excluded_function(excluded) + "if is_excluded " + hosts + "; then echo 'linac: it yes'; fi\n")
        .last("it");
  };
  EXPECT_EQ(said({"n04"}, "n03 n04.example.org"), "yes");
  EXPECT_EQ(said({"n05", "n04.example.org"}, "n04"), "yes");
  EXPECT_EQ(said({"n04", "n04.b.org"}, "n040 n04x n03 '*'"), "");
  EXPECT_EQ(said({"n04.a.org"}, "n04.b.org"), "");
}

TEST(Exclude, HostsOfSshAreLeftOut) {
  const auto pair = site("kind: ssh, hosts: [n01, me@n02, n03.a.org], workers_per_host: 2, exclude: [n03]");
  EXPECT_EQ(pair->left_out(launch(4)), Names{"n03.a.org"});
  EXPECT_EQ(chosen_hosts(*pair, launch(4, {"n01"})), Names{"me@n02"});
  const std::string text = planned(*pair, launch(2, {"n01"}));
  EXPECT_EQ(text.find("n01.sh"), std::string::npos);
  expect_in(text, {"MASTER_ADDR=n02", "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1"});
  expect_in(message_of([&] { pair->plan(launch(4, {"n01"})); }), {"4 workers for 1 with 2 each", "excluded"});
  expect_in(message_of([&] {
              pair->plan(launch(1, {"n01", "n02"}));
            }),
            {"there.hosts: none is left", "linac hosts list", "`exclude`"});
}

TEST(Exclude, TheAddressOfTheFirstHostIsThatOfNoOther) {
  const auto pair = site("kind: ssh, hosts: [n01, n02, n03], address: ib-1");
  expect_in(planned(*pair, launch(2)), {"MASTER_ADDR=ib-1"});
  expect_in(planned(*pair, launch(2, {"n01"})), {"MASTER_ADDR=n02"});
}

TEST(Exclude, MpirunIsToldTheOthers) {
  const auto hosts = site("kind: mpi, hosts: [n01, n02, n03]");
  const std::string text = planned(*hosts, launch(2, {"n02"}));
  expect_in(text, {"n01:1,n03:1"});
  EXPECT_EQ(text.find("n02"), std::string::npos);
  expect_in(message_of([&] { hosts->plan(launch(3, {"n02"})); }), {"3 workers for 2 with 1 slots", "excluded"});
  const auto of_file = site("kind: mpi, hostfile: /a/hosts");
  EXPECT_EQ(planned(*of_file, launch(2)).find("is_excluded"), std::string::npos);
  expect_in(planned(*of_file, launch(2, {"n02"})), {"/a/hosts hostname", "is_excluded", "[ -z \"$refused\" ]"});
}

TEST(Exclude, AGridIsToldNone) {
  const std::string grid = "grid: {kind: panda, prefix: user.me, container: c";
  EXPECT_FALSE(parse_sites(grid + "}", "s.yaml")[0]->facts().excludes);
  expect_in(message_of([&] { parse_sites(grid + ", exclude: [n01]}", "s.yaml"); }), {"unknown key", "grid.exclude"});
}

TEST(Exclude, IsKeptWithALaunch) {
  KeptLaunch kept;
  kept.launch = launch(1, {"n04"});
  kept.record.label = "demo-1";
  EXPECT_EQ(kept_from_json(to_json(kept)).launch.exclude, Names{"n04"});
  nlohmann::json former = to_json(kept);
  former.erase("exclude");
  EXPECT_TRUE(kept_from_json(former).launch.exclude.empty());
}

// With a sinfo of the test's: nodes with names of their own, in two partitions.
TEST(Exclude, NodesOfSlurm) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "sinfo",
                        "#!/bin/sh\necho \"$@\" >" + (folder / "asked").string() +
                            "\nprintf '%s\\n' 'n1 host1' 'n2 host2.example.org' 'n2 host2.example.org' 'n3 host3'\n");
  std::filesystem::permissions(folder / "sinfo", std::filesystem::perms::owner_all);
  SlurmSettings settings;
  settings.partition = "main";
  const auto set = [&](const Names& hosts) {
    return Shell()
        .need("refused", "PATH=" + folder.path().string() + ":$PATH\n" + exclude_script(settings, hosts) +
                             "echo \"linac: exclude $exclude\"\n")
        .last("exclude");
  };
  EXPECT_EQ(set({"host2"}), "n2");
  EXPECT_EQ(set({"n3", "elsewhere", "host1"}), "n1,n3");
  EXPECT_EQ(set({"elsewhere"}), "") << "sbatch would refuse it";
  expect_in(read_file(folder / "asked"), {"-p main"});
  settings.sbatch = {"--exclusive", "--exclude=n[7-9]"};
  EXPECT_EQ(set({"host2"}), "n2,n[7-9]");
  EXPECT_EQ(set({"elsewhere"}), "") << "the script's own option stands";
  expect_in(message_of(ErrorCode::kEnvironment,
                       [&] {
                         set({"n1", "n2", "n3"});
                       }),
            {"no node is left", "n1,n2,n3", "linac hosts list"});
  EXPECT_EQ(exclude_script(settings, {}), "");
  const auto farm = site("kind: slurm, exclude: [n04]");
  expect_in(planned(*farm, launch(1, {"n05"})), {"--exclude=n04,n05 /a/demo-1/launch/launch.sbatch"});
}

}  // namespace
}  // namespace linac::sites
