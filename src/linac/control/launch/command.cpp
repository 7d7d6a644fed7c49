#include "linac/control/launch/command.h"

#include <nlohmann/json.hpp>

namespace linac::launch {

namespace {

nlohmann::json to_json(const View& view) {
  return {
      {"hidden", view.hidden}, {"programs", view.programs}, {"readable", view.readable}, {"writable", view.writable}};
}

nlohmann::json to_json(const GroupPlace& place) {
  return {{"unified", place.unified},
          {"freezer", place.freezer},
          {"memory", place.memory},
          {"pids", place.pids},
          {"cpu", place.cpu}};
}

GroupPlace place_from_json(const nlohmann::json& json) {
  GroupPlace place;
  json.at("unified").get_to(place.unified);
  json.at("freezer").get_to(place.freezer);
  json.at("memory").get_to(place.memory);
  json.at("pids").get_to(place.pids);
  json.at("cpu").get_to(place.cpu);
  return place;
}

View view_from_json(const nlohmann::json& json) {
  View view;
  json.at("hidden").get_to(view.hidden);
  json.at("programs").get_to(view.programs);
  json.at("readable").get_to(view.readable);
  json.at("writable").get_to(view.writable);
  return view;
}

}  // namespace

nlohmann::json to_json(const Command& command) {
  nlohmann::json json = {
      {"argv", command.argv},          {"directory", command.directory},     {"log", command.log},
      {"account", command.account},    {"environment", command.environment}, {"memory_mb", command.limits.memory_mb},
      {"cores", command.limits.cores}, {"gpus", command.limits.gpus},        {"stop_grace_s", command.stop_grace_s}};
  json["memory_together_mb"] = command.limits.memory_together_mb;
  json["processes"] = command.limits.processes;
  json["group"] = to_json(command.group);
  if (command.view) json["view"] = to_json(*command.view);
  return json;
}

Command command_from_json(const nlohmann::json& json) {
  Command command;
  json.at("argv").get_to(command.argv);
  json.at("directory").get_to(command.directory);
  json.at("log").get_to(command.log);
  json.at("account").get_to(command.account);
  json.at("environment").get_to(command.environment);
  json.at("memory_mb").get_to(command.limits.memory_mb);
  json.at("cores").get_to(command.limits.cores);
  json.at("gpus").get_to(command.limits.gpus);
  json.at("stop_grace_s").get_to(command.stop_grace_s);
  // What an earlier version began has none of these.
  command.limits.memory_together_mb = json.value("memory_together_mb", int64_t{0});
  command.limits.processes = json.value("processes", int64_t{0});
  if (const auto group = json.find("group"); group != json.end()) command.group = place_from_json(*group);
  if (const auto view = json.find("view"); view != json.end()) command.view = view_from_json(*view);
  return command;
}

nlohmann::json to_json(const Exit& exit) {
  return {{"status", exit.status},     {"signal", exit.signal},   {"stopped", exit.stopped},
          {"seconds", exit.seconds},   {"cpu_s", exit.cpu_s},     {"memory_peak_bytes", exit.memory_peak_bytes},
          {"ended_ms", exit.ended_ms}, {"problem", exit.problem}, {"out_of_memory_mb", exit.out_of_memory_mb}};
}

Exit exit_from_json(const nlohmann::json& json) {
  Exit exit;
  json.at("status").get_to(exit.status);
  json.at("signal").get_to(exit.signal);
  json.at("stopped").get_to(exit.stopped);
  json.at("seconds").get_to(exit.seconds);
  json.at("cpu_s").get_to(exit.cpu_s);
  json.at("memory_peak_bytes").get_to(exit.memory_peak_bytes);
  json.at("ended_ms").get_to(exit.ended_ms);
  json.at("problem").get_to(exit.problem);
  exit.out_of_memory_mb = json.value("out_of_memory_mb", int64_t{0});  // earlier versions do not tell
  return exit;
}

}  // namespace linac::launch
