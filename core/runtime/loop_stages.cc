#include "core/runtime/loop_stages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "core/runtime/estimate.h"

namespace towerflow {
namespace {

// The shorter part must take at least this long in an iteration, and this share of it, so that
// handing values over pays.
constexpr double kLeastSeconds = 30e-6, kLeastShare = 0.2;

/// Finds groups of nodes that depend on each other (Tarjan's strongly connected components).
class StrongComponents {
 public:
  explicit StrongComponents(const std::vector<std::vector<int>>& before)
      : of(before.size(), -1),
        before_(before),
        number_(before.size(), -1),
        low_(before.size(), 0) {}

  /// Visits a node and all it depends on. Components are numbered after those before them.
  void visit(int node) {
    const auto at = static_cast<std::size_t>(node);
    if (number_[at] >= 0) return;
    number_[at] = low_[at] = next_++;
    open_.push_back(node);
    for (const int other : before_[at]) {
      const auto o = static_cast<std::size_t>(other);
      if (number_[o] < 0) {
        visit(other);
        low_[at] = std::min(low_[at], low_[o]);
      } else if (of[o] < 0) {
        low_[at] = std::min(low_[at], number_[o]);
      }
    }
    if (low_[at] != number_[at]) return;
    int member = -1;
    do {
      member = open_.back();
      open_.pop_back();
      of[static_cast<std::size_t>(member)] = count;
    } while (member != node);
    ++count;
  }

  std::vector<int> of;  ///< the component of each node that was visited
  int count = 0;

 private:
  const std::vector<std::vector<int>>& before_;
  std::vector<int> number_, low_, open_;
  int next_ = 0;
};

class BodySplit {
 public:
  BodySplit(const PlanLoop& loop, std::span<const Shape> feeds)
      : loop_(loop),
        body_(specialized(loop.body, feeds)),
        next_node_(loop.states, -1),
        before_(body_.nodes.size()),
        second_(body_.nodes.size(), false) {}

  std::optional<LoopStages> run(std::span<const Shape> feeds) {
    if (!condition_computes_only() || !keeps_shapes(feeds) || !find_next_nodes() ||
        !find_dependencies()) {
      return std::nullopt;
    }
    if (!choose_parts()) return std::nullopt;
    return make();
  }

 private:
  const PlanNode& node(int id) const { return body_.nodes[static_cast<std::size_t>(id)]; }

  /// Returns whether a node computes something in each iteration. Others are in both parts: feeds,
  /// constants, variables, and identities of these.
  bool computes(int id) const {
    const PlanNode& at = node(root_of(id));
    const bool given =
        at.inputs.empty() && (at.op->effect == Effect::pure || at.op->effect == Effect::variable);
    return !at.dead && at.feed < 0 && !given;
  }

  /// Looks through identities.
  int root_of(int id) const {
    while (node(id).op->name == "Identity" && node(id).guards.empty()) {
      id = node(id).inputs[0].node;
    }
    return id;
  }

  /// Returns whether the condition uses nothing that the body may change. The first part evaluates
  /// it before the second has ended the iteration.
  bool condition_computes_only() const {
    return std::all_of(
        loop_.condition.nodes.begin(), loop_.condition.nodes.end(), [](const PlanNode& at) {
          const bool computes = at.op->effect == Effect::pure || at.op->effect == Effect::variable;
          return at.dead || (computes && at.loop == nullptr);
        });
  }

  bool keeps_shapes(std::span<const Shape> feeds) const {
    for (std::size_t i = 0; i < loop_.states; ++i) {
      if (!feeds[i].fully_known()) return false;
      if (loop_.next[i] < 0) {
        if (loop_.next[i] != -1 - static_cast<int>(i)) return false;
      } else {
        const ValueId next = body_.fetches[static_cast<std::size_t>(loop_.next[i])];
        if (body_.spec(next).shape != feeds[i]) return false;
      }
    }
    return true;
  }

