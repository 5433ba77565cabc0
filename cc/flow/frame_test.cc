#include "cc/flow/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> NamesOf(const std::vector<Node*>& nodes) {
  std::vector<std::string> names;
  for (const Node* node : nodes) names.push_back(node->name());
  return names;
}

// The names of the items in order; "loop NAME" for an inner loop.
std::vector<std::string> Order(const Frame& frame) {
  const absl::StatusOr<std::vector<Item>> order = OrderOf(frame);
  if (!order.ok()) return {order.status().ToString()};
  std::vector<std::string> names;
  for (const Item& item : *order) {
    names.push_back(item.loop == nullptr ? item.node->name() : "loop " + item.loop->name);
  }
  return names;
}

// Expects that both names are in `names`, `first` before `second`.
void ExpectBefore(const std::vector<std::string>& names, const std::string& first,
                  const std::string& second) {
  const auto at = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name);
  };
  ASSERT_NE(at(first), names.end()) << first;
  ASSERT_NE(at(second), names.end()) << second;
  EXPECT_LT(at(first) - names.begin(), at(second) - names.begin()) << first << ", " << second;
}

class FrameTest : public testing::Test, protected FramesUnderTest {
 protected:
  FrameTest() {
    for (const char* name : {"zero", "ten", "step"}) Placeholder(name, DT_INT32);
  }
};

TEST_F(FrameTest, GraphWithoutLoopIsTheRootAlone) {
  AddUnary("copy", "Identity", DT_INT32, {"zero"});
  EXPECT_TRUE(root().is_root());
  EXPECT_EQ(root().name, "");
  EXPECT_THAT(root().children, IsEmpty());
  EXPECT_THAT(root().enters, IsEmpty());
  EXPECT_THAT(root().loop_conds, IsEmpty());
  EXPECT_THAT(NamesOf(root().nodes), UnorderedElementsAre("zero", "ten", "step", "copy"));
}

TEST_F(FrameTest, EmptyGraphHasARootWithoutNodes) {
  Clear();
  EXPECT_TRUE(root().is_root());
  EXPECT_THAT(root().nodes, IsEmpty());
}

TEST_F(FrameTest, NodesBelongToTheFrameInWhichTheyReadTheirInputs) {
  AddCounter("i", "zero", "ten", "step");
  AddUnary("after", "Identity", DT_INT32, {"i_exit"});
  const Frame& loop = FrameNamed("i");
  EXPECT_EQ(loop.parent, &root());
  EXPECT_FALSE(loop.is_root());
  EXPECT_THAT(root().children, ElementsAre(&loop));
  EXPECT_THAT(NamesOf(loop.nodes), UnorderedElementsAre("i_merge", "i_less", "i_cond", "i_switch",
                                                        "i_plus", "i_next", "i_exit"));
  EXPECT_THAT(NamesOf(loop.enters), UnorderedElementsAre("i_enter", "i_limit", "i_one"));
  EXPECT_THAT(NamesOf(loop.loop_conds), ElementsAre("i_cond"));
  EXPECT_THAT(NamesOf(root().nodes),
              UnorderedElementsAre("zero", "ten", "step", "i_enter", "i_limit", "i_one", "after"));
}

TEST_F(FrameTest, NodesAreSortedById) {
  AddCounter("i", "zero", "ten", "step");
  for (const Frame* frame : {&root(), &FrameNamed("i")}) {
    for (size_t k = 1; k < frame->nodes.size(); ++k) {
      EXPECT_LT(frame->nodes[k - 1]->id(), frame->nodes[k]->id());
    }
  }
}

TEST_F(FrameTest, ControlEdgesAloneMakeANodeBelongToTheFrame) {
  AddCounter("i", "zero", "ten", "step");
  AddConst("inside", {"^i_merge"});
  AddConst("outside", {});
  EXPECT_THAT(NamesOf(FrameNamed("i").nodes), Contains("inside"));
  EXPECT_THAT(NamesOf(root().nodes), Contains("outside"));
}

TEST_F(FrameTest, InnerLoopIsAChildOfTheOuterOne) {
  AddCounter("i", "zero", "ten", "step");
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  const Frame& outer = FrameNamed("i");
  const Frame& inner = FrameNamed("j");
  EXPECT_EQ(inner.parent, &outer);
  EXPECT_THAT(root().children, ElementsAre(&outer));
  EXPECT_THAT(outer.children, ElementsAre(&inner));
  EXPECT_THAT(NamesOf(outer.nodes), IsSupersetOf({"j_enter", "j_limit", "j_one"}));
  EXPECT_THAT(NamesOf(outer.nodes), Not(Contains("j_exit")));
  EXPECT_THAT(NamesOf(inner.nodes), Contains("j_exit"));
  EXPECT_THAT(NamesOf(outer.loop_conds), ElementsAre("i_cond"));
  EXPECT_THAT(NamesOf(inner.loop_conds), ElementsAre("j_cond"));
}

