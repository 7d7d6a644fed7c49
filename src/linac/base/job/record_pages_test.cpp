// docs/reference/run-record.md and the types of the pages say what the code says: both are written from the members
// that the structs of run_record.h name, and compared here with what is in the tree. After a change of the record:
//     LINAC_WRITE_PAGES=1 build/dev/bin/job_test --gtest_filter='RecordPages.*'

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <type_traits>

#include "linac/base/base/atomic_file.h"
#include "linac/base/job/exit_codes.h"
#include "linac/base/job/metric_names.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/run_record.h"
#include "linac/base/job/run_states.h"

namespace linac::job {
namespace {

// A type in words, in TypeScript, and as the call that reads it there; `json` is the value.
struct TypeText {
  std::string words, type, read;
};

template <class T>
struct TypeOf {  // a struct of the record
  static TypeText text() {
    return {fmt::format("[{0}](#{1})", T::kName, anchor()), T::kName, fmt::format("read{}({{}})", T::kName)};
  }
  static std::string anchor() {
    std::string name = T::kName;
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    return name;
  }
};
template <class T>
requires std::is_integral_v<T>
struct TypeOf<T> {
  static TypeText text() { return {"integer", "number", "integer({})"}; }
};
template <>
struct TypeOf<double> {
  static TypeText text() { return {"number", "number", "number({})"}; }
};
template <>
struct TypeOf<std::string> {
  static TypeText text() { return {"text", "string", "text({})"}; }
};
template <>
struct TypeOf<Measures> {
  static TypeText text() { return {"measures", "Measures", "measures({})"}; }
};
template <>
struct TypeOf<std::map<Phase, PhaseTime>> {
  static TypeText text() { return {"[PhaseTime](#phasetime) by phase", "PhaseTimes", "phaseTimes({})"}; }
};
template <>
struct TypeOf<DataFiles> {
  static TypeText text() { return {"lists of [DataFile](#datafile) by role", "", ""}; }
};
template <>
struct TypeOf<StepTime> {  // the pages have no use for it
  static TypeText text() { return {"[StepTime](#steptime)", "", ""}; }
};
template <>
struct TypeOf<ToldEnergy> {  // likewise
  static TypeText text() { return {"[ToldEnergy](#toldenergy)", "", ""}; }
};
template <>
struct TypeOf<ToldReading> {  // likewise
  static TypeText text() { return {"[ToldReading](#toldreading)", "", ""}; }
};
template <>
struct TypeOf<Rate> {
  static TypeText text() { return {"number", "", ""}; }
};
template <class T>
struct TypeOf<std::optional<T>> {
  static TypeText text() { return TypeOf<T>::text(); }
};
template <class T>
struct TypeOf<std::vector<T>> {
  static TypeText text() {
    const TypeText one = TypeOf<T>::text();
    const std::string each = fmt::format(fmt::runtime(one.read), "one");
    return {"list of " + one.words + (HasMembers<T> ? "" : "s"), one.type + "[]",
            HasMembers<T> ? fmt::format("list({{}}).map(read{})", one.type) : fmt::format("words({{}})")};
  }
};
template <>
struct TypeOf<std::vector<int64_t>> {  // the pages have no use for it
  static TypeText text() { return {"list of integers", "", ""}; }
};
template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

// ---- docs/reference/run-record.md

struct TableRows {
  std::string text;

  template <class T, class S>
  void operator()(const MemberText& member, T S::*) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", member.name, TypeOf<T>::text().words, member.unit,
                        member.when, member.meaning);
  }
};

template <class Struct>
std::string table(const std::string& title) {
  TableRows rows;
  Struct::fields(rows);
  return fmt::format("### {}\n| member | type | unit | when | what |\n|---|---|---|---|---|\n{}\n", title, rows.text);
}

template <class Line>
std::string line_table() {
  return table<Line>(fmt::format("`{}`", Line::kKind));
}

