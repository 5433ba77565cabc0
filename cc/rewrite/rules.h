#ifndef CC_REWRITE_RULES_H_
#define CC_REWRITE_RULES_H_

#include "cc/rewrite/rule.h"

// The rules of the graph pass, in the order in which they run. The first two are in
// wrong_side_rules.cc, each of the others is in a file of its name.
namespace tensor_array_grad {

// Repairs a sum of equal terms in a branch of a conditional or in the body of a loop.
//
// TensorFlow's arithmetic optimizer replaces a sum of n equal terms by a product with a Const. The
// Const is to run where the term x is live, so the optimizer makes it wait for x. But it drops the
// output slot from the name of x, and so the Const waits for output 0 of a Switch if x is another
// output:
//
//     x = Switch(v, p):1;  AddN(x, x, x)
//  -> x = Switch(v, p):1;  Mul(Const(3), x);  the Const waits for Identity(Switch(v, p):0)
//
// Only one output of a Switch is live, so the product never is: a conditional has no value, and a
// loop variable has none after the first iteration. This rule makes the Const wait for the Switch
// itself:
//
// -> x = Switch(v, p):1;  Mul(Const(3), x);  the Const waits for Switch(v, p)
//
// The product is then live if and only if the sum was, whose terms all were x. The names show that
// the optimizer made the product of a sum: a product that a program made is not changed.
Rule SumOfEqualsRule();

// Repairs a stack of equal tensors in a branch or in the body of a loop.
//
// The arithmetic optimizer replaces it by a Tile and a Reshape, and drops the slot of x from the
// Tile's input too:
//
//     Pack(x, x), where x = Switch(v, p):1
//  -> Reshape(Tile(Switch(v, p):0, Const), Const);  both Const wait for Identity(Switch(v, p):0)
//
// The Tile keeps the control inputs of the Pack. The rule applies if one of them is the pivot of a
// branch or body, a copy of output k of a Switch by the same predicate, and k is not 0. The Pack
// could then run only if output k of the Switch was live, so x was that output.
Rule StackOfEqualsRule();

// Replaces the addition of a one-element list by an addition to one element of a list.
//
// The gradient of reading element i of a list is a list in which only element i is set. TensorFlow
// sums such lists with AddN. For each such operand this rule makes one op, and several ops form a
// chain:
//
//   AddN([a, TensorListSetItem(TensorListReserve(shape, n), i, x), ..])
//     ->  TensorArrayGrad>ListAccumulate(a, i, x, shape, n)
//     ->  TensorArrayGrad>ListAccumulateLike(a, i, x, l) if shape and n are those of a list l
//     ->  TensorListSetItem(a, i, AddN(TensorListGetItem(a, i, Shape(x)), x)) if the device has no
//         kernel for this library's op, because stock's list kernels are kept
//
// If the element is read in a branch of a conditional, the operand is a Merge. Each branch outputs
// such a list, a sum of such lists, or zeros. The running sum `a` is brought into the branches
// instead:
//
//   AddN([a, Merge(SetItem(..), ZerosLike(l))])
//     ->  Merge(ListAccumulateLike(s:1, ..), AddN(s:0, ZerosLike(l))), where s = Switch(a, p)
//
// A new node is dead if and only if the node that it replaces is dead or the AddN would have been.
// With stock's ops, zeros are not added: the branch passes the sum on.
//
// list_addend.h has the conditions. Several TensorListSetItem may share one TensorListReserve,
// because an earlier optimization merges equal nodes; the TensorListReserve is removed with the
// last of them. The length and element shape of `a` are known only at run time, so this library's
// op gets those of the removed list and makes the checks that AddN makes. Operands that are not
// one-element lists are summed first, so a sum of three or more lists, counting those summed in a
// branch, may be rounded differently. With stock's ops, a sum may be 0.0 where AddN gives -0.0,
// since GetItem reads an element without a value as 0.0.
Rule AccumulateIntoListRule();

// Replaces the addition of a slice's gradient by an addition to the part of the tensor that the
// slice was taken from. The gradient of an index is a tensor of the full size that is zero outside
// of that part.
//
//   AddN([a, G(..), H(..)])         ->  TensorArrayGrad>AddSlices(a, .., ..)
//   AddV2(a, AddN([G(..), H(..)]))  ->  TensorArrayGrad>AddSlices(a, .., ..)
//
// where G and H are StridedSliceGrad (the gradient of x[i]), Pad (of tf.slice), UnsortedSegmentSum
// (of tf.gather and embedding lookups; also transposed and reshaped, for other axes) or ScatterNd
// (of tf.gather_nd). If a loop indexes a tensor of N values, the cost of an iteration of its
// backward loop is then proportional to the size of the slice that was read, not to N.
//
// TF1 loops sum with Add or AddV2, whose operands may have different shapes. AddSlices compares the
// shapes at run time and then does what Add does.
//
// An operand may be a Merge, the output of a conditional that computes such gradients or zeros. A
// second Merge is made for it, whose inputs are variants made by SliceGradients.
//
// The order of the additions is kept. Operands between these gradients are added by a separate
// AddN. If all operands are such gradients, the first one stays a full tensor. slice_addend.h has
// the conditions.
Rule SliceSumRule();

// Makes the backward loop recompute values that follow from the number of the iteration, instead of
// popping them from lists that the forward loop filled.
//
//     forward iteration:   i -> TensorListPushBack(list, i);  p = Equal(FloorMod(i, 2), 0) -> ..
//     backward iteration:  TensorListPopBack(list) -> i, ..
// -> backward iteration:  i = Sub(i at the end, iterations + 1);  p = Equal(FloorMod(i, 2), 0)
//
// where `iterations` counts the backward iterations done so far. The index of x[:, i], Pack(0, i),
// also follows from i.
//
// Which values the rule replaces depends on the cost. The lists that LoopStackRule packs into one
// take eight nodes per iteration together, and about one more for each list. A value that is the
// same in all iterations (length and element shape of a list that is only read) is computed once,
// before the loop, so it is always replaced. The other values are replaced only if no list of the
// backward loop remains and if recomputing takes fewer nodes.
//
// A constant of a loop is live in the last iteration too, whose condition is false. A reader that
// would then run in that iteration reads the constant through an Identity that waits for the body.
//
// The rule applies only if the backward loop runs at most as many iterations as the forward loop,
// and if the list cannot reject a pushed value for its bound or its element shape.
Rule RecomputeRule();

// Packs the lists that a loop fills on one device, mostly for its backward loop, into one stack.
//
// while_v2 keeps each intermediate that a gradient needs in a list of its own: a variable of the
// forward loop, to which every iteration pushes, and a variable of the backward loop, from which
// every iteration pops. That is eight nodes per iteration for each list. After this rule it is
// eight nodes per iteration for all lists of one device together:
//
//   EmptyTensorList a, b, ..            NewLoopStack(a, b, ..)
//   forward:   TensorListPushBack(a, x), (b, y), ..   ->  PushLoopStack(all, x, y, ..)
//   backward:  TensorListPopBack(a), (b), ..          ->  PopLoopStack(all)
//
// A single list is packed too, because rows of the stack are cheaper than list elements. If the
// same tensor is pushed to several lists that begin as the same EmptyTensorList, the stack holds it
// once.
//
// A list that is never read is packed too, but the stack does not keep its values. Removing it
// would lose the error of a list that rejects an element, because of the element's shape or because
// the list is full; PushLoopStack raises that error as TensorListPushBack does. The same holds for
// a list whose popped values nothing reads. As an exception, floats are kept if the graph has a sum
// that depends on which buffers are shared (sum_order.h), because the list shares them.
//
// pushed_list.h has the conditions; the device must have the kernels. The one PushLoopStack depends
// on everything on which the single pushes depend. This makes no cycle, since within an iteration
// only the list's NextIteration depends on a push. The elements of each list keep their order; the
// order of pushes to different lists cannot be observed.
Rule LoopStackRule();

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_RULES_H_