  bool find_next_nodes() {
    for (std::size_t i = 0; i < loop_.states; ++i) {
      if (loop_.next[i] < 0) continue;
      const int from = body_.fetches[static_cast<std::size_t>(loop_.next[i])].node;
      if (from < 0) return false;
      const int feed = node(root_of(from)).feed;
      if (feed >= 0 && feed != static_cast<int>(i)) return false;
      if (computes(from)) next_node_[i] = from;
    }
    return true;
  }

  bool can_move(const PlanNode& at) const {
    if (!at.guards.empty() || at.is_merge() || at.reads_absent() || at.loop != nullptr)
      return false;
    switch (at.op->effect) {
      case Effect::pure:
      case Effect::random:
        return true;
      case Effect::stateful:
        // Others, such as queues, may be how the body waits for another thread.
        return at.op->uses_run_object && !at.inputs.empty() && is_resource(at.inputs[0]);
      default:
        return false;
    }
  }

  bool is_resource(ValueId value) const { return body_.spec(value).dtype == DType::resource; }

  /// Returns the object that a resource is a handle of: each TensorArrayGradV3 of an array has
  /// another handle of the same array of gradients.
  ValueId object_of(ValueId resource) const {
    while (true) {
      const PlanNode& from = node(resource.node);
      if (from.inputs.empty() || !is_resource(from.inputs[0])) return resource;
      resource = from.inputs[0];
    }
  }

  /// Returns the node itself; of a feed, the node whose value it has from the second iteration on,
  /// or -1.
  int source_of(int id) const {
    const int feed = node(root_of(id)).feed;
    if (feed < 0) return computes(id) ? id : -1;
    return static_cast<std::size_t>(feed) < loop_.states
               ? next_node_[static_cast<std::size_t>(feed)]
               : -1;
  }

  bool find_dependencies() {
    std::map<ValueId, int> users;  // the last user of each object
    for (int id = 0; id < static_cast<int>(body_.nodes.size()); ++id) {
      if (!computes(id)) continue;
      const PlanNode& at = node(id);
      if (!can_move(at)) return false;
      auto& before = before_[static_cast<std::size_t>(id)];
      const auto add = [&](int source) {
        if (source >= 0) before.push_back(source);
      };
      for (const ValueId input : at.inputs) add(source_of(input.node));
      // What it only waits for may be in the other part: these nodes change nothing but objects of
      // the run, and the users of an object stay together, in order.
      if (at.op->effect != Effect::stateful) continue;
      const auto [user, is_first] = users.try_emplace(object_of(at.inputs[0]), id);
      if (is_first) continue;
      before.push_back(user->second);
      before_[static_cast<std::size_t>(user->second)].push_back(id);
      user->second = id;
    }
    return true;
  }

  /// Marks the components that the condition depends on: they must be in the first part.
  void mark_needed_first(const StrongComponents& components, std::vector<bool>& needed) const {
    std::vector<int> open;
    const auto need = [&](int id) {
      const int component = components.of[static_cast<std::size_t>(id)];
      if (needed[static_cast<std::size_t>(component)]) return;
      needed[static_cast<std::size_t>(component)] = true;
      open.push_back(component);
    };
    for (const PlanNode& at : loop_.condition.nodes) {
      if (at.dead || at.feed < 0 || static_cast<std::size_t>(at.feed) >= loop_.states) continue;
      const int next = next_node_[static_cast<std::size_t>(at.feed)];
      if (next >= 0 && is_read(loop_.condition, at)) need(next);
    }
    while (!open.empty()) {
      const int component = open.back();
      open.pop_back();
      for (std::size_t id = 0; id < before_.size(); ++id) {
        if (components.of[id] != component) continue;
        for (const int other : before_[id]) need(other);
      }
    }
  }

  static bool is_read(const PlanGraph& graph, const PlanNode& read) {
    const int id = static_cast<int>(&read - graph.nodes.data());
    const auto reads = [id](const ValueId value) { return value.node == id; };
    return std::any_of(graph.fetches.begin(), graph.fetches.end(), reads) ||
           std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const PlanNode& at) {
             return !at.dead && std::any_of(at.inputs.begin(), at.inputs.end(), reads);
           });
  }