TEST_F(FrameTest, ExitLeadsOutOfTheInnerFrameOnly) {
  AddCounter("i", "zero", "ten", "step");
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddUnary("after_inner", "Neg", DT_INT32, {"j_exit"});
  AddUnary("after_outer", "Neg", DT_INT32, {"i_exit"});
  EXPECT_THAT(NamesOf(FrameNamed("i").nodes), Contains("after_inner"));
  EXPECT_THAT(NamesOf(root().nodes), Contains("after_outer"));
}

TEST_F(FrameTest, LoopsBesideEachOtherAreInOrderOfTheirFirstEnter) {
  AddCounter("b", "zero", "ten", "step");
  AddCounter("a", "zero", "ten", "step");
  AddCounter("c", "b_exit", "ten", "step");
  ASSERT_EQ(root().children.size(), 3);
  int before = -1;
  for (const Frame* loop : root().children) {
    EXPECT_EQ(loop->parent, &root());
    EXPECT_GT(loop->enters.front()->id(), before);
    before = loop->enters.front()->id();
  }
}

TEST_F(FrameTest, FrameWithTwoLoopCondsIsAnError) {
  AddCounter("i", "zero", "ten", "step");
  Add("second", "LoopCond", {"i_less"});
  EXPECT_THAT(FrameTree::Of(*graph()).status(),
              Fails(absl::StatusCode::kFailedPrecondition, "more than one LoopCond"));
}

TEST_F(FrameTest, NodeThatReadsFromTwoFramesIsAnError) {
  AddCounter("i", "zero", "ten", "step");
  AddBinary("mixed", "AddV2", DT_INT32, {"i_merge", "zero"});
  const absl::Status status = FrameTree::Of(*graph()).status();
  EXPECT_THAT(status, Fails(absl::StatusCode::kFailedPrecondition, "mixed"));
}

TEST_F(FrameTest, FrameEnteredFromTwoFramesIsAnError) {
  AddCounter("i", "zero", "ten", "step");
  AddConstantOf("j", "from_root", DT_INT32, "zero");
  AddConstantOf("j", "from_i", DT_INT32, "i_merge");
  AddBinary("both", "AddV2", DT_INT32, {"from_root", "from_i"});
  EXPECT_THAT(FrameTree::Of(*graph()).status(), Fails(absl::StatusCode::kFailedPrecondition, ""));
}

TEST_F(FrameTest, TooManyLoopsInEachOtherAreAnError) {
  std::string zero = "zero", ten = "ten", step = "step";
  for (int depth = 0; depth < 202; ++depth) {
    const std::string name = absl::StrCat("i", depth);
    AddCounter(name, zero, ten, step);
    zero = name + "_switch:1";
    ten = name + "_limit";
    step = name + "_one";
  }
  EXPECT_THAT(FrameTree::Of(*graph()).status(),
              Fails(absl::StatusCode::kFailedPrecondition, "is in more than 200 others"));
}

class OrderTest : public FrameTest {
 protected:
  // Adds the loop i, and a list and an item that tests let enter it.
  void AddLoopForList() {
    AddCounter("i", "zero", "ten", "step");
    Placeholder("values", DT_VARIANT);
    Placeholder("item", DT_FLOAT);
  }
  // Expects that every edge of the frame, except those to the next iteration, leads forward.
  void ExpectInputsFirst(const Frame& frame) {
    const absl::StatusOr<std::vector<Item>> order = OrderOf(frame);
    ASSERT_TRUE(order.ok()) << order.status();
    std::map<const Node*, int> position;
    int next = 0;
    for (const Item& item : *order) {
      if (item.loop == nullptr) {
        EXPECT_TRUE(position.insert({item.node, next}).second) << item.node->name() << " twice";
      } else {
        for (const Node* enter : item.loop->enters) position[enter] = next;
        for (const Node* node : item.loop->nodes) {
          if (node->IsExit()) position[node] = next;
        }
      }
      ++next;
    }
    for (const Node* node : frame.nodes) {
      ASSERT_EQ(position.count(node), 1) << node->name() << " is missing";
      for (const Edge* edge : node->in_edges()) {
        if (edge->src()->IsNextIteration() || position.count(edge->src()) == 0) continue;
        EXPECT_LT(position[edge->src()], position[node]) << edge->DebugString();
      }
    }
  }
};

TEST_F(OrderTest, EveryItemComesAfterItsInputs) {
  AddCounter("i", "zero", "ten", "step");
  AddConditional("i_less");
  AddUnary("x", "Switch", DT_INT32, {"i_merge", "i_less"});
  AddConst("constant", {"^pivot_f"});
  AddMerge("merged", DT_INT32, {"x:1", "constant"});
  AddCounter("j", "merged", "i_limit", "i_one");
  AddCounter("k", "j_exit", "i_limit", "i_one");
  AddBinary("sum", "AddV2", DT_INT32, {"k_exit", "j_exit"});
  for (const char* frame : {"", "i", "j", "k"}) ExpectInputsFirst(FrameNamed(frame));
}

