#include "train/enqueue_turns.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/node.h"
#include "core/graph/op_def.h"

namespace towerflow::train {
namespace {

/// Returns the nodes that read from a reader or queue for `operation`.
std::vector<const Node*> sources_of(const Operation& operation) {
  std::vector<const Node*> sources, stack{&operation.node()};
  std::set<const Node*> seen;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    const std::string& op = node->op->name;
    if (op == "ReaderReadV2" || op.starts_with("QueueDequeue")) sources.push_back(node);
    for (const Tensor& input : node->inputs) stack.push_back(&input.node());
    for (const Node* control : node->control_inputs) stack.push_back(control);
  }
  return sources;
}

}  // namespace

EnqueueTurns make_enqueue_turns(ResourceStore& resources,
                                const std::vector<Operation>& enqueue_ops) {
  EnqueueTurns made;
  std::vector<const Node*> operations;
  std::vector<std::size_t> threads;
  std::vector<std::vector<const Node*>> sources;
  std::map<const Node*, int> users;  // number of operations, by source
  for (const Operation& operation : enqueue_ops) {
    const auto it = std::find(operations.begin(), operations.end(), &operation.node());
    made.members.push_back(static_cast<std::size_t>(it - operations.begin()));
    if (it != operations.end()) {
      ++threads[made.members.back()];
      continue;
    }
    operations.push_back(&operation.node());
    threads.push_back(1);
    sources.push_back(sources_of(operation));
    for (const Node* source : sources.back()) ++users[source];
  }
  if (operations.size() == 1) {
    const bool ordered =
        threads[0] == 1 || sources[0].size() != 1 || sources[0][0]->op->name == "ReaderReadV2";
    if (ordered) return made;
  }
  made.turns = std::make_shared<SourceTurns>(threads);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const bool own = sources[i].size() == 1 && users[sources[i][0]] == 1;
    const Node* node = own ? sources[i][0] : operations[i];
    NodeTurns::of(resources, node->name).assign({made.turns, i});
  }
  return made;
}

}  // namespace towerflow::train
