// The board of leases, with a clock of the test and agents that are made up. What agents and services do to each other
// by real processes is in tests/service/pilot_test.py.

#include "linac/control/launch/pilots/pilot_board.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/launch/pilots/words.h"

namespace linac::launch {
namespace {

using namespace std::chrono_literals;

class Board : public testing::Test {
 protected:
  Board() { start(); }

  void start() {
    board_ = std::make_unique<PilotBoard>(60s, [this] { return now_; });
  }
  AttemptKey key(const std::string& label) const { return {label, folder_ / label}; }
  void offer(const std::string& label, const std::string& user = "ann", const std::vector<std::string>& tags = {}) {
    board_->prepare(key(label), {1, 100, 0, 600, user, tags});
    Command command;
    command.job = "name: " + label;
    command.secrets = {{"KEY", "value", false}};
    board_->offer(key(label), command);
  }
  static PilotAgent agent(const std::string& id, const std::string& user = "ann") {
    PilotAgent agent;
    agent.id = agent.name = id;
    agent.host = "h";
    agent.user = user;
    agent.all = agent.free = {2, 1000, 0, 3600};
    return agent;
  }
  std::optional<HandedWork> ask(const PilotAgent& agent) {
    board_->ask(agent);
    auto work = board_->take(agent.id);
    board_->leave(agent.id);
    return work;
  }
  static LeaseClaim claim(const HandedWork& work, const std::string& user = "ann") {
    return {work.label, work.secret, user};
  }
  HandedWork begun(const std::string& label, const std::string& agent_id = "a") {
    offer(label);
    const HandedWork work = ask(agent(agent_id)).value();
    board_->begin(claim(work), 5);
    return work;
  }
  AttemptState state(const std::string& label) { return board_->status(key(label)).state; }
  template <class Call>
  static bool over(Call&& call) {
    try {
      call();
      return false;
    } catch (const Refusal& refusal) {
      return refusal.kind() == RefusalKind::kState;
    }
  }

  TemporaryFolder folder_;
  PilotBoard::Clock::time_point now_{1000s};
  std::unique_ptr<PilotBoard> board_;
};

TEST_F(Board, HandsWorkToOneAgentAndAgainUntilItHasBegun) {
  offer("r-1");
  const auto work = ask(agent("a"));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->command.secrets.at(0).value, "value");
  EXPECT_EQ(ask(agent("a"))->secret, work->secret);  // its answer was lost
  EXPECT_FALSE(ask(agent("b")));
  EXPECT_TRUE(over([&] { board_->renew(claim(*work), {}); }));  // nothing is to be done before it has begun
  board_->begin(claim(*work), 5);
  board_->begin(claim(*work), 5);
  EXPECT_FALSE(ask(agent("a")));
  EXPECT_EQ(state("r-1"), AttemptState::kRunning);
}

TEST_F(Board, AnAgentOfAHostThatIsToBeAvoidedGetsNothing) {
  Demand demand{1, 100, 0, 600, "ann", {}, {"bad", "worse"}};
  board_->prepare(key("r-1"), demand);
  board_->offer(key("r-1"), {});
  PilotAgent bad = agent("a");
  bad.host = "bad";
  EXPECT_FALSE(ask(bad));
  board_->ask(bad);
  ASSERT_EQ(board_->vacancies().size(), 1U) << "what waits is not for it";
  EXPECT_EQ(board_->vacancies().front().host, "bad");
  EXPECT_TRUE(ask(agent("b")));
}

TEST_F(Board, OffersAgainWhatWasNotBegun) {
  offer("r-1");
  const auto first = ask(agent("a"));
  now_ += PilotBoard::kHandedMax + 1s;
  const auto second = ask(agent("b"));
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(over([&] { board_->begin(claim(*first), 5); }));
  board_->begin(claim(*second), 5);
  offer("r-2");
  EXPECT_TRUE(ask(agent("a")));
  PilotAgent leaves = agent("a");
  leaves.draining = true;
  EXPECT_FALSE(ask(leaves));
  EXPECT_TRUE(ask(agent("b")));  // at once
}

TEST_F(Board, LosesALeaseOfWhichNothingIsHeard) {
  const HandedWork work = begun("r-1");
  now_ += 59s;
  EXPECT_FALSE(board_->renew(claim(work), {}));
  now_ += 59s;
  EXPECT_EQ(state("r-1"), AttemptState::kRunning);
  now_ += 2s;
  EXPECT_EQ(state("r-1"), AttemptState::kLost);
  EXPECT_NE(board_->status(key("r-1")).reason.find("agent a on h was not heard of for 60 s"), std::string::npos);
  bool ran = false;
  EXPECT_TRUE(over([&] { board_->with_lease(claim(work), [&] { ran = true; }); }));
  EXPECT_TRUE(over([&] { board_->end(claim(work), Exit()); }));
  EXPECT_FALSE(ran);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "r-1" / "exit.json"));
}

