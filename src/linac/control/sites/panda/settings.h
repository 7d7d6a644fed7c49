#pragma once
// What a site of the kind panda needs to be told. A value.

#include <map>
#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

struct PandaSettings : CommonSettings {
  std::string server, monitor = "https://bigpanda.cern.ch";
  std::string prefix, vo = "atlas", working_group;
  std::string container, archive, architecture;
  std::vector<std::string> sites, excluded_sites, secrets;
  int cpus = 8, files = 200, attempts = 3;
  std::string memory, time;
  std::string agents, idle = "10m";
  std::map<std::string, std::string> task;

  // Not all that other kinds have: a job of a grid has no folder that stays.
  template <class V>
  void fields(V& v) {
    v("kind", kind, "panda");
    v("server", server, "https://HOST:PORT of the PanDA server; empty: PANDA_URL_SSL's, as panda-client");
    v("monitor", monitor, "where people look at tasks");
    v("prefix", prefix,
      "of all names of tasks and data sets: user.NICKNAME, or group.GROUP with official: true in task");
    v("vo", vo, "the virtual organisation");
    v("working_group", working_group, "whose share it takes; empty: the user's own");
    v("sites", sites, "queues to run at, as `listAnalyPQ` names them; empty: PanDA chooses");
    v("excluded_sites", excluded_sites, "queues never to run at");
    v("container", container, "image with linac in it: docker://REGISTRY/IMAGE:TAG or a path of /cvmfs");
    v("archive", archive, "in place of container: rucio://SCOPE:NAME of what `make dist` has made");
    v("program", program, "path of linac in the container, or its name where PATH has it");
    v("architecture", architecture, "of the nodes, as prun's --architecture: '&nvidia' for a GPU");
    v("cpus", cpus, "cores of a job; all workers of a launch are in one job, on one node");
    v("memory", memory, "of a job, e.g. 16G; empty: as the queue gives it");
    v("time", time, "limit of each start, e.g. 12h: then a checkpoint is written; empty: the queue's");
    v("files", files, "the most files of a job's data sets; one that has so many or more is refused");
    v("plan", plan, "");
    v("attempts", attempts, "so often PanDA starts a job that fails, 50 at most");
    v("out", out, "where runs are kept: s3://BUCKET/FOLDER; empty: in a data set, once a job has succeeded");
    v("environment", environment, "variables of the workers; no secrets: everybody can read tasks");
    v("secrets", secrets, "variables of the workers that PanDA keeps for you under that name (`pbook set_secret`)");
    v("setup", setup, "lines of shell before the workers start");
    v("agents", agents, "address of a linac service: jobs are agents that take its work (`linac agents start`)");
    v("idle", idle, "an agent for which there is no work ends after so long");
    v("task", task, "further parameters of the task, values in JSON: {noEmail: true, currentPriority: 900}");
  }
};

/// User error "[sites] FILE: NAME.field ..." for what cannot be.
void check_panda(PandaSettings& settings, const std::string& place);

}  // namespace linac::sites
