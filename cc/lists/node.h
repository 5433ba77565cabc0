#ifndef CC_LISTS_NODE_H_
#define CC_LISTS_NODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "cc/base/block_pool.h"
#include "cc/base/release.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// The reference count of elements and nodes. Starts with one reference. No virtual functions, so
// that a leaf of one element is 24 bytes.
class Shareable {
 public:
  Shareable(const Shareable&) = delete;
  Shareable& operator=(const Shareable&) = delete;

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  // Whether the caller's reference is the only one. If so, no other thread can obtain one.
  bool IsUnique() const { return references_.load(std::memory_order_acquire) == 1; }

 protected:
  Shareable() = default;
  ~Shareable() = default;

  // Drops a reference; true if it was the last.
  bool Drop() { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<int32_t> references_{1};
};

// An owned reference to an element or node. The destructor drops it, also when an allocation
// throws.
struct GiveReferenceBack {
  template <typename Shared>
  void operator()(Shared* shared) const {
    shared->Unref();
  }
};
template <typename Shared>
using Reference = std::unique_ptr<Shared, GiveReferenceBack>;

// A tensor that many versions of a list share. Never changes once it is in a node.
class SharedElement final : public Shareable, public InBlock {
 public:
  explicit SharedElement(Tensor tensor) : value(std::move(tensor)) {}

  void Unref() {
    if (!Drop()) return;
    if (OwnsOthers(value.dtype())) Release(std::move(value));  // a list of lists of lists ...
    delete this;
  }

  Tensor value;

 private:
  ~SharedElement() = default;
};

// An inner or leaf node of the tree: up to 32 children, of which only those present take room.
//
//     level 2           node            slot = five bits of the index:
//                  .-----'  '-----.     (index >> 5 * level) & 31
//     level 1     node           node
//                  |         .---'  '---.
//     level 0     leaf      leaf      leaf    the children of leaves are SharedElements
//
// A node owns one reference to each child. Only a unique node that was reached through unique nodes
// may be changed. All other nodes are immutable. Reading is thread-safe.
class alignas(void*) TreeNode final : public Shareable {
 public:
  static constexpr int kBits = 5;
  static constexpr int kFanout = 1 << kBits;

  // An empty node with room for `capacity` children. New, CopyOf and Grow throw std::bad_alloc, and
  // have changed nothing then.
  static TreeNode* New(int level, int capacity);
  // A node with the same children (a reference to each) and room for `capacity` of them.
  static TreeNode* CopyOf(const TreeNode& node, int capacity);

  void Unref() {
    if (Drop()) Free(this);
  }

  int level() const { return level_; }
  uint32_t present() const { return present_; }
  bool has(int slot) const { return (present_ >> slot) & 1u; }
  int count() const { return __builtin_popcount(present_); }
  bool full() const { return count() == capacity_; }

  // The child in `slot`, or nullptr. `node` is for inner nodes, `element` for leaves.
  TreeNode* node(int slot) const { return static_cast<TreeNode*>(child(slot)); }
  SharedElement* element(int slot) const { return static_cast<SharedElement*>(child(slot)); }
  // The link to the child in `slot`. Requires: has(slot); writing requires a unique node.
  Shareable*& link(int slot) { return children()[Rank(slot)]; }

  // Puts `child` (whose reference the node takes) into a free slot.
  // Requires: unique, !has(slot), !full().
  void Insert(int slot, Shareable* child);
  // Removes the children in slots >= `slot`. Requires: unique.
  void Truncate(int slot);

  // Moves the children of `old` to a new node with more room and frees `old`. Requires: `old`
  // unique.
  static TreeNode* Grow(TreeNode* old);

 private:
  TreeNode(int level, int capacity)
      : capacity_(static_cast<uint8_t>(capacity)), level_(static_cast<uint8_t>(level)) {}
  ~TreeNode() = default;

  static void Free(TreeNode* node);

  int Rank(int slot) const { return __builtin_popcount(present_ & ((1u << slot) - 1u)); }
  Shareable* child(int slot) const {
    return has(slot) ? const_cast<TreeNode*>(this)->children()[Rank(slot)] : nullptr;
  }
  // The children are stored right after the node, in the order of their slots.
  Shareable** children() { return reinterpret_cast<Shareable**>(this + 1); }
  void UnrefChild(Shareable* child) const;

  uint32_t present_ = 0;
  const uint8_t capacity_;
  const uint8_t level_;
};
static_assert(sizeof(TreeNode) % alignof(Shareable*) == 0,
              "the children are stored behind the node");

}  // namespace tensor_array_grad

#endif  // CC_LISTS_NODE_H_
