#include "cc/compile/watch_loop.h"

#include <gtest/gtest.h>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

class WatchLoopTest : public testing::Test, protected FramesUnderTest {};

TEST_F(WatchLoopTest, AddsTwoNodes) {
  for (const char* name : {"zero", "ten", "step"}) Placeholder(name, DT_INT32);
  AddCounter("i", "zero", "ten", "step");
  const Frame& loop = FrameNamed("i");
  const int before = graph()->num_op_nodes();
  EXPECT_OK(WatchInExecutor(loop, 7, graph().get()));
  EXPECT_EQ(graph()->num_op_nodes(), before + 2);
  EXPECT_EQ(CountOf("TensorArrayGrad>NoteCondition"), 1);
  EXPECT_EQ(CountOf("TensorArrayGrad>NoteExit"), 1);
}

}  // namespace
}  // namespace tensor_array_grad
