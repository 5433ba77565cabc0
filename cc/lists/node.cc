#include "cc/lists/node.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tensor_array_grad {

TreeNode* TreeNode::New(int level, int capacity) {
  return new (AllocateBlock(sizeof(TreeNode) + capacity * sizeof(Shareable*)))
      TreeNode(level, capacity);
}

TreeNode* TreeNode::CopyOf(const TreeNode& node, int capacity) {
  TreeNode* const copy = New(node.level_, capacity);
  copy->present_ = node.present_;
  Shareable** const from = const_cast<TreeNode&>(node).children();
  Shareable** const to = copy->children();
  const int count = node.count();
  for (int i = 0; i < count; ++i) {
    to[i] = from[i];
    to[i]->Ref();
  }
  return copy;
}

void TreeNode::Insert(int slot, Shareable* child) {
  const int rank = Rank(slot);
  Shareable** const all = children();
  std::copy_backward(all + rank, all + count(), all + count() + 1);
  all[rank] = child;
  present_ |= 1u << slot;
}

void TreeNode::Truncate(int slot) {
  if (slot >= kFanout) return;
  const int kept = Rank(slot);
  const int before = count();
  present_ &= (1u << slot) - 1u;
  for (int i = kept; i < before; ++i) UnrefChild(children()[i]);
}

TreeNode* TreeNode::Grow(TreeNode* old) {
  TreeNode* const grown = New(old->level_, std::min(kFanout, std::max(4, 2 * old->capacity_)));
  grown->present_ = old->present_;
  std::memcpy(grown->children(), old->children(), old->count() * sizeof(Shareable*));
  old->present_ = 0;  // the children have moved
  old->Unref();
  return grown;
}

void TreeNode::UnrefChild(Shareable* child) const {
  if (level_ == 0) {
    static_cast<SharedElement*>(child)->Unref();
  } else {
    static_cast<TreeNode*>(child)->Unref();
  }
}

void TreeNode::Free(TreeNode* node) {
  const int count = node->count();
  for (int i = 0; i < count; ++i) node->UnrefChild(node->children()[i]);
  node->~TreeNode();
  FreeBlock(node);
}

}  // namespace tensor_array_grad