std::string record_tables() {
  std::string text = "## Lines of metrics.jsonl\n";
  text += line_table<ViewLine>() + line_table<StepLine>() + line_table<EpochLine>() + line_table<RollbackLine>() +
          line_table<RoundLine>() + line_table<GapLine>() + line_table<AuditLine>() + line_table<WorkersLine>() +
          line_table<EndLine>();
  text += "## Parts of lines\n";
  text += table<ViewMember>(ViewMember::kName) + table<WorkerAccount>(WorkerAccount::kName) +
          table<PhaseTime>(PhaseTime::kName) + table<StepTime>(StepTime::kName) +
          table<NetworkTime>(NetworkTime::kName) + table<ToldEnergy>(ToldEnergy::kName) +
          table<ToldReading>(ToldReading::kName);
  text += "## run.json\n" + table<RunSummary>("Members");
  text += table<HostFacts>(HostFacts::kName) + table<TrainingOutline>(TrainingOutline::kName) +
          table<OutlinedUpdate>(OutlinedUpdate::kName) + table<OutlinedPart>(OutlinedPart::kName) +
          table<DataFile>(DataFile::kName) + table<FormerData>(FormerData::kName) +
          table<OutputClasses>(OutputClasses::kName) + table<BestEpoch>(BestEpoch::kName) +
          table<EpochPace>(EpochPace::kName) + table<RunError>(RunError::kName) + table<RunEnergy>(RunEnergy::kName);
  text += "## Phases\n| phase | counts as work | what |\n|---|---|---|\n";
  for (const PhaseEntry& phase : kPhases)
    text += fmt::format("| `{}` | {} | {} |\n", phase.name, phase.computes ? "yes" : "no", phase.meaning);
  text += "\n## Names of metrics\n| name | what |\n|---|---|\n";
  for (const metric::NameEntry& name : metric::kNames) text += fmt::format("| `{}` | {} |\n", name.name, name.what);
  text +=
      "\n## States of a run\n| state | ended | for MLflow | exit status of who waits | what |\n|---|---|---|---|---|\n";
  for (const RunStateEntry& state : kRunStates)
    text += fmt::format("| `{}` | {} | `{}` | {} | {} |\n", state.word, state.ended ? "yes" : "no", state.mlflow,
                        state.ended ? std::to_string(state.exit_status) : "", state.meaning);
  text += "\n## Exit statuses\n| status | class | what |\n|---|---|---|\n";
  for (const ExitEntry& code : kExitCodes)
    text += fmt::format("| {} | {} | {} |\n", code.status, to_string(code.kind), code.meaning);
  text += fmt::format("| {} + n | by the signal | a worker was ended by signal n |\n", kSignalBase);
  return text;
}

// ---- ui/src/generated/run_record.ts

struct TypeRows {
  std::string members, reads;

  template <class T, class S>
  void operator()(const MemberText& member, T S::*) {
    const TypeText type = TypeOf<T>::text();
    if (type.type.empty()) return;  // the pages have no use for it
    const std::string value = fmt::format("json[\"{}\"]", member.name);
    const std::string read = fmt::format(fmt::runtime(type.read), HasMembers<T> ? "object(" + value + ")" : value);
    const std::string comment = member.meaning[0] == '\0' ? "" : fmt::format("; {}", member.meaning);
    const std::string unit = member.unit[0] == '\0' ? "" : fmt::format(" [{}]", member.unit);
    members +=
        fmt::format("  {}: {}{};{}{}\n", member.name, type.type, kIsOptional<T> ? " | undefined" : "",
                    comment.empty() && unit.empty() ? "" : " //", unit + (comment.empty() ? "" : comment.substr(1)));
    reads += fmt::format("  {}: {},\n", member.name,
                         kIsOptional<T> ? fmt::format("{} === undefined ? undefined : {}", value, read) : read);
  }
};

