#include "linac/control/catalog/test_catalog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "linac/control/catalog/connection.h"

namespace linac::catalog {
namespace {

std::string programs() {
  std::string newest;
  int version = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    const int found = std::atoi(entry.path().filename().c_str());
    if (found > version && std::filesystem::exists(entry.path() / "bin" / "postgres")) {
      version = found;
      newest = entry.path() / "bin";
    }
  }
  return newest;
}

pid_t start_program(const std::vector<std::string>& words, const std::filesystem::path& log) {
  const bool root = ::geteuid() == 0;
  const passwd* who = root ? ::getpwnam("postgres") : nullptr;
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  ::dup2(out, 1);
  ::dup2(out, 2);
  if (root &&
      (who == nullptr || ::setgroups(0, nullptr) != 0 || ::setgid(who->pw_gid) != 0 || ::setuid(who->pw_uid) != 0))
    ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGINT);  // a test that crashes leaves no server behind
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", parent));
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

}  // namespace

bool PostgresqlServer::available() {
  return !programs().empty();
}

PostgresqlServer::PostgresqlServer() : programs_(programs()) {
  const auto data = (folder_ / "data").string();
  if (::geteuid() == 0) {
    const passwd* who = ::getpwnam("postgres");
    LINAC_CHECK(who != nullptr && ::chown(folder_.path().c_str(), who->pw_uid, who->pw_gid) == 0);
  }
  int status = 0;
  const pid_t made = start_program(
      {programs_ + "/initdb", "-D", data, "-U", "linac", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"},
      folder_ / "log");
  ::waitpid(made, &status, 0);
  LINAC_CHECK(status == 0);
  start();
}

PostgresqlServer::~PostgresqlServer() {
  if (process_ <= 0) return;
  ::kill(process_, SIGINT);
  ::waitpid(process_, nullptr, 0);
}

void PostgresqlServer::start() {
  // fsync matters when the machine fails, not when a process does; measurements want it.
  const bool sync = std::getenv("LINAC_TEST_FSYNC") != nullptr;
  process_ =
      start_program({programs_ + "/postgres", "-D", (folder_ / "data").string(), "-c", "listen_addresses=", "-c",
                     "unix_socket_directories=" + folder_.path().string(), "-c", sync ? "fsync=on" : "fsync=off"},
                    folder_ / "log");
  for (int i = 0; i < 600; ++i) {
    try {
      open_connection(fmt::format("postgresql://linac@/postgres?host={}", folder_.path().string()));
      return;
    } catch (const Error&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  std::fprintf(stderr, "PostgreSQL did not start; see %s\n", (folder_ / "log").c_str());
  LINAC_CHECK(false);
}

void PostgresqlServer::kill() {
  const auto children = children_of(process_);
  ::kill(process_, SIGKILL);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

std::string PostgresqlServer::make_database() {
  const std::string at = "?host=" + folder_.path().string(), name = fmt::format("catalog{}", ++databases_);
  open_connection("postgresql://linac@/postgres" + at)->script("CREATE DATABASE " + name);
  return "postgresql://linac@/" + name + at;
}

PostgresqlServer& CatalogTest::server() {
  static PostgresqlServer one;
  return one;
}

void CatalogTest::SetUp() {
  if (!postgresql()) {
    url_ = (folder_ / "catalog.db").string();
    return;
  }
  if (!PostgresqlServer::available()) GTEST_SKIP() << "no PostgreSQL server is installed here";
  url_ = server().make_database();
}

void RecordsTest::SetUp() {
  CatalogTest::SetUp();
  if (IsSkipped()) return;
  database_ = open_database(url_);
  migrate(*database_);
  connection(*database_).begin_write();
}

void RecordsTest::TearDown() {
  if (database_) connection(*database_).rollback();
}

}  // namespace linac::catalog
