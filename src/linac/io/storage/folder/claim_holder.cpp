#include "linac/io/storage/folder/claim_holder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "linac/base/base/host.h"
#include "linac/base/base/utf8.h"

namespace linac::storage {
namespace {

using nlohmann::json;

// Process ids count within one of these.
std::string process_numbers() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/ns/pid", none).string();
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace

std::string draw_claim_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

std::string taken_over_words(const std::string& folder, const std::string& by) {
  return fmt::format("[folder] {}: was taken over by {}; what this one did since does not count there", folder, by);
}

ClaimHolder ClaimHolder::here() {
  return {draw_claim_token(), host_name(), now_text(), process_numbers(), process_key(::getpid())};
}

ClaimHolder ClaimHolder::parse(const std::string& content) {
  ClaimHolder holder;
  try {
    const json whole = json::parse(content);
    holder.token = whole.at("token");
    holder.host = whole.at("host");
    holder.since = whole.at("since");
    holder.numbers = whole.at("process_numbers");
    holder.process = process_key_from_json(whole.at("process"));
  } catch (const json::exception&) {
    holder.host = "somebody";
  }
  holder.host = printable(holder.host);
  holder.since = printable(holder.since);
  return holder;
}

// The time makes each renewal another content, and so another version.
std::string ClaimHolder::text() const {
  const json whole{
      {"token", token}, {"host", host},          {"process", to_json(process)},  {"process_numbers", numbers},
      {"since", since}, {"renewed", now_text()}, {"renewal", draw_claim_token()}};
  return whole.dump(1) + "\n";
}

bool ClaimHolder::has_ended() const {
  return process.pid > 0 && host == host_name() && numbers == process_numbers() &&
         process.boot == process_key(::getpid()).boot && !alive(process);
}

std::string ClaimHolder::words() const {
  return process.pid > 0 ? fmt::format("process {} on {}, since {}", process.pid, host, since) : host;
}

}  // namespace linac::storage