TEST_F(Board, ALeaseDoesNotEndWhileSomethingOfItIsWritten) {
  const HandedWork work = begun("r-1");
  board_->with_lease(claim(work), [&] {
    now_ += 120s;
    EXPECT_EQ(state("r-1"), AttemptState::kRunning);
  });
  EXPECT_EQ(state("r-1"), AttemptState::kRunning);
}

TEST_F(Board, RefusesOtherSecretsAndOtherUsers) {
  const HandedWork work = begun("r-1");
  HandedWork guessed = work;
  guessed.secret[0] = guessed.secret[0] == '0' ? '1' : '0';
  EXPECT_TRUE(over([&] { board_->renew(claim(guessed), {}); }));
  guessed.secret.clear();
  EXPECT_TRUE(over([&] { board_->renew(claim(guessed), {}); }));
  EXPECT_TRUE(over([&] { board_->renew(claim(work, "bob"), {}); }));
  EXPECT_TRUE(over([&] { board_->renew({"r-2", work.secret, "ann"}, {}); }));
  EXPECT_FALSE(board_->renew(claim(work), {}));
}

TEST_F(Board, GivesJobsToTheirUsersAgentsAndToThoseOfAll) {
  offer("r-1", "ann");
  EXPECT_FALSE(ask(agent("b", "bob")));
  PilotAgent of_all = agent("c", "root");
  of_all.of_all = true;
  of_all.free.seconds_max = 599;
  EXPECT_FALSE(ask(of_all));  // it has not the time
  of_all.free.seconds_max = 0;
  const auto work = ask(of_all);
  ASSERT_TRUE(work);
  EXPECT_FALSE(work->own);
  EXPECT_THROW(board_->ask(agent("c", "bob")), Refusal);  // another's id
  offer("r-2", "bob", {"gpu", "here"});
  PilotAgent tagged = agent("d", "bob");
  tagged.tags = {"here"};
  EXPECT_FALSE(ask(tagged));
  tagged.tags = {"here", "more", "gpu"};
  EXPECT_TRUE(ask(tagged)->own);
}

TEST_F(Board, JobsOfOthersEndWithTheRightToThem) {
  offer("r-1", "ann");
  offer("r-2", "ann");
  PilotAgent shared = agent("c", "root");
  shared.of_all = true;
  LeaseClaim lease = claim(ask(shared).value(), "root");
  lease.for_all = true;
  board_->begin(lease, 5);
  EXPECT_FALSE(board_->renew(lease, {}));
  ASSERT_TRUE(ask(shared));
  shared.of_all = lease.for_all = false;  // its user is no admin any more
  EXPECT_FALSE(ask(shared));
  EXPECT_TRUE(over([&] { board_->renew(lease, {}); }));
}

TEST_F(Board, AUserDoesNotTakeAllPlacesForAgents) {
  for (size_t i = 0; i < PilotBoard::kAgentsOfUserMax; ++i) board_->ask(agent(std::to_string(i)));
  EXPECT_THROW(board_->ask(agent("more")), Refusal);
  board_->ask(agent("0"));
  board_->ask(agent("bobs", "bob"));
}

TEST_F(Board, OutputThatCannotBeWrittenIsNotTaken) {
  const HandedWork work = begun("r-1");
  std::filesystem::create_directory(folder_ / "r-1" / "output.txt");
  for (const int64_t from : {0, 5}) EXPECT_THROW(board_->add_output(claim(work), from, "abc"), Error);
  std::filesystem::remove(folder_ / "r-1" / "output.txt");
  ASSERT_EQ(mkfifo((folder_ / "r-1" / "output.txt").c_str(), 0600), 0);
  EXPECT_THROW(board_->add_output(claim(work), 0, "abc"), Error);  // and is not waited for
}

