#include "autodiff/why_none_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace towerflow {
namespace {

std::vector<std::string_view> name_parts(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto slash = name.find('/');
    parts.push_back(name.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    name.remove_prefix(slash + 1);
  }
}

/// Returns "tower" for "tower", "tower_1" and "tower1".
std::string_view without_tower_number(std::string_view part) {
  while (!part.empty() && part.back() >= '0' && part.back() <= '9') part.remove_suffix(1);
  while (!part.empty() && part.back() == '_') part.remove_suffix(1);
  return part;
}

/// Returns whether two names differ only in the number of one scope, and `inside` is in the scope
/// of the second: "tower_1/x" and "tower_0/x" for "tower_0/loss".
bool differ_by_tower(std::string_view a, std::string_view b, std::string_view inside) {
  const auto first = name_parts(a), second = name_parts(b), place = name_parts(inside);
  if (first.size() != second.size() || first.back() != second.back()) return false;
  std::size_t differs = first.size();
  for (std::size_t i = 0; i + 1 < first.size(); ++i) {
    if (first[i] == second[i]) continue;
    if (differs < first.size() || without_tower_number(first[i]).empty() ||
        without_tower_number(first[i]) != without_tower_number(second[i])) {
      return false;
    }
    differs = i;
  }
  return differs + 1 < place.size() &&
         std::equal(second.begin(), second.begin() + static_cast<std::ptrdiff_t>(differs) + 1,
                    place.begin());
}

/// Returns "'a/Cast' (model.cc:41)".
std::string place_of(const Operation& op) {
  std::string text = fmt::format("'{}'", op.name());
  if (op.site().known()) text += fmt::format(" ({})", op.site().text());
  return text;
}

/// Describes both ends of the gap: "; 'a' still depends on x, and 'b' leads from there to y".
std::string ends_text(const WhyNone& why) {
  std::string text = fmt::format("; '{}' still depends on x", why.towards_x.name());
  if (why.towards_y) text += fmt::format(", and '{}' leads from there to y", why.towards_y.name());
  return text;
}

std::string cause_text(const WhyNone& why, const Tensor& y, const Tensor& x,
                       const WhyNoneOptions& options) {
  switch (why.cause) {
    case NoneCause::connected:
      return "there is a gradient";
    case NoneCause::other_graph: {
      const bool same_name = y.graph().name_in_use(x.op().name());
      return fmt::format(
          "x is in another graph, created at {}{}", x.op().site().text(),
          same_name ? fmt::format("; '{}' of y's graph is another node", x.op().name()) : "");
    }
    case NoneCause::not_in_var_list: {
      std::string text = fmt::format("the var_list leaves '{}' out", x.op().name());
      if (!options.var_list->key.empty()) {
        text +=
            fmt::format("; it contains the variables of collection '{}'", options.var_list->key);
        if (options.var_list->scope)
          text += fmt::format(" with scope '{}'", *options.var_list->scope);
      }
      return text;
    }
    case NoneCause::stop_gradients_argument:
      return fmt::format("cut by the argument stop_gradients at {}{}", place_of(why.node),
                         ends_text(why));
    case NoneCause::stop_gradient:
      return fmt::format("cut at the stop_gradient {}{}", place_of(why.node), ends_text(why));
    case NoneCause::integer:
      return fmt::format("cut at the {} {}: integers and bools carry no gradient{}",
                         why.node.type(), place_of(why.node), ends_text(why));
    case NoneCause::no_gradient_op:
      return fmt::format("cut at {}, whose op {} has no gradient: {}{}", place_of(why.node),
                         why.node.type(), why.reason, ends_text(why));
    case NoneCause::assignment:
      return fmt::format(
          "y depends on x only through the assignment {}, and no gradient flows through an "
          "assignment{}",
          place_of(why.node), ends_text(why));
    case NoneCause::indices_or_shape:
      return fmt::format("{} uses x only as indices or as a shape{}", place_of(why.node),
                         ends_text(why));
    case NoneCause::other_tower:
      return fmt::format(
          "x belongs to another tower: y depends on its counterpart '{}'; the operations that use "
          "x end at '{}'",
          why.towards_y.name(), why.towards_x.name());
    case NoneCause::control_edge:
      return fmt::format(
          "y only waits for x: {} has '{}' as a control input, which carries no "
          "value{}",
          place_of(why.node), why.towards_x.name(), ends_text(why));
    case NoneCause::no_path:
      return fmt::format(
          "y does not depend on x: the operations that use x end at '{}'; y uses '{}'",
          why.towards_x.name(), why.towards_y.name());
    case NoneCause::y_unconnected:
      return fmt::format(
          "y does not depend on any variable: it comes from '{}'; the operations that use x end at "
          "'{}'",
          why.towards_y.name(), why.towards_x.name());
  }
  return "";
}

}  // namespace

const char* cause_name(NoneCause cause) {
  switch (cause) {
    case NoneCause::connected:
      return "connected";
    case NoneCause::other_graph:
      return "other_graph";
    case NoneCause::not_in_var_list:
      return "not_in_var_list";
    case NoneCause::stop_gradients_argument:
      return "stop_gradients_argument";
    case NoneCause::stop_gradient:
      return "stop_gradient";
    case NoneCause::integer:
      return "integer";
    case NoneCause::no_gradient_op:
      return "no_gradient_op";
    case NoneCause::assignment:
      return "assignment";
    case NoneCause::indices_or_shape:
      return "indices_or_shape";
    case NoneCause::other_tower:
      return "other_tower";
    case NoneCause::control_edge:
      return "control_edge";
    case NoneCause::no_path:
      return "no_path";
    case NoneCause::y_unconnected:
      return "y_unconnected";
  }
  return "";
}

const Node* tower_counterpart(const Node& node, const Node& y,
                              const std::vector<const Node*>& candidates) {
  for (const Node* candidate : candidates) {
    if (candidate != &y && candidate->op == node.op &&
        differ_by_tower(node.name, candidate->name, y.name))
      return candidate;
  }
  return nullptr;
}

std::string why_none_text(const WhyNone& why, const Tensor& y, const Tensor& x,
                          const WhyNoneOptions& options) {
  return fmt::format("gradient of y = {} with respect to x = {}: {}", y.name(), x.name(),
                     cause_text(why, y, x, options));
}

}  // namespace towerflow
