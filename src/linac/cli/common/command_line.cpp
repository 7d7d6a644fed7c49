#include "linac/cli/common/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/terminal_text.h"
#include "linac/base/base/version.h"

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

// What others call a verb, where the nearest letters would mislead.
constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
    {"fit", "train"},         {"run", "train"},         {"test", "evaluate"},
    {"score", "evaluate"},    {"compare", "validate"},  {"infer", "predict"},
    {"inference", "predict"}, {"sample", "generate"},   {"convert", "data convert"},
    {"info", "data info"},    {"inspect", "data info"}, {"summary", "check --explain"},
    {"ls", "list"},           {"stop", "cancel"}};

std::string nearest_of(const std::string& word, const std::vector<std::string>& names, const std::string& otherwise) {
  const auto near = nearest(word, names);
  return near ? fmt::format("did you mean {}?", *near) : otherwise;
}

// Of `within`, whose words so far are `path`: what its next word is meant to be. "" if it is a verb, or an option, or
// none is wanted.
std::string verb_hint(const CLI::App& within, const std::string& path, const std::vector<std::string>& words) {
  const std::string word = words.empty() ? "-" : words.front();
  if (word.starts_with('-') || within.get_require_subcommand_min() == 0) return "";
  std::vector<std::string> verbs;
  for (const CLI::App* verb : within.get_subcommands({})) {
    if (verb->get_name() == word) return verb_hint(*verb, path + " " + word, {words.begin() + 1, words.end()});
    if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
  }
  for (const auto& [other, here] : kOtherWords)
    if (word == other && path == "linac")
      return fmt::format("[linac] there is no verb '{}'; did you mean {}?", word, here);
  return fmt::format("[{}] there is no verb '{}'; {}", path, word,
                     nearest_of(word, verbs, path + " --help lists them"));
}

// "; did you mean --workers?" of the first option that no verb on the way takes; "" if all are known.
std::string option_hint(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* verb = &app;
  for (const std::string& word : words) {
    if (!word.starts_with("--")) {
      for (const CLI::App* inner : verb->get_subcommands({}))
        if (inner->get_name() == word) verb = inner;
      continue;
    }
    const std::string name = word.substr(0, word.find('='));
    if (name.size() < 3 || verb->get_option_no_throw(name) != nullptr) continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : verb->get_options([](const CLI::Option*) { return true; }))
      for (const std::string& known : option->get_lnames()) names.push_back(known);
    const std::string where = verb == &app ? "linac" : "linac " + verb->get_name();
    return fmt::format(
        "[{}] there is no option {}; {}{}", verb == &app ? "linac" : verb->get_name(), name,
        [&] {
          const auto near = nearest(name.substr(2), names);
          return near ? fmt::format("did you mean --{}?", *near) : where + " --help lists them";
        }(),
        verb->get_option_no_throw("--set") != nullptr ? " (settings of the job: --set train.epochs=3)" : "");
  }
  return "";
}

}  // namespace

int run(CLI::App& app, int argc, char** argv,
        const std::function<void(std::string_view what, int exit_status)>& failed) {
  const auto report = [&](ErrorCode code, const char* what) {
    log::error(what);
    if (failed) failed(what, static_cast<int>(code));
    return static_cast<int>(code);
  };
  keep_terminal_plain();
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& status) {  // a verb that ended with a status of its own
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    for (const std::string& hint : {verb_hint(app, "linac", words), option_hint(app, words)})
      if (!hint.empty() && error.get_exit_code() != 0) return report(ErrorCode::kUser, hint.c_str());
    // Asking for help is no error; anything else is the user's.
    return app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::kUser);
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::kEnvironment,
                  "[memory] not enough memory; lower train.batch or the number of workers on this host");
  } catch (
      const std::filesystem::filesystem_error& error) {  // a folder that is removed under a verb, a disk that fails
    return report(ErrorCode::kEnvironment, fmt::format("[files] {}", error.what()).c_str());
  } catch (const std::exception& error) {
    return report(ErrorCode::kInternal, error.what());
  }
}

}  // namespace linac::cli
