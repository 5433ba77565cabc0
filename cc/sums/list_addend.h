#ifndef CC_SUMS_LIST_ADDEND_H_
#define CC_SUMS_LIST_ADDEND_H_

#include <vector>

#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/sums/sum_tree.h"

namespace tensor_array_grad {

// The operands of a sum of lists that can be added to a list without being made. A part is
// SetItem(Reserve(shape, n), i, x): only element i is set. The SetItem may not resize its list, and
// has the element type of the Reserve. A branch with another list, such as the output of a loop,
// does not match. SidesOf all branches are known, and the device has the kernels that add all this.
//
// The inputs of a part are i, x, and then shape and n or, if these are read from a list, that list.
extern const SumPattern element_pattern;

// The op of this library that adds `element`, a kPart, to a list, without name and inputs. Its
// inputs are the list and those of the element.
NodeDef AccumulateOp(const Addend& element);

// For each part of `branches`, an output of a Switch that is live whenever the part is. All these
// Switches have one predicate, and the outputs differ. The first Switch is on the device of the
// Merge; of the others, only the slot is used.
std::vector<Source> SidesOf(const Addend& branches);

// A Switch like that of `side`, for lists.
NodeDef SwitchOfLists(Source side);

}  // namespace tensor_array_grad

#endif  // CC_SUMS_LIST_ADDEND_H_
