// What a run leaves: metrics.jsonl, line by line, run.json and what workers tell of themselves. What is read, however
// damaged, is written as a line that says the same when it is read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <variant>

#include "linac/base/base/error.h"
#include "linac/base/job/run_record.h"
#include "linac/base/job/step_gaps.h"

namespace {

using namespace linac::job;

void need(bool condition) {
  if (!condition) std::abort();
}

void read_line(const LineReader& reader, const std::string& text) {
  const ReadLine read = reader.read(text);
  time_of(read.line);
  stands_before(read.line, 10, 1);
  if (read.state == LineState::kNone) return;
  const std::string written = to_text(read.line);
  const ReadLine again = reader.read(written);
  need(again.line.index() == read.line.index() && again.state != LineState::kNone);
  need(to_text(again.line) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const LineReader reader("fuzz"), fewer("fuzz", Wanted::kNoStepMeasures);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    try {
      const ReadLine quick = fewer.read(line);
      if (const auto step = step_of_plain_line(line))
        need(quick.state == LineState::kWhole && std::holds_alternative<StepLine>(quick.line) &&
             global_step_of(quick.line) == *step);
      read_line(reader, line);
    } catch (const linac::Error&) {  // of a newer linac; any other exception is a finding
    }
  }
  try {
    if (const auto summary = read_summary(text, "fuzz")) {
      const std::string written = to_text(*summary);
      const auto again = read_summary(written, "fuzz");
      need(again && to_text(*again) == written);
    }
  } catch (const linac::Error&) {
  }
  const std::string account = to_text(read_account(text));
  need(to_text(read_account(account)) == account);
  return 0;
}
