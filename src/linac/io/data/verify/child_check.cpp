#include "linac/io/data/verify/child_check.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/child_process.h"
#include "linac/base/base/descriptor.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {
namespace {

using nlohmann::json;

constexpr int kAskAgain_ms = 200;  // whether it is to stop

/// In the child: a line of JSON for each thing that is said.
class ToldFindings : public Findings {
 public:
  explicit ToldFindings(int pipe) : Findings(none_, {}, {}), pipe_(pipe) {}

  void damaged(std::string where, const std::string& what) override { tell({{"damaged", {where, what}}}); }
  void read(int64_t bytes) override { tell({{"read", bytes}}); }
  void checked(std::string words, bool has_checksums) override { tell({{"checked", {words, has_checksums}}}); }
  void at(const std::string& where) override { tell({{"at", where}}); }
  void failed(const std::string& what, ErrorCode code) { tell({{"failed", {what, static_cast<int>(code)}}}); }

 private:
  void tell(const json& said) const {
    const std::string line = said.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    for (size_t done = 0; done < line.size();) {
      const ssize_t put = ::write(pipe_, line.data() + done, line.size() - done);
      if (put < 0 && errno != EINTR) ::_exit(1);  // nobody listens
      if (put > 0) done += static_cast<size_t>(put);
    }
  }

  VerifiedFile none_;
  const int pipe_;
};

int run_child(int pipe, const std::function<void(Findings&)>& check) {
  ToldFindings told(pipe);
  try {
    check(told);
  } catch (const Error& error) {
    told.failed(error.what(), error.code());
  } catch (const std::exception& error) {
    told.failed(error.what(), ErrorCode::kInternal);
  }
  return 0;
}

/// The process ends with its owner.
class Child {
 public:
  explicit Child(const std::function<void(Findings&)>& check) {
    Pipe pipe = make_pipe();
    if (!pipe) fail(errno);
    told_ = std::move(pipe.from);
    // Nobody is within HDF5 while it is copied; then each has a lock of its own.
    std::optional<hdf5::Lock> lock(std::in_place);
    ProcessStart start = run_in_child(
        [&] {
          lock.reset();
          return run_child(pipe.to.get(), check);
        },
        {.others = ChildSettings::Others::kKept, .death_signal = SIGKILL});
    if (!start) fail(start.error);
    process_ = std::move(start.process);
  }

  /// Some of what it says; empty at the end, nothing where it is silent for a while.
  std::optional<std::string> hear() const {
    pollfd ready{.fd = told_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kAskAgain_ms) <= 0) return std::nullopt;
    std::string room(size_t{64} << 10, '\0');
    const ssize_t got = ::read(told_.get(), room.data(), room.size());
    if (got < 0) return std::nullopt;
    room.resize(static_cast<size_t>(got));
    return room;
  }
  ProcessEnd wait() { return process_.wait(); }

 private:
  [[noreturn]] static void fail(int error) {
    throw environment_error(
        fmt::format("[verify] no process can be made ({}); end others, or ask for fewer --jobs", std::strerror(error)));
  }

  Descriptor told_;
  ChildProcess process_;
};

}  // namespace

void check_in_child(Findings& findings, const std::function<void(Findings&)>& check) {
  Child child(check);
  std::string waiting, where = "the file";
  const auto take = [&](const json& said) {
    if (const auto damage = said.find("damaged"); damage != said.end()) findings.damaged(damage->at(0), damage->at(1));
    if (const auto read = said.find("read"); read != said.end()) findings.read(*read);
    if (const auto words = said.find("checked"); words != said.end()) findings.checked(words->at(0), words->at(1));
    if (const auto at = said.find("at"); at != said.end()) where = *at;
    if (const auto failed = said.find("failed"); failed != said.end())
      throw Error(static_cast<ErrorCode>(failed->at(1).get<int>()), failed->at(0));
  };
  for (;;) {
    const auto heard = child.hear();
    if (!heard) findings.read(0);
    if (heard && heard->empty()) break;
    waiting += heard.value_or("");
    for (size_t end = waiting.find('\n'); end != std::string::npos; end = waiting.find('\n')) {
      take(json::parse(waiting.substr(0, end)));
      waiting.erase(0, end + 1);
    }
  }
  if (const int signal = child.wait().signal; signal != 0)
    findings.damaged(where,
                     fmt::format("its library ends by signal {} ({}) while it reads it", signal, ::strsignal(signal)));
}

}  // namespace linac::data