TEST_F(Board, HasRoomWhereAnAgentAsksAndNothingIsForIt) {
  EXPECT_TRUE(board_->vacancies().empty());
  board_->ask(agent("a"));
  board_->ask(agent("b", "bob"));
  EXPECT_EQ(board_->vacancies().size(), 2U);
  board_->prepare(key("r-1"), {1, 100, 0, 0, "bob", {}});
  ASSERT_EQ(board_->vacancies().size(), 1U);
  EXPECT_EQ(board_->vacancies()[0].user, "ann");
  board_->leave("a");
  EXPECT_TRUE(board_->vacancies().empty());
}

TEST_F(Board, FindsWhatRunsAfterARestart) {
  const HandedWork work = begun("r-1"), other = begun("r-2", "b");
  EXPECT_EQ(board_->add_output(claim(work), 0, "abc"), 3);
  board_->end(claim(other), Exit());
  offer("r-3");
  const auto handed = ask(agent("c"));
  start();
  for (const char* label : {"r-1", "r-2", "r-3"}) board_->prepare(key(label), {1, 100, 0, 0, "ann", {}});
  EXPECT_EQ(state("r-1"), AttemptState::kRunning);
  EXPECT_EQ(board_->status(key("r-1")).started_ms, 5);
  EXPECT_EQ(state("r-2"), AttemptState::kEnded);
  EXPECT_EQ(state("r-3"), AttemptState::kPrepared);
  EXPECT_EQ(board_->add_output(claim(work), 1, "bcd"), 4);
  EXPECT_EQ(board_->output(key("r-1"), 1, 2), "bc");
  EXPECT_TRUE(over([&] { board_->begin(claim(*handed), 5); }));  // it never began, and is offered anew
  now_ += 61s;
  EXPECT_EQ(state("r-1"), AttemptState::kLost);
}

TEST_F(Board, CancelsWhatWasNotBegunAndTellsWhatRuns) {
  offer("r-1");
  const auto handed = ask(agent("a"));
  board_->cancel(key("r-1"));
  EXPECT_EQ(state("r-1"), AttemptState::kEnded);
  EXPECT_TRUE(over([&] { board_->begin(claim(*handed), 5); }));
  const HandedWork work = begun("r-2");
  board_->cancel(key("r-2"));
  EXPECT_TRUE(board_->renew(claim(work), {}));
  board_->release(key("r-2"));
  EXPECT_TRUE(over([&] { board_->renew(claim(work), {}); }));
}

TEST_F(Board, ADamagedLeaseIsNobodysAndRunsOut) {
  const HandedWork work = begun("r-1");
  std::filesystem::resize_file(folder_ / "r-1" / "lease.json", 10);
  start();
  board_->prepare(key("r-1"), {1, 100, 0, 0, "ann", {}});
  EXPECT_EQ(state("r-1"), AttemptState::kRunning);
  EXPECT_TRUE(over([&] { board_->renew(claim(work), {}); }));
  EXPECT_TRUE(over([&] { board_->renew({"r-1", "", ""}, {}); }));
  now_ += 61s;
  EXPECT_EQ(state("r-1"), AttemptState::kLost);
}

TEST(PilotWords, ComeBackAsTheyWereAndNothingElseIsRead) {
  HandedWork work;
  work.label = "0123abcd-7";
  work.secret = "s";
  work.command.job = "name: a";
  work.command.environment = {{"A", "b"}};
  work.command.secrets = {{"KEY", std::string("\0\xff", 2), true}};
  work.demand = {2, 3, 4, 5, "ann", {}};
  work.own = true;
  const HandedWork read = work_from_json(to_json(work));
  EXPECT_EQ(read.label, work.label);
  EXPECT_EQ(read.command.secrets.at(0).value, work.command.secrets[0].value);
  EXPECT_EQ(read.command.environment, work.command.environment);
  EXPECT_EQ(read.demand, work.demand);
  for (const char* label : {"", "../x", "a/b", "-a", "a b", ".", "a\n"}) {
    nlohmann::json told = to_json(work);
    told["attempt"] = label;
    EXPECT_THROW(work_from_json(told), Refusal) << label;
  }
  nlohmann::json told = to_json(work);
  told["secrets"][0]["value"] = "0g";
  EXPECT_THROW(work_from_json(told), Refusal);
  EXPECT_THROW(work_from_json(nlohmann::json::array()), Refusal);
  EXPECT_THROW(use_from_json({{"cpu_s", "x"}}), Refusal);
  EXPECT_THROW(told_exit(nlohmann::json::object()), Refusal);
  EXPECT_EQ(told_exit(to_json(Exit())).status, 0);
  for (const char* name : {"status", "signal", "memory_peak_bytes", "ended_ms"})
    for (const nlohmann::json& number : {nlohmann::json(1e300), nlohmann::json(-1), nlohmann::json(0.5)}) {
      nlohmann::json exit = to_json(Exit());
      exit[name] = number;
      EXPECT_THROW(told_exit(exit), Refusal) << name << number;
    }
  EXPECT_THROW(use_from_json({{"read_bytes", 1e300}}), Refusal);
}

