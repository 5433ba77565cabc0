#include "cc/flow/node_util.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/loop_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// The graph a -> b -> c, where `late` waits for b.
class NodeUtilTest : public testing::Test, protected LoopUnderTest {
 protected:
  NodeUtilTest() {
    Placeholder("a", DT_FLOAT);
    AddUnary("b", "Neg", DT_FLOAT, {"a"});
    AddUnary("c", "Neg", DT_FLOAT, {"b"});
    Placeholder("late", DT_FLOAT).add_input("^b");
  }
};

TEST_F(NodeUtilTest, InputOfAnInputThatDoesNotExistHasNoNode) {
  EXPECT_EQ(InputOf(*Find("b"), 0).node, Find("a"));
  EXPECT_EQ(InputOf(*Find("b"), 1).node, nullptr);
}

TEST_F(NodeUtilTest, AControlEdgeCountsAsAConsumer) {
  EXPECT_TRUE(HasOneConsumer(*Find("a")));
  EXPECT_FALSE(HasOneConsumer(*Find("b")));
  EXPECT_TRUE(IsWaitedFor(*Find("b")));
  EXPECT_FALSE(IsWaitedFor(*Find("a")));
  EXPECT_FALSE(WaitsForNothing(*Find("late")));
  EXPECT_TRUE(WaitsForNothing(*Find("c")));
}

TEST_F(NodeUtilTest, SkipIdentitiesStopsAtTheRefOfAVariable) {
  tensorflow::NodeDef& variable = Add("variable", "VariableV2");
  Set(variable, "dtype", DT_FLOAT);
  AddUnary("read", "Identity", DT_FLOAT, {"variable"});
  AddUnary("copy", "Identity", DT_FLOAT, {"read"});
  EXPECT_EQ(SkipIdentities({Find("copy"), 0}).node, Find("read"));
}

TEST_F(NodeUtilTest, ConstantsAreRead) {
  AddConst("one", {});
  Tensor value;
  EXPECT_TRUE(ConstantOf(*Find("one"), &value));
  EXPECT_THAT(value, TensorEq(Tensor(int32_t{1})));
  EXPECT_FALSE(ConstantOf(*Find("a"), &value));
  Find("one")->ClearAttr("value");
  Find("one")->AddAttr("value", Tensor(1.0f));
  EXPECT_FALSE(ConstantOf(*Find("one"), &value)) << "of another dtype than the node";
}

TEST_F(NodeUtilTest, OnlyPlusZeroIsZero) {
  EXPECT_TRUE(IsZero(Vec({0, 0})));
  EXPECT_FALSE(IsZero(Vec({0, -0.0F})));
  EXPECT_FALSE(IsZero(Vec({0, 1})));
  EXPECT_TRUE(IsZero(Vec({})));
}

TEST_F(NodeUtilTest, DevicesMustBeKnownAndEqual) {
  Named("c").set_device(kCpu1);
  EXPECT_TRUE(OnSameDevice(*Find("a"), *Find("b")));
  EXPECT_FALSE(OnSameDevice(*Find("b"), *Find("c")));
  Find("late")->set_assigned_device_name("");
  EXPECT_FALSE(OnSameDevice(*Find("late"), *Find("late")));
}

TEST_F(NodeUtilTest, AReplacementHasTheControlInputsOfWhatItReplaces) {
  Placeholder("first", DT_FLOAT);
  Named("b").add_input("^first");
  NodeDef def;
  def.set_name("new");
  def.set_op("Neg");
  Set(def, "T", DT_FLOAT);
  const auto added = AddReplacement(def, {{Find("a"), 0}}, *Find("b"), {Find("b")}, graph().get());
  ASSERT_OK(added.status());
  EXPECT_THAT(InputsOf("new"), UnorderedElementsAre("a", "^first"));
  EXPECT_EQ(added->node->assigned_device_name(), Find("b")->assigned_device_name());
  ASSERT_OK(Replace(Find("b"), added->node, {Find("first")}, graph().get()));
  EXPECT_EQ(Find("b"), nullptr);
  EXPECT_THAT(InputsOf("c"), ElementsAre("new"));
  EXPECT_THAT(InputsOf("late"), ElementsAre("^new"));
  EXPECT_NE(Find("first"), nullptr) << "`new` waits for it";
}

