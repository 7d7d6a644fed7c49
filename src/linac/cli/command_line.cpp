#include "linac/cli/command_line.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/nearest.h"
#include "linac/base/version.h"

namespace linac::cli {

std::unique_ptr<CLI::App> parser() {
  auto app = std::make_unique<CLI::App>(
      "linac trains physics networks on any number of machines, and the answer never depends on how many.", "linac");
  app->require_subcommand(1);
  app->set_version_flag("--version", fmt::format("linac {}", kVersion));
  app->footer("Example: linac check examples/demo.yaml && linac train examples/demo.yaml --workers 2");
  return app;
}

namespace {

// "" if the first word is a verb, or an option.
std::string verb_hint(const CLI::App& app, int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "-";
  if (word.starts_with('-')) return "";
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() == word) return "";
    if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
  }
  const auto near = nearest(word, verbs);
  return fmt::format("[linac] there is no verb '{}'; {}", word,
                     near ? fmt::format("did you mean {}?", *near) : "linac --help lists them");
}

}  // namespace

int run(CLI::App& app, int argc, char** argv,
        const std::function<void(std::string_view what, int exit_status)>& failed) {
  const auto report = [&](ErrorCode code, const char* what) {
    log::error(what);
    if (failed) failed(what, static_cast<int>(code));
    return static_cast<int>(code);
  };
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& status) {  // a verb that ended with a status of its own
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (const std::string hint = verb_hint(app, argc, argv); !hint.empty())
      return report(ErrorCode::kUser, hint.c_str());
    // Asking for help is no error; anything else is the user's.
    return app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::kUser);
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::kEnvironment,
                  "[memory] not enough memory; lower train.batch or the number of workers on this host");
  } catch (const std::exception& error) {
    return report(ErrorCode::kInternal, error.what());
  }
}

}  // namespace linac::cli
