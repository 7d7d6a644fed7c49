#include "linac/control/sites/sites_file.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"
#include "linac/control/sites/label.h"

namespace linac::sites {
namespace {

const std::string kFarm = "farm:\n  kind: slurm\n  folder: /shared/me\n";

std::string refusal(const std::string& text) {
  return message_of([&] { parse_sites(text, "sites.yaml"); });
}

TEST(SitesFile, HasSitesOfAllKinds) {
  const auto sites = parse_sites(kFarm +
                                     "here: {kind: local, folder: /tmp/a}\n"
                                     "pair: {kind: ssh, folder: /tmp/a, hosts: [n01, me@n02], workers_per_host: 2}\n",
                                 "sites.yaml");
  ASSERT_EQ(sites.size(), 3);
  EXPECT_EQ(sites[0]->name(), "farm");
  EXPECT_EQ(sites[2]->facts().workers, 4);
  EXPECT_TRUE(parse_sites("", "sites.yaml").empty());
}

TEST(SitesFile, NamesFileFieldAndWayOut) {
  expect_in(refusal("farm: {kind: slrm, folder: /a}"), {"sites.yaml:1", "farm", "did you mean slurm?"});
  expect_in(refusal("\nfarm: {folder: /a}"), {"sites.yaml:2", "farm has no kind", "local | ssh | slurm"});
  expect_in(refusal(kFarm + "  partitoin: gpu\n"),
            {"sites.yaml:4", "farm.partitoin", "did you mean 'farm.partition'?"});
  expect_in(refusal("farm: {kind: slurm, folder: runs}"), {"farm.folder", "from / on"});
  expect_in(refusal("farm: {kind: slurm}"), {"farm.folder"});
  expect_in(refusal(kFarm + "  time: soon\n"), {"farm.time", "soon", "12h"});
  expect_in(refusal(kFarm + "  workers_per_node: many\n"), {"sites.yaml:4", "farm.workers_per_node", "an integer"});
  expect_in(refusal("pair: {kind: ssh, folder: /a}"), {"pair.hosts", "at least one"});
  expect_in(refusal("a b: {kind: local, folder: /a}"), {"'a b' is no name"});
  expect_in(refusal("[1, 2]"), {"no map of names"});
  expect_in(refusal("farm: {kind: ["), {"sites.yaml:1", "not YAML"});
}

TEST(SitesFile, LetsNothingThroughThatWouldBeReadAsSomethingElse) {
  for (const char* const folder : {"/a b", "/a'b", "/a\\nb", "/a%j", "/$HOME", "/a;id"})
    expect_in(refusal(std::string("x: {kind: slurm, folder: \"") + folder + "\"}"), {"x.folder"});
  expect_in(refusal(kFarm + "  partition: \"a\\n#SBATCH --wrap=id\"\n"), {"farm.partition"});
  expect_in(refusal(kFarm + "  sbatch: [\"wrap\"]\n"), {"farm.sbatch"});
  expect_in(refusal(kFarm + "  sbatch: [\"--x\\nid\"]\n"), {"farm.sbatch"});
  for (const char* const option : {"--array=1-9", "--job-name=x", "--job=x", "--wrap=id", "--wait"})
    expect_in(refusal(kFarm + "  sbatch: [" + option + "]\n"), {"farm.sbatch", "leave it out"});
  EXPECT_EQ(parse_sites(kFarm + "  sbatch: [--wait-all-nodes=1, --constraint=ib]\n", "sites.yaml").size(), 1);
  expect_in(refusal(kFarm + "  environment: {\"A;id\": b}\n"), {"farm.environment"});
  expect_in(refusal(kFarm + "  environment: {LINAC_RUN_KEY: abc}\n"),
            {"farm.environment.LINAC_RUN_KEY", "leave it out"});
  expect_in(refusal("x: {kind: ssh, folder: /a, hosts: [-oProxyCommand=id]}"), {"x.hosts"});
}

TEST(SitesFile, SamplesCanBeRead) {
  for (const Kind& kind : kinds()) {
    const auto sites = parse_sites(sample_site(kind.word), "sample");
    ASSERT_EQ(sites.size(), 1) << kind.word;
    EXPECT_EQ(sites[0]->common().kind, kind.word);
    // Filled in where they stand, settings of a map count.
    std::string text = sample_site(kind.word);
    for (const std::string line : {"  # plan:\n", "  #   hosts: 1 "}) {
      const size_t at = text.find(line);
      ASSERT_NE(at, std::string::npos) << text;
      text.erase(at + 2, 2);
    }
    text.replace(text.find("    hosts: 1 "), 12, "    hosts: 7 ");
    EXPECT_EQ(parse_sites(text, "sample")[0]->common().plan.hosts, 7) << text;
  }
  expect_in(message_of([] { sample_site("slum"); }), {"did you mean slurm?"});
}

TEST(Labels, AreWords) {
  EXPECT_TRUE(is_label("demo-20260131-140509-3fa4"));
  for (const char* const text : {"", "-a", "../a", "a/b", "a b", "a:b", "a\nb", ".a"})
    EXPECT_FALSE(is_label(text)) << text;
  EXPECT_FALSE(is_label(std::string(101, 'a')));
  EXPECT_TRUE(is_label(new_label("my run; rm -rf /")));
  EXPECT_TRUE(is_label(new_label(std::string(500, '.'))));
  EXPECT_NE(new_label("a"), new_label("a"));
}

}  // namespace
}  // namespace linac::sites
