// The program `linac-data`: verbs that need no LibTorch start without it.

#include "linac/cli/common/handed_program.h"
#include "linac/cli/data/data_of_job.h"
#include "linac/cli/data/verbs.h"
#include "linac/io/clouds/clouds.h"

namespace {

using namespace linac;

/// Has it from `linac-compute`, which carries out the same line from its beginning.
class ByOtherProgram final : public cli::EventsOfJobs {
 public:
  explicit ByOtherProgram(char** argv) : argv_(argv) {}
  void print(const std::string&, bool) const override { hand_on(); }
  data::Transform transform(const std::string&, bool) const override { hand_on(); }
  void set_padding(const std::string&, std::vector<data::ColumnRequest>&) const override { hand_on(); }

 private:
  [[noreturn]] void hand_on() const { throw CLI::RuntimeError(cli::become(cli::kComputeProgram, argv_)); }
  char** const argv_;
};

void add_verbs(CLI::App& app) {
#define LINAC_ADD(name, summary) cli::add_##name##_verb(app);
  LINAC_VERBS(LINAC_NO_VERB, LINAC_ADD, LINAC_NO_VERB)
#undef LINAC_ADD
}

}  // namespace

int main(int argc, char** argv) {
  clouds::provide();
  const ByOtherProgram events(argv);
  cli::provide(events);
  cli::run_handed_program(argc, argv, add_verbs);
}
