#include "cc/run/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "cc/base/tensorflow_names.h"
#include "cc/run/interpreter.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"
#include "cc/testing/probe_kernels.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/platform/threadpool.h"

namespace tensor_array_grad {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using tsl::profiler::TraceMeLevel;
using tsl::profiler::TraceMeRecorder;

TEST(TraceTest, EventOfAnOpHasItsNameAndItsTypeWithoutNamespace) {
  EXPECT_EQ(OpEvent("while/MatMul", "MatMul"), "while/MatMul:MatMul");
  EXPECT_EQ(OpEvent("pop", "TensorArrayGrad>PopLoopStack"), "pop:PopLoopStack");
}

TEST(TraceTest, EventOfALoopHasTheNameThatLoopCondBeginsWith) {
  NodeDef loop_cond;
  for (const auto& [name, event] :
       std::map<std::string, std::string>{{"a/while/LoopCond", "a/while:RunLoop"},
                                          {"a/while/LoopCond/_7", "a/while:RunLoop"},
                                          {"cond", "cond:RunLoop"}}) {
    loop_cond.set_name(name);
    EXPECT_EQ(LoopEvent(loop_cond), event);
  }
}

// The events of one thread, in the order in which they began. Each has a "." in front of it for
// each event that contains it.
std::vector<std::string> Nested(const TraceMeRecorder::ThreadEvents& thread) {
  std::vector<TraceMeRecorder::Event> events(thread.events.begin(), thread.events.end());
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return std::pair(a.start_time, -a.end_time) < std::pair(b.start_time, -b.end_time);
  });
  std::vector<std::string> nested;
  std::vector<int64_t> ends;
  for (const auto& event : events) {
    while (!ends.empty() && ends.back() <= event.start_time) ends.pop_back();
    nested.push_back(absl::StrCat(std::string(ends.size(), '.'), event.name));
    ends.push_back(event.end_time);
  }
  return nested;
}

// The loop
//
//     for i in range(limit):
//         sum = sum + (h + 1)         may trail: the nodes `more` and `summed`
//         h = h + 1                   the node `h_plus`
class LoopTraceTest : public testing::Test, protected FramesUnderTest {
 protected:
  LoopTraceTest() {
    TheSeen() = Seen();
    for (const char* name : {"start", "limit", "step"}) Placeholder(name, DT_INT32);
    for (const char* name : {"h0", "sum0"}) Placeholder(name, DT_FLOAT);
    AddCounter("i", "start", "limit", "step");
  }
  ~LoopTraceTest() override { SetTrailingThreadAfter(-1); }

  void AddSum() {
    AddVariableOf("i", "h", DT_FLOAT, "h0", "h_plus");
    Add("h_plus", "LoopTest>AddOneInPlace", {"h_switch:1"});
    AddVariableOf("i", "sum", DT_FLOAT, "sum0", "summed");
    AddBinary("summed", "AddV2", DT_FLOAT, {"sum_switch:1", "more"});
    Add("more", "LoopTest>AddOneInPlace", {"h_switch:1"});
  }

  void Run(int32_t limit) {
    ASSERT_OK(runner_.PrepareLoop(*this, "i"));
    values_ = {{"start", Tensor(0)},
               {"limit", Tensor(limit)},
               {"step", Tensor(1)},
               {"h0", Vec({0, 10})},
               {"sum0", Vec({0, 0})}};
    ASSERT_OK(runner_.Run(&values_));
    EXPECT_EQ(values_["start"].scalar<int32_t>()(), limit);
  }

  // The events of `limit` iterations, by thread.
  std::vector<std::vector<std::string>> EventsOf(int32_t limit, int level = kTraceLevel) {
    EXPECT_TRUE(TraceMeRecorder::Start(level));
    Run(limit);
    std::vector<std::vector<std::string>> found;
    for (const auto& thread : TraceMeRecorder::Stop()) found.push_back(Nested(thread));
    return found;
  }

  std::map<std::string, Tensor> values_;
  LoopRunner runner_;
};

TEST_F(LoopTraceTest, OpsAreInIterationsAndIterationsInTheLoop) {
  Add("probe", "LoopTest>Probe", {"i_switch:1"});
  EXPECT_THAT(EventsOf(2),
              ElementsAre(ElementsAre("i_cond:RunLoop",                            //
                                      ".Iteration#iteration=0#", "..i_less:Less",  //
                                      "..i_plus:AddV2", "..probe:Probe",           //
                                      ".Iteration#iteration=1#", "..i_less:Less",  //
                                      "..i_plus:AddV2", "..probe:Probe",           //
                                      ".Iteration#iteration=2#", "..i_less:Less")));
}

