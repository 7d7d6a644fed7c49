#pragma once
// For tests only: a run's folder, written line by line.

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/temporary_folder.h"
#include "linac/physics/report/run/report.h"

namespace linac::report {

using Json = nlohmann::ordered_json;

struct TestRun {
  TemporaryFolder root;
  void add(const std::string& name, const std::string& text) { std::ofstream(root / name, std::ios::app) << text; }
  void line(const Json& json) { add("metrics.jsonl", json.dump() + "\n"); }

  void steps(int first, int last) {
    for (int step = first; step <= last; ++step) line({{"kind", "step"}, {"global_step", step}, {"epoch", 0}});
  }
  void view(double time, int number, int step, double seconds, const std::vector<Json>& members,
            const std::string& why = "") {
    line({{"kind", "view"},
          {"time", time},
          {"view", number},
          {"global_step", step},
          {"seconds", seconds},
          {"why", why},
          {"members", members}});
  }
  void workers(double time, int step, const std::vector<Json>& accounts) {
    line({{"kind", "workers"}, {"time", time}, {"global_step", step}, {"workers", accounts}});
  }
  void end(double time, int step, const std::string& status, const std::vector<Json>& accounts) {
    line({{"kind", "end"}, {"time", time}, {"global_step", step}, {"status", status}, {"workers", accounts}});
  }
  void job() { add("job.yaml", "train: {batch: 10, replicas: 4}\n"); }

  RunReport report(const std::optional<HostPrices>& prices = {}) const {
    return make_run_report(job::read_run_record(root.path()), prices);
  }
};

inline Json member(const std::string& host, int pid, int replicas) {
  return {{"rank", 0}, {"host", host}, {"pid", pid}, {"replicas", replicas}};
}

inline Json account(const std::string& host, int pid, const Json& phases, double pace_s = 0, int sent = 0,
                    double exchange = 0) {
  Json json{{"host", host},       {"pid", pid},         {"pace_s", pace_s},       {"cpu_s", 1},
            {"sent_bytes", sent}, {"sent_messages", 1}, {"exchange_s", exchange}, {"phases", Json::object()}};
  for (const auto& [phase, seconds] : phases.items()) json["phases"][phase] = {{"wall_s", seconds}, {"cpu_s", 0}};
  return json;
}

// Worker 2 is lost after 20 s and step 20, worker 3 joins after 30 s and step 30 and is slow; the end is after 50 s.
inline void write_changing(TestRun& run) {
  run.job();
  run.add("log.txt", "W [rank 0] [comm] lost rank 1 (n<2>, process 2): its process has ended\n");
  run.view(1000, 1, 0, 0, {member("n1", 1, 2), member("n<2>", 2, 2)});
  run.workers(1010, 10,
              {account("n1", 1, {{"compute", 6}, {"communication", 2}}, 0.1, 1000, 4),
               account("n<2>", 2, {{"compute", 4}, {"communication", 2}}, 0.1, 1000, 4)});
  run.steps(1, 20);
  run.view(1021, 2, 20, 1, {member("n1", 1, 4)}, "[comm] peer failed");
  run.steps(21, 30);
  run.view(1030.5, 3, 30, 0.5, {member("n1", 1, 2), member("n3", 3, 2)}, "the next view is due");
  run.workers(1040, 40,
              {account("n1", 1, {{"compute", 20}, {"communication", 5}}, 0.1, 4000, 15),
               account("n3", 3, {{"compute", 6}, {"communication", 1}}, 0.3, 1000, 2)});
  run.steps(31, 50);
  run.line({{"kind", "epoch"}, {"epoch", 0}, {"global_step", 50}, {"showers_per_s", 3.0}});
  run.end(1050, 50, "succeeded",
          {account("n1", 1, {{"compute", 25}, {"test", 5}, {"communication", 10}}, 0, 5000, 20),
           account("n3", 3, {{"compute", 12}, {"communication", 2}}, 0, 2000, 4)});
}

}  // namespace linac::report
