#ifndef CC_LISTS_LOOP_STACK_H_
#define CC_LISTS_LOOP_STACK_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_variant.h"
#include "cc/lists/node.h"
#include "tensorflow/core/framework/variant_tensor_data.h"
#include "tensorflow/core/platform/intrusive_ptr.h"

namespace tensor_array_grad {

// One row of a loop stack: a tensor for each of several lists, and a reference to the row
// below. Never changes while it has more than one reference.
class LoopStackRow final : public Shareable {
 public:
  using Values = absl::InlinedVector<Tensor, 8>;

  // Makes a row of `values`, which are moved from, above `below`, which may be null. The row takes
  // over the caller's reference to `below`. Throws std::bad_alloc, having taken nothing.
  static LoopStackRow* New(absl::Span<Tensor> values, LoopStackRow* below);

  // Drops a reference. Frees the rows below in a loop, not by recursion, since there is a row per
  // iteration of the forward loop.
  void Unref();

  LoopStackRow* below() const { return below_; }
  absl::Span<const Tensor> values() const { return const_cast<LoopStackRow*>(this)->places(); }
  // The values, which are stored right after the row, in the same block. Only the owner of a row
  // that is unique may change them.
  absl::Span<Tensor> places() {
    return {reinterpret_cast<Tensor*>(this + 1), static_cast<size_t>(count_)};
  }
  // Moves the values out. Requires: unique, and the caller drops the reference next.
  Values Take() {
    return Values(std::make_move_iterator(places().begin()),
                  std::make_move_iterator(places().end()));
  }

 private:
  LoopStackRow(int count, LoopStackRow* below) : count_(count), below_(below) {}
  ~LoopStackRow() = default;

  void Free();

  const int count_;
  LoopStackRow* const below_;
};
static_assert(sizeof(LoopStackRow) % alignof(Tensor) == 0,
              "the values are stored right behind the row");

// A loop stack: several lists that grow and shrink together, by one element each. A forward
// loop pushes the values of each iteration that its backward loop needs. A push makes one row for
// all lists. Unlike PersistentList, it has no tree.
//
// Only the values of the first `kept()` lists are kept. Nothing reads the values of the others. A
// push to them can fail nevertheless, because of the shape of the value or because the list is
// full; the caller checks that before the push (ListSpec::Takes). A stack that keeps nothing only
// counts its rows.
//
// A value type. Versions of a stack share their rows, so copying is O(1). As thread-safe as a
// ListVariant, and also stored in a Variant without an allocation. Only the ops that push and pop
// read it.
class LoopStack {
 public:
  static constexpr char kTypeName[] = "tensor_array_grad::LoopStack";

  LoopStack() : LoopStack({}, 0) {}  // variants must be default constructible
  // Empty lists of these specs, of which the first `kept` are kept. Requires: kept <= specs.size().
  LoopStack(std::vector<ListSpec> specs, size_t kept)
      : lists_(std::make_shared<const Lists>(Lists{std::move(specs), kept})) {}

  const std::vector<ListSpec>& specs() const { return lists_->specs; }
  size_t kept() const { return lists_->kept; }
  int64_t size() const { return size_; }

  // Pushes a row. Requires: a value for each list that is kept, of its dtype. Throws
  // std::bad_alloc, as Pop, Copy and Decode do; nothing has changed then.
  void Push(LoopStackRow::Values row);
  // Removes the last row and returns it. Requires: size() > 0.
  LoopStackRow::Values Pop();

  // Sets `to` to `from` with every value copied to another device by `copy`, from the oldest row
  // on. A copy may end after `copy` has returned. On error `to` is unchanged. O(values).
  static absl::Status Copy(const LoopStack& from, LoopStack* to, const CopyFunction& copy);

  // Required of a type in a Variant. Encode has to work, because the runtime folds empty
  // loop stacks to constants and serialises those.
  std::string TypeName() const { return kTypeName; }
  std::string DebugString() const { return "LoopStack"; }
  void Encode(tensorflow::VariantTensorData* data) const;
  // False, with this unchanged, for data that Encode did not write.
  bool Decode(const tensorflow::VariantTensorData& data);

 private:
  struct Lists {
    std::vector<ListSpec> specs;
    size_t kept;
  };

  std::shared_ptr<const Lists> lists_;
  tensorflow::core::IntrusivePtr<LoopStackRow> top_;  // null if no list is kept
  int64_t size_ = 0;
};

}  // namespace tensor_array_grad

// As for ListVariant: does not hash the type's name at every Variant::get<LoopStack>().
template <>
inline tensorflow::TypeIndex tensorflow::TypeIndex::Make<tensor_array_grad::LoopStack>() {
  static const char* const name = typeid(tensor_array_grad::LoopStack).name();
  static const uint64_t hash = Hash64(name);
  return TypeIndex(hash, name);
}

#endif  // CC_LISTS_LOOP_STACK_H_