TEST_F(LoopTraceTest, InnerLoopsAndTheirIterationsAreNestedToo) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  EXPECT_THAT(EventsOf(1), ElementsAre(ElementsAre(
                               "i_cond:RunLoop", ".Iteration#iteration=0#", "..i_less:Less",
                               "..i_plus:AddV2", "..j_cond:RunLoop", "...Iteration#iteration=0#",
                               "....j_less:Less", "....j_plus:AddV2", "...Iteration#iteration=1#",
                               "....j_less:Less", ".Iteration#iteration=1#", "..i_less:Less")));
}

TEST_F(LoopTraceTest, OpInABranchThatIsNotTakenHasNoEvent) {
  AddBinary("below", "Less", DT_INT32, {"i_switch:1", "i_one"});  // in iteration 0 only
  AddUnary("side", "Switch", DT_INT32, {"i_switch:1", "below"});
  Add("taken", "LoopTest>Probe", {"side:1"});
  const auto found = EventsOf(3);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], Contains("..below:Less").Times(3));
  EXPECT_THAT(found[0], Contains("..taken:Probe").Times(1));
}

TEST_F(LoopTraceTest, LevelWithoutOpsHasNoEventOfTheLoop) {
  EXPECT_THAT(EventsOf(3, TraceMeLevel::kCritical), IsEmpty());
}

TEST_F(LoopTraceTest, VerboseLevelHasTheShapesOfTheInputs) {
  AddSum();
  const auto found = EventsOf(1, TraceMeLevel::kVerbose);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], Contains("..i_plus:AddV2#shape=(int32[];int32[])#"));
  EXPECT_THAT(found[0], Contains("..summed:AddV2#shape=(float[2];float[2])#"));
}

TEST_F(LoopTraceTest, TrailingPartHasIterationsOnItsThread) {
  AddSum();
  SetTrailingThreadAfter(0);
  tensorflow::thread::ThreadPool other(tensorflow::Env::Default(), "other", 1);
  runner_.UsePool([&other](const std::function<void()>& closure) {
    absl::Notification ended;
    other.Schedule([&] {
      closure();
      ended.Notify();
    });
    ended.WaitForNotification();
  });
  const auto found = EventsOf(4);
  ASSERT_THAT(found, SizeIs(2));
  const bool first_is_main = testing::Value(found[0], Contains("i_cond:RunLoop"));
  const auto& main = found[first_is_main ? 0 : 1];
  const auto& trailing = found[first_is_main ? 1 : 0];
  EXPECT_THAT(main, Contains("..h_plus:AddOneInPlace").Times(4));
  std::vector<std::string> want;
  for (int i = 0; i < 4; ++i) {
    want.push_back(absl::StrCat("Iteration#iteration=", i, "#"));
    want.insert(want.end(), {".more:AddOneInPlace", ".summed:AddV2"});
  }
  // The main thread runs the last iterations if they are light.
  ASSERT_THAT(trailing, SizeIs(testing::Ge(3)));
  want.resize(std::min(want.size(), trailing.size()));
  EXPECT_EQ(trailing, want);
  EXPECT_THAT(values_["sum0"], TensorEq(Vec({10, 50})));
}

TEST_F(LoopTraceTest, ProfilerMayStartAndStopInTheMiddleOfTheLoop) {
  AddSum();
  Add("probe", "LoopTest>Probe", {"i_switch:1"});
  size_t threads = 0;
  std::vector<std::string> found;
  TheSeen().at_probe = [&] {
    const size_t calls = TheSeen().numbers["probe"].size();
    if (calls == 3) TraceMeRecorder::Start(kTraceLevel);
    if (calls != 6) return;
    const auto events = TraceMeRecorder::Stop();
    threads = events.size();
    if (threads != 0) found = Nested(events.front());
  };
  Run(10);
  EXPECT_EQ(threads, 1);
  EXPECT_THAT(found, Contains("Iteration#iteration=3#"));
  EXPECT_THAT(found, Contains("Iteration#iteration=4#"));
  EXPECT_THAT(found, Not(Contains("i_cond:RunLoop"))) << "it began before the profiler";
  EXPECT_THAT(found, Not(Contains("Iteration#iteration=6#")));
  EXPECT_THAT(values_["h0"], TensorEq(Vec({10, 20})));
  EXPECT_THAT(values_["sum0"], TensorEq(Vec({55, 155})));
}

}  // namespace
}  // namespace tensor_array_grad
