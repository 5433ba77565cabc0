#include "cc/lists/node.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tensor_array_grad {
namespace {

constexpr int kRounds = 1000;

// A leaf with elements in the slots 0 to `count` - 1, and room for one more.
Reference<TreeNode> LeafOf(int count) {
  Reference<TreeNode> leaf(TreeNode::New(/*level=*/0, count + 1));
  for (int slot = 0; slot < count; ++slot) leaf->Insert(slot, new SharedElement(Tensor(slot)));
  return leaf;
}

// These tests show their faults under ThreadSanitizer (tools/sanitize.sh).

TEST(NodeTest, AReaderIsDoneBeforeTheLastOwnerChangesTheNode) {
  for (int round = 0; round < kRounds; ++round) {
    const Reference<TreeNode> leaf = LeafOf(4);
    leaf->Ref();
    std::thread reader([shared = leaf.get()] {
      EXPECT_EQ(shared->element(3)->value.scalar<int>()(), 3);
      shared->Unref();
    });
    while (!leaf->IsUnique()) std::this_thread::yield();
    leaf->Truncate(1);
    EXPECT_EQ(leaf->count(), 1);
    reader.join();
  }
}

TEST(NodeTest, ThreadsThatShareANodeChangeCopies) {
  for (int round = 0; round < kRounds / 10; ++round) {
    Reference<TreeNode> leaf = LeafOf(4);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      leaf->Ref();
      threads.emplace_back([shared = Reference<TreeNode>(leaf.get()), thread]() mutable {
        Reference<TreeNode> copy(TreeNode::CopyOf(*shared, 5));
        shared = nullptr;
        copy->Insert(4, new SharedElement(Tensor(10 + thread)));
        EXPECT_EQ(copy->element(2)->value.scalar<int>()(), 2);
        EXPECT_EQ(copy->element(4)->value.scalar<int>()(), 10 + thread);
      });
    }
    leaf = nullptr;  // the elements live on in the copies
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace tensor_array_grad
