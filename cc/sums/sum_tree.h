#ifndef CC_SUMS_SUM_TREE_H_
#define CC_SUMS_SUM_TREE_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/flow/remarks.h"

// Sums of gradients, for the rules that add a part of a tensor or list to a sum without making the
// whole: slice_sum (slice_addend.h) and accumulate_into_list (list_addend.h).
namespace tensor_array_grad {

// Reasons why an addend is left.
inline constexpr char kSeveralReaders[] = "$0 has several readers: $1";
inline constexpr char kOtherDevice[] = "$0 is on another device than the sum";

// A sum or what is added there, as a tree. All its nodes are on the device of the sum.
struct Addend {
  enum Kind {
    kOther,    // an operand that is added as it is
    kPart,     // the gradient of an index, or a list of one element: only a part has values
    kZeros,    // in a branch
    kSum,      // AddN; also an Add at the root
    kBranches  // Merge of one addend per branch of a conditional
  };

  Kind kind;
  Source at;  // the value, before any Identities
  // NOLINTBEGIN(readability-redundant-member-init): g++ warns without {}
  // What may be removed once nothing reads it, consumers first: the Identities, then others.
  std::vector<Node*> nodes{};
  std::vector<Source> inputs{};  // kPart, kZeros: what a node reads that adds it
  std::vector<Addend> parts{};   // kSum: the operands. kBranches: the inputs of the Merge
  // NOLINTEND(readability-redundant-member-init)
};

// What a rule adds without making it. The functions note in a Reason why something is left,
// supposing that it has a part.
struct SumPattern {
  bool (*makes_part)(const Node& node);
  const char* effect;  // of leaving a part in a sum, for remarks

  // Matches found->at, a part or, in a branch, zeros. Sets the other fields.
  bool (*match_end)(Addend* found, const Node& sum, bool in_branch, Reason* why);
  // Whether `found` matches with all of its parts so far, the last of which is new.
  bool (*accepts)(const Addend& found, const Node& sum, Reason* why);
};

// Matches the operands of `sum`. Those that do not match, or have no part, become kOther.
Addend MatchSum(Node* sum, const SumPattern& pattern, Outcome* outcome);

// Notes that the addends of `sum`, of MatchSum, are left because of `why`.
void LeaveSum(const Addend& sum, const SumPattern& pattern, const Reason& why, Outcome* outcome);

// The index of the operand to which the others are added: the first that is kOther, else 0.
int FirstOf(const Addend& sum);

// Whether found->at comes from a node that leads to `sum` alone; if so, adds it to found->nodes.
bool Take(Addend* found, const Node& sum, Reason* why);

// If found->at comes from that op, which leads to `sum` alone, continues with its input 0 and
// returns the node.
const Node* Skip(const char* op, Addend* found, const Node& sum, Reason* why);

// Adds an AddN like `add` of other terms.
absl::StatusOr<Source> AddSum(const std::vector<Source>& terms, const Node& add,
                              const std::vector<Node*>& replaced, const std::string& name,
                              Graph* graph);

// Adds a node `name`, or several, that add addends to `sum`: `group` is a kSum of them, `before` of
// which come before the operand with which `sum` begins.
using AddGroup = absl::FunctionRef<absl::StatusOr<Source>(const Addend& group, int before,
                                                          Source sum, const std::string& name)>;

// Replaces `sum`, of MatchSum, if it has addends. Begins with operand FirstOf and adds the others
// in their order or, if not `in_order`, addends last. Addends that follow each other are a group;
// an AddN adds operands of kOther that follow each other. The last node gets the name of the sum,
// so that errors name the node of the user's program.
absl::Status ReplaceSum(const Addend& sum, bool in_order, AddGroup add, Graph* graph,
                        Outcome* outcome);

}  // namespace tensor_array_grad

#endif  // CC_SUMS_SUM_TREE_H_