TEST_F(NodeUtilTest, AReplacementThatIsNoNodeChangesNothing) {
  NodeDef def;
  def.set_name("new");
  def.set_op("NoSuchOp");
  const int before = graph()->num_nodes();
  EXPECT_FALSE(AddReplacement(def, {}, *Find("b"), {}, graph().get()).ok());
  EXPECT_EQ(graph()->num_nodes(), before);
}

TEST_F(NodeUtilTest, OnlyUnusedNodesAreRemoved) {
  RemoveUnused({Find("b"), Find("c"), Find("c")}, graph().get());
  EXPECT_NE(Find("b"), nullptr);
  EXPECT_EQ(Find("c"), nullptr);
  RemoveUnused({Find("b")}, graph().get());
  EXPECT_NE(Find("b"), nullptr) << "`late` waits for it";
}

TEST_F(NodeUtilTest, ReadersAndWaitersMoveApart) {
  AddUnary("other", "Neg", DT_FLOAT, {"a"});
  ASSERT_OK(MoveOutput(Find("b"), 0, {Find("other"), 0}, graph().get()));
  EXPECT_THAT(InputsOf("c"), ElementsAre("other"));
  EXPECT_THAT(InputsOf("late"), ElementsAre("^b"));
  EXPECT_FALSE(IsRead(*Find("b"), 0));
  MoveWaits(Find("b"), Find("other"), graph().get());
  EXPECT_THAT(InputsOf("late"), ElementsAre("^other"));
  EXPECT_FALSE(IsUsed(*Find("b")));
}

TEST_F(NodeUtilTest, ConstantsOfLoopsAreEntersThatSaySo) {
  tensorflow::NodeDef& enter = AddUnary("enter", "Enter", DT_FLOAT, {"a"});
  Set(enter, "frame_name", std::string("loop"));
  tensorflow::NodeDef& constant = AddUnary("constant", "Enter", DT_FLOAT, {"a"});
  Set(constant, "frame_name", std::string("loop"));
  Set(constant, "is_constant", true);
  EXPECT_FALSE(IsConstantEnter(*Find("enter")));
  EXPECT_TRUE(IsConstantEnter(*Find("constant")));
  EXPECT_FALSE(IsConstantEnter(*Find("a")));
}

// ---- ChangeOrRestore

class ChangeOrRestoreTest : public testing::Test, protected GraphUnderTest {
 protected:
  ChangeOrRestoreTest() {
    Placeholder("x", DT_FLOAT);
    Set(Add("reader", "Identity", {"x"}), "T", DT_FLOAT);
    Set(Add("waiting", "Identity", {"x", "^reader"}), "T", DT_FLOAT);
    before_ = Bytes();
  }

  std::string Bytes() {
    std::string bytes;
    EXPECT_TRUE(tensorflow::SerializeToStringDeterministic(graph()->ToGraphDefDebug(), &bytes));
    return bytes;
  }

  // Removes a node that another one waits for, and half of what it leaves.
  void RemoveReader() {
    graph()->RemoveNode(Find("reader"));
    Find("waiting")->ClearAttr("T");
  }

  std::string before_;
};

TEST_F(ChangeOrRestoreTest, AChangeStays) {
  ASSERT_TRUE(ChangeOrRestore(
                  [this] {
                    RemoveReader();
                    return absl::OkStatus();
                  },
                  &graph())
                  .ok());
  EXPECT_NE(Bytes(), before_);
  EXPECT_EQ(Find("reader"), nullptr);
}

TEST_F(ChangeOrRestoreTest, AChangeThatFailsIsUndone) {
  const absl::Status status = ChangeOrRestore(
      [this] {
        RemoveReader();
        return absl::InternalError("no way on");
      },
      &graph());
  EXPECT_EQ(status.message(), "no way on");
  EXPECT_EQ(Bytes(), before_);
  EXPECT_EQ(Find("waiting")->assigned_device_name(), kCpu0);
}

TEST_F(ChangeOrRestoreTest, AChangeThatThrowsIsUndone) {
  const auto change = [this]() -> absl::Status {
    RemoveReader();
    throw std::bad_alloc();
  };
  EXPECT_THROW((void)ChangeOrRestore(change, &graph()), std::bad_alloc);
  EXPECT_EQ(Bytes(), before_);
}

}  // namespace
}  // namespace tensor_array_grad