template <class Struct>
std::string typescript(const std::string& name, const std::string& kind) {
  TypeRows rows;
  Struct::fields(rows);
  const std::string kind_member = kind.empty() ? "" : fmt::format("  kind: \"{}\";\n", kind);
  const std::string kind_value = kind.empty() ? "" : fmt::format("  kind: \"{}\",\n", kind);
  return fmt::format("export interface {0} {{\n{1}{2}}}\n\nconst read{0} = (json: Json): {0} => ({{\n{3}{4}}});\n\n",
                     name, kind_member, rows.members, kind_value, rows.reads);
}

template <class... Lines>
std::string line_types() {
  std::string text, all, kinds, readers;
  const auto add = [&](const std::string& kind, const std::string& body) {
    const std::string name = std::string(1, static_cast<char>(std::toupper(kind[0]))) + kind.substr(1) + "Line";
    text += body;
    all += (all.empty() ? "" : " | ") + name;
    kinds += fmt::format("{}\"{}\"", kinds.empty() ? "" : ", ", kind);
    readers += fmt::format("  {}: read{},\n", kind, name);
  };
  const auto name_of_kind = [](std::string kind) {
    kind[0] = static_cast<char>(std::toupper(kind[0]));
    return kind + "Line";
  };
  (add(Lines::kKind, typescript<Lines>(name_of_kind(Lines::kKind), Lines::kKind)), ...);
  return text + fmt::format(
                    "export type RunLine = {0};\nexport type LineKind = RunLine[\"kind\"];\n\n"
                    "const readers: Record<string, (json: Json) => RunLine> = {{\n{1}}};\n\n",
                    all, readers);
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return text;
}

std::string record_typescript() {
  std::vector<std::string> phases, states, ended_states;
  for (const PhaseEntry& phase : kPhases) phases.emplace_back(phase.name);
  for (const RunStateEntry& state : kRunStates) {
    states.emplace_back(state.word);
    if (state.ended) ended_states.emplace_back(state.word);
  }
  std::string text =
      "// What a run leaves for others to read (docs/reference/run-record.md). Written from src/linac/base/job by its "
      "test\n"
      "// record_pages_test.cpp, which says how to write it anew; not to be changed by hand.\n\n"
      "import { integer, list, measures, number, object, text, words, type Json, type Measures } from "
      "\"../api/json.ts\";\n\n";
  text += fmt::format("export const recordVersion = {};\n\n", kRecordVersion);
  text += fmt::format("export const phases = [{}] as const;\nexport type Phase = (typeof phases)[number];\n\n",
                      quoted_list(phases));
  text += fmt::format("export const states = [{}] as const;\nexport type State = (typeof states)[number];\n",
                      quoted_list(states));
  text += fmt::format("export const endedStates: readonly State[] = [{}];\n\n", quoted_list(ended_states));
  text += fmt::format("export const statusSucceeded = \"{}\";\n\n", to_string(RunStatus::kSucceeded));
  text += fmt::format(
      "export const metricNames = {{ learningRate: \"{}\", epochs: \"{}\", epochSeconds: \"{}\", workers: \"{}\", "
      "rateEnd: \"{}\" }} "
      "as "
      "const;\nexport const metricFronts = {{ parts: \"{}\", time: \"{}\", system: \"{}\" }} as const;\n"
      "export const metricMeans = {{ loss: \"{}\", train: \"{}\" }} as const;\n\n",
      metric::kLearningRate, metric::kEpochs, metric::kEpochSeconds, metric::kWorkers, metric::kRateEnd, metric::kParts,
      metric::kTime, metric::kSystem, metric::kLoss, metric::kTrain);
  std::vector<std::string> better[2];
  for (const Metric& metric : metrics()) better[metric.better == Better::kHigher ? 1 : 0].emplace_back(metric.name);
  text += fmt::format(
      "export const betterLower: readonly string[] = [{}];\nexport const betterHigher: readonly string[] = [{}];\n\n",
      quoted_list(better[0]), quoted_list(better[1]));
  text += typescript<ViewMember>(ViewMember::kName, "") + typescript<PhaseTime>(PhaseTime::kName, "");
  text +=
      "export type PhaseTimes = Partial<Record<Phase, PhaseTime>>;\n\n"
      "const phaseTimes = (value: unknown): PhaseTimes => {\n"
      "  const json = object(value);\n"
      "  return Object.fromEntries(phases.filter((phase) => phase in json).map((phase) => [phase, "
      "readPhaseTime(object(json[phase]))]));\n"
      "};\n\n";
  text += typescript<WorkerAccount>(WorkerAccount::kName, "");
  text +=
      line_types<ViewLine, StepLine, EpochLine, RollbackLine, RoundLine, GapLine, AuditLine, WorkersLine, EndLine>();
  text +=
      "/** A line of metrics.jsonl; null for what is none, or of a kind that is not known. Throws for the record of a "
      "newer linac. */\n"
      "export function readRunLine(line: string): RunLine | null {\n"
      "  let json: Json;\n"
      "  try {\n"
      "    json = object(JSON.parse(line));\n"
      "  } catch {\n"
      "    return null; // cut off by a kill\n"
      "  }\n"
      "  if (Number(json[\"record\"]) > recordVersion) throw new Error(`The run was written by a newer linac (its "
      "record "
      "has version ${text(json[\"record\"])}, these pages read up to ${recordVersion}): look at it with that "
      "version.`);\n"
      "  const kind = text(json[\"kind\"]);\n"
      "  return Object.hasOwn(readers, kind) ? readers[kind]!(json) : null;\n"
      "}\n";
  return text;
}

