#pragma once
// Keeps a run that goes on in the catalog of a service, from beside the training: `linac train --track`. The run's
// folder is what is sent, so a service that is away, or a process that is killed, loses nothing: the rest is sent when
// it is back, by `linac ingest FOLDER`, or when the run resumes.

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "linac/control/client/login.h"

namespace linac::client {

class Tracker {
 public:
  /// Begins at once, in a thread of its own. What goes wrong is logged, once as long as it lasts, and never ends the
  /// training.
  Tracker(Login login, std::filesystem::path folder, std::string experiment);
  /// Tries once more to send the rest.
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

 private:
  void run(const Login& login);

  const std::filesystem::path folder_;
  const std::string experiment_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace linac::client