PilotAgent priced(PilotAgent agent, double price) {
  agent.price = price;
  return agent;
}

TEST_F(Board, GivesWorkToTheCheapestAgentThatCanHaveIt) {
  const PilotAgent dear = priced(agent("a"), 2), cheap = priced(agent("b"), 0.5);
  board_->ask(dear);
  board_->ask(cheap);
  offer("r-1");
  EXPECT_FALSE(board_->take("a"));
  EXPECT_TRUE(board_->take("b"));
  EXPECT_EQ(board_->status(key("r-1")).chosen, "0.25 USD an hour, no agent is cheaper") << "of one core of two";
  offer("r-2");
  EXPECT_TRUE(board_->take("a")) << "the cheap one has its work, and has not asked since";
  EXPECT_EQ(board_->status(key("r-2")).chosen, "1 USD an hour; cheaper: b (0.25) does not ask, or is full");
}

TEST_F(Board, PassesOverCheaperAgentsThatCannotHaveIt) {
  const auto chosen = [&](const std::string& label, const PilotAgent& cheap) {
    board_->ask(priced(agent("a"), 2));
    board_->ask(cheap);
    offer(label, "ann", {"site=T2"});
    EXPECT_FALSE(board_->take("b")) << label;
    auto tagged = priced(agent("a"), 2);
    tagged.tags = {"site=T2"};
    board_->ask(tagged);
    EXPECT_TRUE(board_->take("a")) << label;
    const std::string why = board_->status(key(label)).chosen;
    board_->release(key(label));
    const size_t colon = why.find(": ");
    return colon == std::string::npos ? why : why.substr(colon + 2);
  };
  PilotAgent cheap = priced(agent("b"), 0.5);
  EXPECT_EQ(chosen("untagged", cheap), "1 USD an hour, no agent is cheaper") << "of those with its tags";
  cheap.tags = {"site=T2"};
  PilotAgent changed = cheap;
  changed.free.seconds_max = 60;
  EXPECT_EQ(chosen("short", changed), "b (0.25) is not there for long enough");
  changed = cheap;
  changed.free.cores = 0;
  EXPECT_EQ(chosen("full", changed), "b (0.25) has no room");
  changed = cheap;
  changed.all.memory_mb = changed.free.memory_mb = 99;
  EXPECT_EQ(chosen("small", changed), "b (0.505) is too small");
}

TEST_F(Board, DoesNotWaitForACheaperAgentThatIsGone) {
  board_->ask(priced(agent("b"), 0.5));
  board_->leave("b");
  board_->ask(priced(agent("a"), 2));
  offer("r-1");
  EXPECT_FALSE(board_->take("a")) << "it may be between two questions";
  now_ += 3s;
  EXPECT_TRUE(board_->take("a"));
}

TEST_F(Board, DoesNotWaitAgainForACheaperAgentThatHasNotBegun) {
  board_->ask(priced(agent("b"), 0.5));
  offer("r-1");
  ASSERT_TRUE(board_->take("b"));
  now_ += 31s;
  board_->ask(priced(agent("b"), 0.5));
  board_->ask(priced(agent("a"), 2));
  EXPECT_TRUE(board_->take("a"));
}

TEST_F(Board, OffersTheRoomOfTheDearerAgentWhereTheCheaperWillTakeWhatWaits) {
  board_->ask(priced(agent("a"), 2));
  board_->ask(priced(agent("b"), 0.5));
  offer("r-1");
  const auto room = board_->vacancies();
  ASSERT_EQ(room.size(), 1u);
  EXPECT_TRUE(board_->take("b"));
}

}  // namespace
}  // namespace linac::launch