// ----

void expect_written(const std::filesystem::path& path, const std::string& wanted) {
  if (std::getenv("LINAC_WRITE_PAGES") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    write_file_atomically(path, wanted);
  }
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(read_file(path) == wanted)
      << path << " is not what the code says; LINAC_WRITE_PAGES=1 job_test --gtest_filter='RecordPages.*' writes it";
}

TEST(RecordPages, TheDocumentIsUpToDate) {
  const std::filesystem::path path = std::filesystem::path(LINAC_SOURCE_DIR) / "docs/reference/run-record.md";
  const std::string begin = "<!-- from here on written from src/linac/base/job: record_pages_test.cpp -->\n";
  const std::string text = read_file(path);
  const size_t at = text.find(begin);
  ASSERT_NE(at, std::string::npos) << path << " has lost its mark: " << begin;
  expect_written(path, text.substr(0, at + begin.size()) + record_tables());
}

TEST(RecordPages, TheTypesOfThePagesAreUpToDate) {
  expect_written(std::filesystem::path(LINAC_SOURCE_DIR) / "ui/src/generated/run_record.ts", record_typescript());
}

struct Names {
  std::set<std::string>& found;
  template <class T, class S>
  void operator()(const MemberText& member, T S::*) {
    EXPECT_TRUE(found.insert(member.name).second) << member.name << " is named twice";
    EXPECT_NE(member.when[0], '\0') << member.name;
  }
};
template <class Struct>
void expect_distinct() {
  std::set<std::string> found;
  Struct::fields(Names{found});
  EXPECT_FALSE(found.empty());
}

TEST(RecordPages, MembersAreNamedOnce) {
  expect_distinct<ViewLine>();
  expect_distinct<StepLine>();
  expect_distinct<EpochLine>();
  expect_distinct<RollbackLine>();
  expect_distinct<RoundLine>();
  expect_distinct<GapLine>();
  expect_distinct<AuditLine>();
  expect_distinct<WorkersLine>();
  expect_distinct<EndLine>();
  expect_distinct<RunSummary>();
  expect_distinct<OutputClasses>();
  expect_distinct<WorkerAccount>();
  expect_distinct<StepTime>();
  expect_distinct<NetworkTime>();
  expect_distinct<ToldEnergy>();
  expect_distinct<ToldReading>();
  expect_distinct<RunEnergy>();
}

}  // namespace
}  // namespace linac::job
