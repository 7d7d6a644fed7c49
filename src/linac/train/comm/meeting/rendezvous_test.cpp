#include "linac/train/comm/meeting/rendezvous.h"

#include <gtest/gtest.h>

#include <map>

#include "linac/base/base/error.h"

namespace linac::comm {
namespace {

using Variables = std::map<std::string, std::string>;

Rendezvous read(const Variables& variables) {
  return rendezvous_from_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

// The message of the user error that reading must end in.
std::string refusal(const Variables& variables) {
  try {
    read(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

void expect_names(const std::string& message, const std::string& variable) {
  EXPECT_NE(message.find(variable), std::string::npos) << message;
}

const Variables kTorchrun = {
    {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node01"}, {"MASTER_PORT", "29500"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(Rendezvous, AnEmptyEnvironmentIsALoneProcess) {
  const auto meet = read({});
  EXPECT_EQ(meet.rank, 0);
  EXPECT_EQ(meet.world_size, 1);
  EXPECT_EQ(meet.local_rank, 0);
  EXPECT_EQ(meet.source, "a lone process");
}

TEST(Rendezvous, Torchrun) {
  const auto meet = read(kTorchrun);
  EXPECT_EQ(meet.rank, 3);
  EXPECT_EQ(meet.world_size, 4);
  EXPECT_EQ(meet.local_rank, 1);
  EXPECT_EQ(meet.master_addr, "node01");
  EXPECT_EQ(meet.master_port, 29500);
  EXPECT_FALSE(meet.agent_store);
  EXPECT_EQ(meet.attempt, 0);
  EXPECT_EQ(meet.source, "torchrun");

  auto agent = with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True");
  agent["TORCHELASTIC_RESTART_COUNT"] = "2";
  agent["GLOO_SOCKET_IFNAME"] = "ib0";
  EXPECT_TRUE(read(agent).agent_store);
  EXPECT_EQ(read(agent).attempt, 2);
  EXPECT_EQ(read(agent).interface, "ib0");
  EXPECT_FALSE(read(with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "False")).agent_store);
}

TEST(Rendezvous, ASingleTorchrunWorkerNeedsNoMaster) {
  const auto meet = read({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_EQ(meet.world_size, 1);
  EXPECT_EQ(meet.source, "torchrun");
}

TEST(Rendezvous, TorchrunMistakesNameTheVariable) {
  for (const char* const name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    expect_names(refusal(without(kTorchrun, name)), name);
  }
  for (const char* const value : {"4", "-1", "x", "1 ", "+1", "99999999999999999999"}) {
    expect_names(refusal(with(kTorchrun, "RANK", value)), "RANK");
  }
  for (const char* const value : {"0", "3", "4097", "two"}) {
    expect_names(refusal(with(kTorchrun, "WORLD_SIZE", value)), "WORLD_SIZE");
  }
  for (const char* const value : {"0", "65536", "http"}) {
    expect_names(refusal(with(kTorchrun, "MASTER_PORT", value)), "MASTER_PORT");
  }
  expect_names(refusal(with(kTorchrun, "LOCAL_RANK", "4")), "LOCAL_RANK");
  expect_names(refusal(with(kTorchrun, "LOCAL_RANK", "-1")), "LOCAL_RANK");
}

TEST(Rendezvous, OpenMpiOnOneMachine) {
  const Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"PMIX_NAMESPACE", "prterun-host-77@1"}};
  const auto meet = read(variables);
  EXPECT_EQ(meet.rank, 1);
  EXPECT_EQ(meet.world_size, 2);
  EXPECT_EQ(meet.local_rank, 1);
  EXPECT_EQ(meet.master_addr, "127.0.0.1");
  EXPECT_GE(meet.master_port, 10000);
  EXPECT_LT(meet.master_port, 30000);
  EXPECT_EQ(meet.source, "OpenMPI");
  EXPECT_EQ(read(with(variables, "OMPI_COMM_WORLD_RANK", "1")).master_port, meet.master_port);
  EXPECT_NE(read(with(variables, "PMIX_NAMESPACE", "prterun-host-78@1")).master_port, meet.master_port);
}

TEST(Rendezvous, OpenMpiOnSeveralMachinesNeedsTheMaster) {
  const Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  expect_names(refusal(variables), "MASTER_ADDR");
  auto complete = with(variables, "MASTER_ADDR", "node7");
  complete["MASTER_PORT"] = "12345";
  EXPECT_EQ(read(complete).master_addr, "node7");
  EXPECT_EQ(read(complete).master_port, 12345);
  expect_names(refusal(with(complete, "OMPI_COMM_WORLD_RANK", "4")), "OMPI_COMM_WORLD_RANK");
  expect_names(refusal(without(complete, "OMPI_COMM_WORLD_SIZE")), "OMPI_COMM_WORLD_SIZE");
}

TEST(Rendezvous, HydraOfMpichAndIntel) {
  const Variables variables = {{"PMI_RANK", "2"},        {"PMI_SIZE", "4"},        {"MPI_LOCALRANKID", "0"},
                               {"MPI_LOCALNRANKS", "2"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "12345"}};
  const auto meet = read(variables);
  EXPECT_EQ(meet.rank, 2);
  EXPECT_EQ(meet.world_size, 4);
  EXPECT_EQ(meet.local_rank, 0);
  EXPECT_EQ(meet.local_world_size, 2);
  EXPECT_EQ(meet.master_addr, "node7");
  EXPECT_EQ(meet.master_port, 12345);
  EXPECT_EQ(meet.source, "Hydra");
  expect_names(refusal(without(variables, "MASTER_ADDR")), "MASTER_ADDR");
  expect_names(refusal(without(variables, "MASTER_PORT")), "MASTER_PORT");
  expect_names(refusal(with(variables, "PMI_RANK", "4")), "PMI_RANK");
  EXPECT_EQ(read(without(with(variables, "MPI_LOCALNRANKS", "4"), "MASTER_ADDR")).master_addr, "127.0.0.1");
}

const Variables kSlurm = {{"SLURM_PROCID", "2"},      {"SLURM_NTASKS", "4"},
                          {"SLURM_LOCALID", "0"},     {"SLURM_JOB_NODELIST", "node[03-07,9]"},
                          {"SLURM_JOB_ID", "123456"}, {"SLURM_STEP_ID", "0"}};

TEST(Rendezvous, SlurmWithItsOwnPmi) {
  EXPECT_EQ(read(with(with(kSlurm, "PMI_RANK", "2"), "PMI_SIZE", "4")).source, "Slurm");
}

TEST(Rendezvous, Slurm) {
  const auto meet = read(kSlurm);
  EXPECT_EQ(meet.rank, 2);
  EXPECT_EQ(meet.world_size, 4);
  EXPECT_EQ(meet.local_rank, 0);
  EXPECT_EQ(meet.master_addr, "node03");
  EXPECT_EQ(meet.master_port, 10000 + 123456 % 20000);
  EXPECT_EQ(meet.source, "Slurm");

  EXPECT_EQ(read(with(kSlurm, "SLURM_STEP_NODELIST", "node[05-06]")).master_addr, "node05");
  EXPECT_EQ(read(with(kSlurm, "SLURM_STEP_NUM_TASKS", "3")).world_size, 3);
  EXPECT_NE(read(with(kSlurm, "SLURM_STEP_ID", "1")).master_port, meet.master_port);
  EXPECT_EQ(read(with(kSlurm, "MASTER_ADDR", "login1")).master_addr, "login1");
  EXPECT_EQ(read(with(kSlurm, "MASTER_PORT", "4444")).master_port, 4444);
}

TEST(Rendezvous, ABatchScriptOfSlurmIsNoTask) {
  const auto meet = read(without(with(kSlurm, "SLURM_PROCID", "0"), "SLURM_STEP_ID"));
  EXPECT_EQ(meet.world_size, 1);
  EXPECT_EQ(meet.tasks_of_script, 4);
  EXPECT_EQ(
      read(without(with(with(kSlurm, "SLURM_PROCID", "0"), "SLURM_NTASKS", "1"), "SLURM_STEP_ID")).tasks_of_script, 0);
  EXPECT_EQ(read(kSlurm).tasks_of_script, 0);
}

TEST(Rendezvous, SlurmMistakesNameTheVariable) {
  expect_names(refusal(without(kSlurm, "SLURM_NTASKS")), "SLURM_NTASKS");
  expect_names(refusal(without(kSlurm, "SLURM_JOB_ID")), "SLURM_JOB_ID");
  expect_names(refusal(without(kSlurm, "SLURM_JOB_NODELIST")), "SLURM_JOB_NODELIST");
  expect_names(refusal(with(kSlurm, "SLURM_PROCID", "4")), "SLURM_PROCID");
  expect_names(refusal(with(kSlurm, "SLURM_LOCALID", "3")), "SLURM_LOCALID");
  expect_names(refusal(with(kSlurm, "SLURM_JOB_NODELIST", "node[")), "SLURM_JOB_NODELIST");
}

TEST(Rendezvous, FirstHostOfANodeList) {
  EXPECT_EQ(first_host("node[03-07,9]"), "node03");
  EXPECT_EQ(first_host("a1,b2"), "a1");
  EXPECT_EQ(first_host("lonely"), "lonely");
  EXPECT_EQ(first_host("gpu[8,11-12].cluster.org,x"), "gpu8.cluster.org");
  EXPECT_EQ(first_host("rack[1-2]n[04-09]"), "rack1n04");
  for (const char* const bad : {"", ",a", "node[", "node]", "node[]", "node[-3]", "node[[1]]"}) {
    EXPECT_THROW(first_host(bad), Error) << bad;
  }
}

TEST(Rendezvous, TheMoreExplicitSourceWins) {
  auto all = kTorchrun;
  all.insert(kSlurm.begin(), kSlurm.end());
  all["OMPI_COMM_WORLD_RANK"] = "0";
  all["OMPI_COMM_WORLD_SIZE"] = "1";
  all["TF_CONFIG"] = R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})";
  EXPECT_EQ(read(all).source, "torchrun");
  all.erase("RANK");
  all.erase("WORLD_SIZE");
  EXPECT_EQ(read(all).source, "TF_CONFIG");
  all.erase("TF_CONFIG");
  EXPECT_EQ(read(all).source, "OpenMPI");
  all.erase("OMPI_COMM_WORLD_RANK");
  all.erase("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(read(all).source, "Slurm");
}

// Other machines' workers must not divide this one's cores, whoever started them.
TEST(Rendezvous, CountsTheWorkersOfThisMachine) {
  EXPECT_EQ(read(with(kTorchrun, "LOCAL_WORLD_SIZE", "2")).local_world_size, 2);
  EXPECT_EQ(read(kTorchrun).local_world_size, 2) << "LOCAL_RANK=1 is certain";
  EXPECT_EQ(read(with(kTorchrun, "MASTER_ADDR", "127.0.0.1")).local_world_size, 4);
  expect_names(refusal(with(kTorchrun, "LOCAL_WORLD_SIZE", "0")), "LOCAL_WORLD_SIZE");
  EXPECT_EQ(read({}).local_world_size, 1);
  EXPECT_EQ(read({{"LOCAL_WORLD_SIZE", "3"}}).local_world_size, 3) << "beside others that it does not meet";

  EXPECT_EQ(read(kSlurm).local_world_size, 1) << "four tasks, nothing else known";
  EXPECT_EQ(read(with(kSlurm, "SLURM_LOCALID", "1")).local_world_size, 2);
  EXPECT_EQ(read(with(kSlurm, "SLURM_NTASKS_PER_NODE", "2")).local_world_size, 2);
  Variables uneven = with(kSlurm, "SLURM_STEP_TASKS_PER_NODE", "1(x2),2");
  EXPECT_EQ(read(uneven).local_world_size, 1);
  EXPECT_EQ(read(with(uneven, "SLURM_NODEID", "2")).local_world_size, 2);
  EXPECT_EQ(read(with(uneven, "SLURM_TASKS_PER_NODE", "4")).local_world_size, 1) << "the step's list comes first";
  EXPECT_EQ(read(with(kSlurm, "SLURM_TASKS_PER_NODE", "never seen")).local_world_size, 1);
  EXPECT_EQ(read(with(uneven, "LOCAL_WORLD_SIZE", "4")).local_world_size, 4);

  const Variables mpi = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"MASTER_ADDR", "n"}};
  EXPECT_EQ(read(mpi).local_world_size, 1);
  EXPECT_EQ(read(with(mpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "2")).local_world_size, 2);
}

TEST(Rendezvous, EachWorkerHasItsShareOfTheCores) {
  const Cores host{.allowed = 64, .together = 64};
  Variables slurm = kSlurm;
  slurm["SLURM_NTASKS"] = "128";
  slurm["SLURM_TASKS_PER_NODE"] = "1(x128)";
  EXPECT_EQ(cores_of_worker(read(slurm), host), 64) << "128 nodes, one task on each";
  EXPECT_EQ(cores_of_worker(read(with(slurm, "SLURM_CPUS_PER_TASK", "16")), host), 16);
  slurm["SLURM_TASKS_PER_NODE"] = "4(x32)";
  EXPECT_EQ(cores_of_worker(read(slurm), host), 16);
  EXPECT_EQ(cores_of_worker(read(slurm), {.allowed = 16, .together = 64}), 16) << "bound to its share already";
  EXPECT_EQ(cores_of_worker(read(with(slurm, "SLURM_CPUS_PER_TASK", "99")), host), 16);
  EXPECT_EQ(cores_of_worker(read(with(kTorchrun, "LOCAL_WORLD_SIZE", "4")), {.allowed = 16, .together = 64}), 4);
  EXPECT_EQ(cores_of_worker(read({}), host), 64);
}

TEST(Rendezvous, AnAdvertisedHostAndAFixedRangeOfPorts) {
  EXPECT_EQ(read({}).ports.last, 0);
  const auto meet = read({{"LINAC_ADVERTISE", "n04"}, {"LINAC_PORTS", "40000-40100"}});
  EXPECT_EQ(meet.advertise, "n04");
  EXPECT_EQ(meet.ports.first, 40000);
  EXPECT_EQ(meet.ports.last, 40100);
  EXPECT_EQ(read({{"LINAC_PORTS", "41000"}}).ports.last, 41000);
  for (const char* const bad : {"x", "0", "-", "2-1", "5-", "-5", "1-65536", "1-2-3", "40000:40100", "99999999999"})
    expect_names(refusal({{"LINAC_PORTS", bad}}), "LINAC_PORTS");
}

TEST(Rendezvous, ANewcomersLocalRankNeedsNoRank) {
  const auto with_value = [](const char* value) {
    return [value](const std::string& name) {
      return name == "LOCAL_RANK" ? std::optional<std::string>(value) : std::nullopt;
    };
  };
  EXPECT_EQ(local_rank_of_newcomer({}, with_value("2")), 2);
  EXPECT_EQ(local_rank_of_newcomer({.local_rank = 3}, with_value("")), 3) << "as Slurm says";
  EXPECT_THROW(local_rank_of_newcomer({}, with_value("two")), Error);
}

TEST(Rendezvous, EmulatedDevicesAreANumber) {
  const auto with_value = [](const char* value) {
    return [value](const std::string& name) {
      return name == "LINAC_EMULATED_DEVICES" ? std::optional<std::string>(value) : std::nullopt;
    };
  };
  EXPECT_EQ(emulated_devices(with_value("")), 0);
  EXPECT_EQ(emulated_devices(with_value("3")), 3);
  for (const char* bad : {"-1", "65", "two"}) EXPECT_THROW(emulated_devices(with_value(bad)), Error) << bad;
}

TEST(Rendezvous, ReadsSlurmsTasksPerNode) {
  EXPECT_EQ(tasks_of_node("2(x3),1", 0), 2);
  EXPECT_EQ(tasks_of_node("2(x3),1", 2), 2);
  EXPECT_EQ(tasks_of_node("2(x3),1", 3), 1);
  EXPECT_EQ(tasks_of_node("2(x3),1", 4), std::nullopt);
  EXPECT_EQ(tasks_of_node("1(x2147483647),7", 2147483646), 1);
  for (const char* const bad :
       {"", ",", "x", "2(", "2(x", "2(x3", "2(x0)", "2(x3),", "0", "-1", "2 (x3)", "99999999999", "2(x3)1"}) {
    EXPECT_EQ(tasks_of_node(bad, 3), std::nullopt) << bad;
  }
}

Rendezvous read_tf(const std::string& json) {
  return read({{"TF_CONFIG", json}});
}

TEST(RendezvousInGroups, RanksFollowTheOrderOfTheGroups) {
  Variables worker = kTorchrun;
  worker.insert({{"LINAC_GROUPS", "a:2,farm:4,cloud:3"}, {"LINAC_GROUP", "farm"}, {"LINAC_RELAY", "relay:4711"}});
  const Rendezvous meet = read(worker);
  EXPECT_EQ(meet.rank, 5);
  EXPECT_EQ(meet.world_size, 9);
  EXPECT_EQ(meet.local_rank, 1);
  EXPECT_EQ(meet.master_addr, "node01") << "where its own group is";
  EXPECT_EQ(meet.group, "farm");
  EXPECT_EQ(meet.relay, "relay:4711");
  EXPECT_EQ(meet.patience_s, 0);
  worker["LINAC_MEET_TIMEOUT"] = "43200";
  EXPECT_EQ(read(worker).patience_s, 43200);
  worker["LINAC_MEET_TIMEOUT"] = "0";
  expect_names(refusal(worker), "LINAC_MEET_TIMEOUT");
}

TEST(RendezvousInGroups, ShowThePassThatARelayWants) {
  Variables worker = kTorchrun;
  worker.insert({{"LINAC_GROUPS", "a:2,farm:4,cloud:3"}, {"LINAC_GROUP", "farm"}, {"LINAC_RELAY", "relay:4711"}});
  EXPECT_EQ(read(worker).relay_pass, "");
  worker["LINAC_RELAY_PASS"] = std::string(64, 'a') + ":" + std::string(128, '0');
  EXPECT_EQ(read(worker).relay_pass, worker["LINAC_RELAY_PASS"]);
  worker["LINAC_RELAY_PASS"].pop_back();
  expect_names(refusal(worker), "LINAC_RELAY_PASS");
}

TEST(RendezvousInGroups, ALoneProcessIsAGroupOrStartsOne) {
  Variables lone{{"LINAC_GROUPS", "farm:4,desk:1"}, {"LINAC_GROUP", "desk"}, {"LINAC_RELAY", "relay:4711"}};
  EXPECT_EQ(read(lone).rank, 4);
  EXPECT_EQ(read(lone).world_size, 5);
  lone["LINAC_GROUP"] = "farm";
  EXPECT_EQ(read(lone).world_size, 1) << "it starts four workers, who are told the same";
}

TEST(RendezvousInGroups, MistakesNameTheVariable) {
  const auto with = [](const char* groups, const char* group, const char* relay = "relay:4711") {
    Variables worker = kTorchrun;
    worker.insert({{"LINAC_GROUPS", groups}, {"LINAC_GROUP", group}, {"LINAC_RELAY", relay}});
    return refusal(worker);
  };
  for (const char* const text : {"farm", "farm:", "farm:0", "farm:4,", ":4", "farm:4097", "farm:4 b:2"})
    expect_names(with(text, "farm"), "LINAC_GROUPS");
  expect_names(with("a/b:4", "a/b"), "LINAC_GROUP");
  expect_names(with("farm:4,cloud:2", "desk"), "LINAC_GROUP");
  expect_names(with("farm:4,cloud:2", ""), "LINAC_GROUP");
  expect_names(with("farm:4,farm:2", "farm"), "twice");
  expect_names(with("farm:3,cloud:2", "farm"), "farm");
  expect_names(with("farm:4,cloud:2", "farm", ""), "LINAC_RELAY");
}

TEST(TfConfig, WorkersOnly) {
  const auto meet = read_tf(R"({"cluster": {"worker": ["h0:2222", "h1:2223", "h0:2224"]},
                                "task": {"type": "worker", "index": 2}})");
  EXPECT_EQ(meet.rank, 2);
  EXPECT_EQ(meet.world_size, 3);
  EXPECT_EQ(meet.local_rank, 1);
  EXPECT_EQ(meet.local_world_size, 2);
  EXPECT_EQ(meet.master_addr, "h0");
  EXPECT_EQ(meet.master_port, 2222);
  EXPECT_FALSE(meet.agent_store);
}

TEST(TfConfig, TheChiefIsRankZeroAndServersAreIgnored) {
  const char* const cluster = R"({"cluster": {"worker": ["w0:1", "w1:2"], "chief": ["c:3"], "ps": ["p:4"]}, "task": )";
  EXPECT_EQ(read_tf(cluster + std::string(R"({"type": "chief", "index": 0}})")).rank, 0);
  const auto worker = read_tf(cluster + std::string(R"({"type": "worker", "index": "1"}})"));
  EXPECT_EQ(worker.rank, 2);
  EXPECT_EQ(worker.world_size, 3);
  EXPECT_EQ(worker.master_addr, "c");
  EXPECT_EQ(worker.master_port, 3);
  expect_names(refusal({{"TF_CONFIG", cluster + std::string(R"({"type": "ps", "index": 0}})")}}), "TF_CONFIG");
}

TEST(TfConfig, NoClusterIsALoneProcess) {
  EXPECT_EQ(read_tf("{}").world_size, 1);
  EXPECT_EQ(read_tf(R"({"cluster": {}, "task": {"type": "worker", "index": 0}})").world_size, 1);
}

TEST(TfConfig, MistakesNameIt) {
  for (const char* const bad : {
           "",
           "[]",
           "{",
           "null",
           R"({"cluster": 3})",
           R"({"cluster": {"worker": ["a:1"]}})",
           R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})",
           R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}})",
           R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}})",
           R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1e30}})",
           R"({"cluster": {"worker": ["a:1"]}, "task": {"type": 7, "index": 0}})",
           R"({"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}})",
           R"({"cluster": {"worker": [":1"]}, "task": {"type": "worker", "index": 0}})",
           R"({"cluster": {"worker": ["a:70000"]}, "task": {"type": "worker", "index": 0}})",
           R"({"cluster": {"worker": [1]}, "task": {"type": "worker", "index": 0}})",
           R"({"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}})",
           R"({"cluster": {"chief": ["a:1"]}, "task": {"type": "worker", "index": 0}})",
       }) {
    if (*bad == '\0') continue;  // empty counts as unset
    expect_names(refusal({{"TF_CONFIG", bad}}), "TF_CONFIG");
  }
}

}  // namespace
}  // namespace linac::comm
