#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/progress.h"
#include "linac/base/base/turned_bit.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/model/models/core_audit.h"

namespace linac::cli {
namespace {

constexpr size_t kPiecesNamed = 3;  // of a core; --json has all

struct CoreOptions {
  double seconds = 60;
  std::string cores;
  std::optional<int> fault;
  bool json = false;
};

std::string passes_in_words(int64_t passes) {
  return passes == 1 ? "1 pass" : fmt::format("{} passes", passes);
}

std::vector<int> cores_of(const CoreOptions& options) {
  std::vector<int> all = allowed_cores();
  if (options.cores.empty()) return all;
  const auto named = cores_in(options.cores);
  if (!named)
    throw user_error(
        fmt::format("[bench] --cores {}: no list of cores; write numbers and ranges, as 0,4-7", options.cores));
  for (const int core : *named)
    if (!std::ranges::binary_search(all, core))
      throw user_error(fmt::format("[bench] --cores {}: this process may not run on core {} (it may on {})",
                                   options.cores, core, fmt::join(all, ",")));
  return *named;
}

std::vector<models::CoreSayings> asked(const CoreOptions& options) {
  models::CoreAudit audit{.cores = cores_of(options), .seconds = options.seconds};
  if (options.fault) {
    if (!std::ranges::binary_search(audit.cores, *options.fault))
      throw user_error(fmt::format("[bench] --fault {}: it is not among the cores that are asked ({})", *options.fault,
                                   fmt::join(audit.cores, ",")));
    audit.spoil = [liar = *options.fault](int core, int64_t pass, std::span<float> results) {
      if (core == liar)
        turn_a_bit(std::as_writable_bytes(results), {.stream = Stream::kAudit, .step = static_cast<uint32_t>(pass)});
    };
  }
  const auto total = static_cast<int64_t>(10 * options.seconds);  // tenths of a second
  Progress progress(plural(std::ssize(audit.cores), "core"), total);
  audit.tell = [&](double seconds, int64_t passes) {
    progress.update(std::min(total, static_cast<int64_t>(10 * seconds)), passes_in_words(passes));
  };
  return models::ask_cores(audit);
}

// "core 3 computes wrongly: 2 of 240 passes of pooling, avx2".
std::vector<std::string> in_words(const std::vector<models::CoreFinding>& findings,
                                  const std::vector<models::CoreSayings>& cores) {
  std::vector<std::string> words;
  for (const models::CoreSayings& one : cores) {
    std::vector<std::string> pieces;
    for (const models::CoreFinding& finding : findings)
      if (const auto wrong = finding.wrong.find(one.core); wrong != finding.wrong.end() && !finding.alike)
        pieces.push_back(fmt::format("{} of {} of {}", wrong->second, passes_in_words(one.passes), finding.piece));
    if (pieces.empty()) continue;
    const size_t more = pieces.size() - std::min(pieces.size(), kPiecesNamed);
    pieces.resize(pieces.size() - more);
    words.push_back(fmt::format("core {} computes wrongly: {}{}", one.core, fmt::join(pieces, "; "),
                                more == 0 ? "" : fmt::format(", and {} more", more)));
  }
  for (const models::CoreFinding& finding : findings) {
    if (finding.alike)
      words.push_back(
          fmt::format("all cores compute {} alike, and not as is known: it is the processor's kind or this "
                      "program, and no core",
                      finding.piece));
    if (!finding.suspects.empty())
      words.push_back(fmt::format("of cores {} some compute {} wrongly, and nobody can tell which",
                                  fmt::join(finding.suspects, ", "), finding.piece));
  }
  return words;
}

nlohmann::ordered_json in_json(const std::vector<models::CorePiece>& pieces,
                               const std::vector<models::CoreSayings>& cores,
                               const std::vector<models::CoreFinding>& findings) {
  nlohmann::ordered_json result{{"host", host_name()}, {"processor", processor_name()}, {"right", findings.empty()}};
  for (const models::CoreSayings& one : cores) result["cores"].push_back({{"core", one.core}, {"passes", one.passes}});
  for (const models::CorePiece& one : pieces)
    result["pieces"].push_back({{"piece", one.name}, {"known", one.known.has_value()}});
  result["findings"] = nlohmann::ordered_json::array();
  for (const models::CoreFinding& finding : findings) {
    nlohmann::ordered_json wrong = nlohmann::ordered_json::array();
    for (const auto& [core, passes] : finding.wrong) wrong.push_back({{"core", core}, {"passes", passes}});
    result["findings"].push_back(
        {{"piece", finding.piece}, {"wrong", wrong}, {"suspects", finding.suspects}, {"alike", finding.alike}});
  }
  return result;
}

void run_core_audit(const CoreOptions& options) {
  const std::vector<models::CorePiece> pieces = models::core_pieces();
  const std::vector<models::CoreSayings> cores = asked(options);
  const std::vector<models::CoreFinding> findings = models::judge_cores(pieces, cores);
  const auto known = std::ranges::count_if(pieces, [](const auto& piece) { return piece.known.has_value(); });
  const int64_t passes = std::ranges::min(cores, {}, &models::CoreSayings::passes).passes;
  if (options.json)
    fmt::print("{}\n", in_json(pieces, cores, findings).dump(1));
  else
    fmt::print("{} ({}): {}, {} of each through {}, {} of them with bits that are known{}\n", host_name(),
               processor_name(), plural(std::ssize(cores), "core"), passes_in_words(passes),
               plural(std::ssize(pieces), "piece"), known, findings.empty() ? "; all are right" : "");
  if (findings.empty()) return;
  throw Error(ErrorCode::kWrong, fmt::format("[audit] {}: {}. Let nothing compute there, and have the host looked at",
                                             host_name(), fmt::join(in_words(findings, cores), ". ")));
}

}  // namespace

void add_audit_bench(CLI::App& bench) {
  auto options = std::make_shared<CoreOptions>();
  auto* verb = bench.add_subcommand("audit", "Whether each core of this host computes the bits that are right");
  verb->add_option("--seconds", options->seconds, "as long as that, all cores at a time; two passes at least")
      ->check(CLI::Range(0.0, 86400.0));
  verb->add_option("--cores", options->cores, "these, as 0,4-7; otherwise all that this process may run on");
  verb->add_option("--fault", options->fault, "an error made on purpose: bits turn over in what this core computes")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--json", options->json, "as JSON: findings names what errs, by piece");
  verb->footer("Example: linac bench audit --seconds 10");
  verb->callback([options] { run_core_audit(*options); });
}

}  // namespace linac::cli