TEST_F(OrderTest, LoopIsOneItem) {
  AddCounter("i", "zero", "ten", "step");
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddUnary("after", "Neg", DT_INT32, {"j_exit"});
  const std::vector<std::string> order = Order(FrameNamed("i"));
  ExpectBefore(order, "i_switch", "loop j");
  ExpectBefore(order, "loop j", "after");
  for (const char* name : {"j_enter", "j_exit", "j_less", "i_enter"}) {
    EXPECT_THAT(order, Not(Contains(name)));
  }
}

TEST_F(OrderTest, LoopComesAfterTheNodesThatOnlyItsEnterWaitsFor) {
  AddConst("effect", {});
  AddCounter("i", "zero", "ten", "step");
  Named("i_one").add_input("^effect");
  ExpectBefore(Order(root()), "effect", "loop i");
}

TEST_F(OrderTest, ListUpdateComesAfterReadersOfTheOldVersion) {
  AddLoopForList();
  AddVariableOf("i", "list", DT_VARIANT, "values", "set");
  AddConstantOf("i", "new_item", DT_FLOAT, "item");
  // One update is added before the readers and one after them. Without the deferral, one of the two
  // would run before a reader.
  const auto add_update = [this](const char* name) {
    Set(Add(name, "TensorListSetItem", {"list_switch:1", "i_switch:1", "new_item"}),
        "element_dtype", DT_FLOAT);
  };
  add_update("set");
  Set(Add("get", "TensorListGetItem", {"list_switch:1", "i_switch:1", "i_limit"}), "element_dtype",
      DT_FLOAT);
  Add("length", "TensorListLength", {"list_switch:1"});
  AddUnary("of_length", "Neg", DT_INT32, {"length"});
  add_update("set_too");
  const std::vector<std::string> order = Order(FrameNamed("i"));
  for (const char* update : {"set", "set_too"}) {
    for (const char* reader : {"get", "length", "of_length"}) ExpectBefore(order, reader, update);
  }
  ExpectInputsFirst(FrameNamed("i"));
}

TEST_F(OrderTest, ListUpdateComesAfterReadersOfACopyOfTheOldVersion) {
  AddLoopForList();
  // One reader waits for a variable that is added before the list, the other for one that is added
  // after it.
  AddVariableOf("i", "x", DT_INT32, "zero", "x_switch:1");
  AddVariableOf("i", "list", DT_VARIANT, "values", "set");
  AddVariableOf("i", "y", DT_INT32, "zero", "y_switch:1");
  AddConstantOf("i", "new_item", DT_FLOAT, "item");
  AddUnary("copy", "Identity", DT_VARIANT, {"list_switch:1"});
  Set(Add("set", "TensorListSetItem", {"list_switch:1", "i_limit", "new_item"}), "element_dtype",
      DT_FLOAT);
  for (const char* index : {"x", "y"}) {
    AddUnary(absl::StrCat(index, "_late"), "Neg", DT_INT32, {absl::StrCat(index, "_switch:1")});
    Set(Add(absl::StrCat("get_", index), "TensorListGetItem",
            {"copy", absl::StrCat(index, "_late"), "i_limit"}),
        "element_dtype", DT_FLOAT);
  }
  const std::vector<std::string> order = Order(FrameNamed("i"));
  for (const char* reader : {"get_x", "get_y"}) ExpectBefore(order, reader, "set");
}

TEST_F(OrderTest, ListUpdateComesAfterReadersOfAnUpdatedList) {
  AddLoopForList();
  AddVariableOf("i", "list", DT_VARIANT, "values", "second");
  AddConstantOf("i", "new_item", DT_FLOAT, "item");
  Set(Add("first", "TensorListPushBack", {"list_switch:1", "new_item"}), "element_dtype", DT_FLOAT);
  Set(Add("second", "TensorListPushBack", {"first", "new_item"}), "element_dtype", DT_FLOAT);
  Add("length", "TensorListLength", {"first"});
  const std::vector<std::string> order = Order(FrameNamed("i"));
  ExpectBefore(order, "first", "length");
  ExpectBefore(order, "length", "second");
  ExpectBefore(order, "second", "list_next");
}

TEST_F(OrderTest, LoopWhoseConstantComesFromItsOwnExitCannotBeOrdered) {
  AddCounter("i", "zero", "ten", "late");
  AddUnary("late", "Neg", DT_INT32, {"i_exit"});
  const absl::StatusOr<std::vector<Item>> order = OrderOf(root());
  EXPECT_THAT(order.status(), Fails(absl::StatusCode::kFailedPrecondition,
                                    "nodes of frame '' wait for each other"));
  EXPECT_TRUE(OrderOf(FrameNamed("i")).ok());
}

}  // namespace
}  // namespace tensor_array_grad
