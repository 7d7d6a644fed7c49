// docs/reference/settings.md says what the job's struct says. After a change of the settings:
//     LINAC_WRITE_PAGES=1 build/dev/bin/job_test --gtest_filter='JobPage.*'

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/job/job.h"

namespace linac::job {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

// "train.optimizer" of "train.optimizer.lr"; the kind belongs to all of the model.
std::string part_of(const JobSetting& setting) {
  if (!setting.kind.empty()) return "model of kind " + setting.kind;
  const size_t dot = setting.key.find('.');
  if (dot == std::string::npos) return "job";
  const size_t list = setting.key.find("[]");
  const size_t end = list == std::string::npos ? setting.key.rfind('.') : setting.key.rfind('.', list);
  return setting.key.substr(0, end);
}

std::string page() {
  std::string text =
      "# The settings of a job\n\n"
      "Each setting of a [job file](job-file.md), with its type and default. `linac help job` shows the\n"
      "same, `linac help job train.optimizer` a part of it. A default that is not shown is empty. Settings\n"
      "of a list of maps have `[]` in their name.\n";
  std::vector<std::pair<std::string, std::string>> tables;  // by part, in the order in which the parts begin
  for (const JobSetting& setting : job_settings()) {
    const std::string part = part_of(setting);
    auto table = std::ranges::find(tables, part, &std::pair<std::string, std::string>::first);
    if (table == tables.end()) {
      tables.emplace_back(part, fmt::format("\n## {}\n| setting | type | default | what |\n|---|---|---|---|\n", part));
      table = std::prev(tables.end());
    }
    const bool empty = setting.value.empty() || setting.value == "\"\"";
    table->second += fmt::format("| `{}` | {} | {} | {} |\n", setting.key, setting.type,
                                 empty ? "" : "`" + escaped(setting.value) + "`", escaped(setting.help));
  }
  for (const auto& [part, table] : tables) text += table;
  return text;
}

TEST(JobPage, IsUpToDate) {
  const std::filesystem::path path = std::filesystem::path(LINAC_SOURCE_DIR) / "docs/reference/settings.md";
  if (std::getenv("LINAC_WRITE_PAGES") != nullptr) write_file_atomically(path, page());
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(read_file(path) == page())
      << path << " is not what the code says; LINAC_WRITE_PAGES=1 job_test --gtest_filter='JobPage.*' writes it";
}

// `train.optimizer.lr` in a page is a setting, or a part of the job. Files have names of the same form.
TEST(JobPage, PagesNameSettingsThatExist) {
  std::set<std::string> known;
  for (const JobSetting& setting : job_settings()) {
    const std::string key = std::regex_replace(setting.key, std::regex(R"(\[\])"), "");
    for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
      known.insert(key.substr(0, dot));
    known.insert(key);
  }
  known.insert("train.lr");  // in short
  const std::regex named(R"(`((train|data|model|checkpoint|validate|distribution)\.[a-z_]+(\.[a-z_0-9]+)*)\b[:` =])");
  const std::set<std::string> endings{"keras", "pt",   "h5",      "json", "onnx",    "safetensors", "parquet",
                                      "yaml",  "save", "predict", "fit",  "to_json", "compile"};
  size_t found = 0;
  for (const char* folder : {"docs/start", "docs/guide", "docs/reference", "docs/operate"}) {
    const std::filesystem::path below = std::filesystem::path(LINAC_SOURCE_DIR) / folder;
    for (const auto& page : std::filesystem::recursive_directory_iterator(below)) {
      if (page.path().extension() != ".md") continue;
      const std::string text = read_file(page.path());
      for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
        const std::string word = (*at)[1];
        if (endings.contains(word.substr(word.rfind('.') + 1))) continue;
        ++found;
        EXPECT_TRUE(known.contains(word)) << page.path() << " names " << word;
      }
    }
  }
  EXPECT_GT(found, 100u);
}

TEST(JobPage, EverySettingHasAHelpText) {
  for (const JobSetting& setting : job_settings()) EXPECT_FALSE(setting.help.empty()) << setting.key;
}

}  // namespace
}  // namespace linac::job