  /// Orders the components as the tape does, what the condition needs first, and cuts them where
  /// the longer part is shortest. Returns whether that pays.
  bool choose_parts() {
    StrongComponents components(before_);
    for (int id = 0; id < static_cast<int>(body_.nodes.size()); ++id) {
      if (computes(id)) components.visit(id);
    }
    const auto count = static_cast<std::size_t>(components.count);
    std::vector<bool> needed(count, false);
    mark_needed_first(components, needed);
    std::vector<double> seconds(count, 0);
    std::vector<int> first_node(count, static_cast<int>(body_.nodes.size()));
    std::vector<int> waits_for(count, 0);
    std::vector<std::vector<int>> after(count);
    for (int id = 0; id < static_cast<int>(body_.nodes.size()); ++id) {
      const int own = components.of[static_cast<std::size_t>(id)];
      if (own < 0) continue;
      const auto at = static_cast<std::size_t>(own);
      seconds[at] += estimated_seconds(cost_in(body_, node(id)));
      first_node[at] = std::min(first_node[at], id);
      for (const int other : before_[static_cast<std::size_t>(id)]) {
        const int source = components.of[static_cast<std::size_t>(other)];
        if (source == own) continue;
        after[static_cast<std::size_t>(source)].push_back(own);
        ++waits_for[at];
      }
    }
    using Key = std::pair<std::pair<bool, int>, int>;  // not needed first, in tape order
    std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
    const auto push = [&](int component) {
      const auto at = static_cast<std::size_t>(component);
      ready.push({{!needed[at], first_node[at]}, component});
    };
    for (int i = 0; i < components.count; ++i) {
      if (waits_for[static_cast<std::size_t>(i)] == 0) push(i);
    }
    const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    double before = 0, shortest = total;
    std::vector<int> order;
    std::size_t cut = 0;
    while (!ready.empty()) {
      const int component = ready.top().second;
      ready.pop();
      order.push_back(component);
      before += seconds[static_cast<std::size_t>(component)];
      const bool may_cut = ready.empty() || ready.top().first.first;
      if (const double longer = std::max(before, total - before); may_cut && longer < shortest) {
        shortest = longer;
        cut = order.size();
      }
      for (const int next : after[static_cast<std::size_t>(component)]) {
        if (--waits_for[static_cast<std::size_t>(next)] == 0) push(next);
      }
    }
    if (total - shortest < std::max(kLeastSeconds, kLeastShare * total)) return false;
    std::vector<bool> is_second(count, false);
    for (std::size_t i = cut; i < order.size(); ++i) {
      is_second[static_cast<std::size_t>(order[i])] = true;
    }
    for (std::size_t id = 0; id < second_.size(); ++id) {
      if (components.of[id] >= 0) {
        second_[id] = is_second[static_cast<std::size_t>(components.of[id])];
      }
    }
    return true;
  }

  bool is_second(int id) const { return second_[static_cast<std::size_t>(id)]; }

  std::optional<LoopStages> make() {
    LoopStages made{.first = body_, .second = body_};
    made.first.fetches.clear();
    made.second.fetches.clear();
    made.first.targets.clear();
    made.second.targets.clear();
    for (std::size_t i = 0; i < loop_.states; ++i) {
      made.in_second.push_back(next_node_[i] >= 0 && is_second(next_node_[i]));
      if (loop_.next[i] < 0) {
        made.next.push_back(-1);
        continue;
      }
      PlanGraph& own = made.in_second[i] ? made.second : made.first;
      made.next.push_back(static_cast<int>(own.fetches.size()));
      own.fetches.push_back(body_.fetches[static_cast<std::size_t>(loop_.next[i])]);
    }
    std::set<int> targets(body_.targets.begin(), body_.targets.end());
    for (int id = 0; id < static_cast<int>(body_.nodes.size()); ++id) {
      if (computes(id) && node(id).op->effect != Effect::pure) targets.insert(id);
    }
    for (const int target : targets) {
      (is_second(target) ? made.second : made.first).targets.push_back(target);
    }
    for (PlanNode& at : made.first.nodes) {
      std::erase_if(at.control, [&](int awaited) { return is_second(awaited); });
    }
    if (!hand_over(made)) return std::nullopt;
    made.first.remove_unneeded();
    made.second.remove_unneeded();
    return made;
  }

