#include "linac/control/agent/pilot_client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/percent.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/version.h"

namespace linac::agent {
namespace {

using nlohmann::json;

std::string path_of(const Lease& lease, const std::string& end) {
  return fmt::format("/api/v1/leases/{}/{}", lease.label, end);
}

std::string path_of_file(const Lease& lease, const std::string& name) {
  std::string path = path_of(lease, "files");
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    path += "/" + percent_encoded(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return path;
}

/// What a proxy or somebody else's server answers does not end a job: only the service's own word does.
template <class Say>
auto said(Say&& say) {
  try {
    return say();
  } catch (const client::ServiceRefusal& refusal) {
    const std::string& code = refusal.service_code();
    if (refusal.status() == 409 && code == "INVALID_STATE") throw LeaseOver(ErrorCode::kUser, refusal.what());
    const bool unknown = refusal.status() == 401 && code == "UNAUTHENTICATED";
    const bool denied = refusal.status() == 403 && code == "PERMISSION_DENIED";
    if (unknown || denied) throw TokenRefused(ErrorCode::kUser, refusal.what());
    throw environment_error(refusal.what());
  } catch (const json::exception&) {
    throw environment_error("[agent] an answer cannot be read; is --server right, and of the same version?");
  } catch (const Refusal& refusal) {
    throw environment_error(refusal.what());
  }
}

}  // namespace

PilotClient::PilotClient(client::Login login, std::function<bool()> go_on)
    : service_(std::move(login)), go_on_(std::move(go_on)) {
  service_.set_manners({.headers = {}, .answer_bytes_max = kAnswerBytesMax, .go_on = go_on_});
}

void PilotClient::speak_for(const Lease& lease) {
  service_.set_manners(
      {.headers = {"Linac-Lease: " + lease.secret}, .answer_bytes_max = kAnswerBytesMax, .go_on = go_on_});
}

PilotClient::Work PilotClient::ask(const launch::PilotAgent& agent, bool only_own, std::chrono::seconds wait) {
  return said([&] {
    const json answer = service_.post("/api/v1/agents/" + agent.id + "/work", {{"name", agent.name},
                                                                               {"host", agent.host},
                                                                               {"version", kVersion},
                                                                               {"tags", agent.tags},
                                                                               {"cores", agent.all.cores},
                                                                               {"memory_mb", agent.all.memory_mb},
                                                                               {"gpus", agent.all.gpus},
                                                                               {"cores_free", agent.free.cores},
                                                                               {"memory_mb_free", agent.free.memory_mb},
                                                                               {"gpus_free", agent.free.gpus},
                                                                               {"seconds_left", agent.free.seconds_max},
                                                                               {"own", only_own},
                                                                               {"draining", agent.draining},
                                                                               {"price", agent.price},
                                                                               {"wait_s", wait.count()}});
    Work work;
    work.lease = std::chrono::milliseconds(answer.at("lease_ms").get<int64_t>());
    if (const json& handed = answer.at("work"); !handed.is_null()) work.work = launch::work_from_json(handed);
    return work;
  });
}

void PilotClient::begin(const Lease& lease) {
  speak_for(lease);
  said([&] { service_.post(path_of(lease, "begin"), json::object()); });
}

bool PilotClient::renew(const Lease& lease, const launch::AttemptUse& use) {
  speak_for(lease);
  return said([&] {
    return service_.post(path_of(lease, "renew"), {{"use", launch::to_json(use)}}).at("stop").get<bool>();
  });
}

int64_t PilotClient::send_piece(const Lease& lease, const char* what, int64_t from, std::string_view bytes) {
  speak_for(lease);
  return said([&] {
    return service_.post_bytes(path_of(lease, what), {{"from", std::to_string(from)}}, bytes).at("end").get<int64_t>();
  });
}

int64_t PilotClient::send_log(const Lease& lease, int64_t from, std::string_view bytes) {
  return send_piece(lease, "log", from, bytes);
}

int64_t PilotClient::send_lines(const Lease& lease, int64_t from, std::string_view bytes) {
  return send_piece(lease, "lines", from, bytes);
}

std::vector<RemoteFile> PilotClient::files(const Lease& lease) {
  speak_for(lease);
  return said([&] {
    std::vector<RemoteFile> files;
    for (const json& file : service_.get(path_of(lease, "files")).at("files"))
      files.push_back({harmless_path(file.at("path").get<std::string>()), file.at("bytes").get<int64_t>()});
    return files;
  });
}

void PilotClient::fetch(const Lease& lease, const RemoteFile& file, const std::filesystem::path& to) {
  speak_for(lease);
  said([&] { return service_.download(path_of_file(lease, file.name), to, file.bytes); });
}

bool PilotClient::put(const Lease& lease, const std::string& name, const std::filesystem::path& file) {
  speak_for(lease);
  std::error_code none;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, none))) return false;
  said([&] { service_.upload(path_of_file(lease, name), file); });
  return true;
}

void PilotClient::remove(const Lease& lease, const std::string& name) {
  speak_for(lease);
  said([&] { service_.remove(path_of_file(lease, name)); });
}

void PilotClient::end(const Lease& lease, const launch::Exit& exit) {
  speak_for(lease);
  said([&] { service_.post(path_of(lease, "end"), {{"exit", launch::to_json(exit)}}); });
}

}  // namespace linac::agent
