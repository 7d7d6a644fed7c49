#include "linac/io/data/verify/child_check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

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

[[noreturn]] void run_child(int pipe, const std::function<void(Findings&)>& check) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ToldFindings told(pipe);
  try {
    check(told);
  } catch (const Error& error) {
    told.failed(error.what(), error.code());
  } catch (const std::exception& error) {
    told.failed(error.what(), ErrorCode::kInternal);
  }
  ::_exit(0);
}

/// The process ends with its owner.
class Child {
 public:
  explicit Child(const std::function<void(Findings&)>& check) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail();
    told_ = Descriptor(ends[0]);
    Descriptor telling(ends[1]);
    {
      // Nobody is within HDF5 while it is copied.
      const hdf5::Lock lock;
      id_ = ::fork();
    }
    if (id_ == 0) run_child(telling.get(), check);
    if (id_ < 0) fail();
  }
  ~Child() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

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
  /// Its status, as of waitpid().
  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) continue;
    id_ = 0;
    return status;
  }

 private:
  [[noreturn]] static void fail() {
    throw environment_error(
        fmt::format("[verify] no process can be made ({}); end others, or ask for fewer --jobs", std::strerror(errno)));
  }

  Descriptor told_;
  pid_t id_ = 0;
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
  const int status = child.wait();
  if (WIFSIGNALED(status))
    findings.damaged(where, fmt::format("its library ends by signal {} ({}) while it reads it", WTERMSIG(status),
                                        ::strsignal(WTERMSIG(status))));
}

}  // namespace linac::data