  /// Makes what the second part reads of the first a fetch there, and a feed here.
  bool hand_over(LoopStages& made) {
    PlanGraph& second = made.second;
    std::map<ValueId, int> feeds;  // the node of the feed for a value of the first part
    std::vector<bool> is_passed(loop_.states, false);
    const int count = static_cast<int>(body_.nodes.size());
    for (int id = 0; id < count; ++id) {
      if (!is_second(id)) continue;
      std::vector<ValueId> inputs = node(id).inputs;
      for (ValueId& input : inputs) {
        const PlanNode& from = node(root_of(input.node));
        if (from.feed >= 0 && static_cast<std::size_t>(from.feed) < loop_.states) {
          const auto state = static_cast<std::size_t>(from.feed);
          is_passed[state] = made.next[state] >= 0 && !made.in_second[state];
        }
        if (!computes(input.node) || is_second(input.node)) continue;
        const OutputSpec& spec = body_.spec(input);
        if (spec.is_ref || spec.dtype == DType::string || !spec.shape.fully_known()) return false;
        const auto [feed, is_new] = feeds.try_emplace(input, static_cast<int>(second.nodes.size()));
        if (is_new) {
          second.nodes.push_back(make_feed(input, loop_.feeds.size() + made.crossing.size()));
          made.crossing.push_back(fetch_of(made.first, input));
        }
        input = {feed->second, 0};
      }
      second.nodes[static_cast<std::size_t>(id)].inputs = std::move(inputs);
    }
    for (std::size_t i = 0; i < loop_.states; ++i) {
      if (is_passed[i]) made.passed.push_back(i);
    }
    for (PlanNode& at : second.nodes) {
      std::erase_if(at.control,
                    [&](int awaited) { return computes(awaited) && !is_second(awaited); });
    }
    std::vector<int> order(second.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + count, order.end());
    second.reorder(order);
    for (PlanNode& at : second.nodes) {
      if (!at.dead) second.update_input_variable(at);
    }
    return true;
  }

  static std::size_t fetch_of(PlanGraph& graph, ValueId value) {
    const auto same = std::find(graph.fetches.begin(), graph.fetches.end(), value);
    const auto at = static_cast<std::size_t>(same - graph.fetches.begin());
    if (same == graph.fetches.end()) graph.fetches.push_back(value);
    return at;
  }

  PlanNode make_feed(ValueId value, std::size_t feed) const {
    const auto like = std::find_if(body_.nodes.begin(), body_.nodes.end(),
                                   [](const PlanNode& at) { return at.feed >= 0; });
    PlanNode made;
    made.op = like->op;
    made.outputs = {body_.spec(value)};
    made.values.resize(1);
    made.origin = node(value.node).origin;
    made.feed = static_cast<int>(feed);
    made.depends_on_feed = node(value.node).depends_on_feed;
    return made;
  }

  const PlanLoop& loop_;
  const PlanGraph body_;
  std::vector<int> next_node_;            // per loop variable: the node of its next value, or -1
  std::vector<std::vector<int>> before_;  // per node: the nodes whose part must not be later
  std::vector<bool> second_;              // per node
};

}  // namespace

std::optional<LoopStages> split_body(const PlanLoop& loop, std::span<const Shape> feeds) {
  if (loop.states == 0) return std::nullopt;
  return BodySplit(loop, feeds).run(feeds);
}

}  // namespace towerflow
