#ifndef CC_REWRITE_REMARKS_H_
#define CC_REWRITE_REMARKS_H_

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "cc/flow/graph_names.h"

// What the rules of the graph pass did, and why they did not do more. A *remark* is about nodes
// that a rule could replace but for one condition, like a missed-optimization remark of a compiler.
namespace tensor_array_grad {

// One rewrite that was applied, as text.
struct Rewrite {
  std::string rule;
  std::string replaced;  // names of the replaced nodes, separated by commas
  std::string by;        // name of the node that replaces them
  std::string loop{};    // name of the frame that has the new node; "" outside of loops
};

// One rewrite that a rule did not apply, although `node` belongs to its pattern.
struct Remark {
  std::string rule;
  std::string node;
  std::string text;                   // a sentence, without the full stop
  std::vector<std::string> others{};  // names of the other nodes in `text`
  std::string loop{};                 // name of the frame that has `node`; "" outside of loops

  bool operator<(const Remark& other) const {
    return std::tie(rule, node, text) < std::tie(other.rule, other.node, other.text);
  }
};

// The first condition of a proof that does not hold; no text if all hold so far. It points to a
// constant text and to a node, so that it costs nothing if nothing asks for remarks.
struct Reason {
  const char* text = nullptr;  // a clause: $0 is the name of `node`, $1 are those of its readers
  const Node* node = nullptr;  // must exist until the remark is made

  // Returns `holds`. If it is false, and no reason is known yet, the reason is `otherwise`.
  bool Require(bool holds, const char* otherwise, const Node& about) {
    if (!holds && text == nullptr) *this = {otherwise, &about};
    return holds;
  }
};

// What the rules did with one graph.
struct Outcome {
  std::string rule;             // the rule that runs now
  bool wants_remarks = false;   // if not, `missed` stays empty
  std::vector<Rewrite> done{};  // in the order in which they were done
  std::set<Remark> missed{};

  void Did(std::string replaced, std::string by);

  // Adds the remark about `node` that says "`effect`, because `why`", unless it is there already,
  // or `why` has no text, or no remarks are wanted.
  void Missed(const Node& node, absl::string_view effect, const Reason& why);
};

// The first node for which `is_wanted` holds among `node` and the nodes whose values it passes on:
// those before Identity, Reshape, Transpose and Cast, before a Merge, and before an AddN, if there
// is such a node before each of its inputs. Null if there is none. A proof that began at `node` has
// then failed for a pattern that it looks for.
const Node* FindBehind(const Node& node, absl::FunctionRef<bool(const Node&)> is_wanted,
                       int depth = 0);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_REMARKS_H_
