#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "report/compared_session.h"
#include "report/counterparts.h"

namespace towerflow {
namespace {

using report::ComparedSession;
using report::Counterparts;
using report::VariableValues;

/// A value to fetch and compare.
struct Item {
  Counterparts of;
  std::optional<Shape> slices_of{};  ///< the shape of the variable if they are values and indices
  std::size_t bytes = 0;             ///< of one side, about
};

std::size_t fetched_bytes(const Counterparts& both) {
  constexpr std::size_t kUnknown = std::size_t{1} << 20;
  std::size_t sum = 0;
  for (const Tensor& tensor : both.a) {
    const bool known = tensor.shape().fully_known();
    sum += known ? static_cast<std::size_t>(tensor.shape().elements()) * dtype_size(tensor.dtype())
                 : kUnknown;
  }
  return sum;
}

/// Adds the gradients that both sides apply, by the names of the variables.
void add_gradients(const ComparedRun& a, const ComparedRun& b, std::vector<Item>& items) {
  for (const GradAndVar& one : a.grads) {
    const auto other = std::find_if(b.grads.begin(), b.grads.end(), [&](const GradAndVar& pair) {
      return pair.var.name() == one.var.name();
    });
    if (other == b.grads.end() || !one.grad || !other->grad) continue;
    if (one.grad->is_dense() != other->grad->is_dense()) continue;
    Item item{.of = {.name = "the gradient of " + one.var.name(), .a = {}, .b = {}}};
    if (one.grad->is_dense()) {
      item.of.a = {one.grad->dense()};
      item.of.b = {other->grad->dense()};
    } else {
      item.slices_of = one.var.shape();
      item.of.a = {one.grad->slices().values, one.grad->slices().indices};
      item.of.b = {other->grad->slices().values, other->grad->slices().indices};
    }
    items.push_back(std::move(item));
  }
}

/// Adds up slices of one row each at their indices.
Array dense_of(const Array& values, const Array& indices, const Shape& shape) {
  Array dense = Array::zeros(values.dtype(), shape);
  const Array rows = cast_elements(indices, int64);
  const std::int64_t width = rows.elements() == 0 ? 0 : values.elements() / rows.elements();
  dispatch_dtype(values.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; i < rows.elements(); ++i) {
      T* to = dense.data<T>() + rows.data<std::int64_t>()[i] * width;
      const T* from = values.data<T>() + i * width;
      for (std::int64_t k = 0; k < width; ++k) to[k] = static_cast<T>(to[k] + from[k]);
    }
  });
  return dense;
}

/// Takes the values of an item from fetched ones, of which `next` is the next.
Array take(const Item& item, const std::vector<Tensor>& tensors, const std::vector<Array>& fetched,
           std::size_t& next) {
  const auto begin = fetched.begin() + static_cast<std::ptrdiff_t>(next);
  next += tensors.size();
  if (item.slices_of) return dense_of(begin[0], begin[1], *item.slices_of);
  if (!item.of.axis) return begin[0];
  return report::joined({begin, begin + static_cast<std::ptrdiff_t>(tensors.size())},
                        *item.of.axis);
}

/// Returns the tower that computed the element at `index` of values joined along an axis.
std::optional<int> tower_at(const Item& item, const std::vector<Tensor>& tensors,
                            const Shape& shape, std::int64_t index, const std::string& prefix) {
  std::size_t part = 0;
  if (item.of.axis) {
    for (std::size_t axis = shape.rank(); axis-- > *item.of.axis + 1;) index /= shape.size(axis);
    index %= shape.size(*item.of.axis);
    while (index >= tensors[part].shape().size(*item.of.axis)) {
      index -= tensors[part++].shape().size(*item.of.axis);
    }
  }
  const auto place = report::place_in_tower(tensors[part].op().name(), prefix);
  return place ? std::optional(place->tower) : std::nullopt;
}

/// Looks for the first value that differs in one step.
class Search {
 public:
  Search(const ComparedRun& a, const ComparedRun& b, const VariableValues& initial,
         const VariableValues& after_a, const VariableValues& after_b, int step,
         const CompareOptions& options)
      : a_(a),
        b_(b),
        initial_(initial),
        after_a_(after_a),
        after_b_(after_b),
        step_(step),
        bytes_(options.bytes) {
    for (Counterparts& both :
         report::counterparts(a.step, {a.num_towers, a.tower}, b.step, {b.num_towers, b.tower})) {
      items_.push_back({.of = std::move(both)});
    }
    add_gradients(a, b, items_);
    for (Item& item : items_) item.bytes = fetched_bytes(item.of);
  }

  std::optional<DifferentValue> first() {
    std::optional<DifferentValue> found = first_of(items_);
    if (found && found->as_without_fetches) return found;
    // Values that the step keeps in memory anyway can be fetched without another kernel.
    const std::vector<Item> kept = kept_items();
    std::optional<DifferentValue> among_kept = first_of(kept);
    return among_kept && (!found || among_kept->as_without_fetches) ? among_kept : found;
  }

 private:
  /// Starts both sides and runs the steps before this one.
  ComparedSession started(const ComparedRun& run) const {
    ComparedSession session(run, initial_);
    for (int i = 1; i < step_; ++i) session.step(i);
    return session;
  }

  std::vector<Item> kept_items() const {
    const std::vector<std::string> launched_a = started(a_).launched(step_);
    const std::vector<std::string> launched_b = started(b_).launched(step_);
    const std::set<std::string> in_a(launched_a.begin(), launched_a.end());
    const std::set<std::string> in_b(launched_b.begin(), launched_b.end());
    std::vector<Item> kept;
    for (const Item& item : items_) {
      const auto all_in = [](const std::vector<Tensor>& tensors, const auto& names) {
        return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
          return names.contains(tensor.op().name());
        });
      };
      if (all_in(item.of.a, in_a) && all_in(item.of.b, in_b)) kept.push_back(item);
    }
    return kept;
  }

  std::optional<DifferentValue> first_of(const std::vector<Item>& items) const {
    std::set<std::string> equal;
    for (std::size_t begin = 0; begin < items.size();) {
      std::size_t end = begin, bytes = 0;
      while (end < items.size() && (end == begin || bytes + items[end].bytes <= bytes_)) {
        bytes += items[end++].bytes;
      }
      auto found = first_in({items.begin() + static_cast<std::ptrdiff_t>(begin),
                             items.begin() + static_cast<std::ptrdiff_t>(end)},
                            equal);
      if (found) return found;
      begin = end;
    }
    return std::nullopt;
  }

  std::optional<DifferentValue> first_in(const std::vector<Item>& items,
                                         std::set<std::string>& equal) const {
    std::vector<Fetch> fetches_a, fetches_b;
    for (const Item& item : items) {
      fetches_a.insert(fetches_a.end(), item.of.a.begin(), item.of.a.end());
      fetches_b.insert(fetches_b.end(), item.of.b.begin(), item.of.b.end());
    }
    ComparedSession session_a = started(a_), session_b = started(b_);
    const std::vector<Array> values_a = session_a.step(step_, fetches_a);
    const std::vector<Array> values_b = session_b.step(step_, fetches_b);
    std::size_t at_a = a_.step.size(), at_b = b_.step.size();
    for (const Item& item : items) {
      const Array x = take(item, item.of.a, values_a, at_a);
      const Array y = take(item, item.of.b, values_b, at_b);
      if (x.shape() != y.shape()) continue;
      const ArrayDistance distance = report::array_distance(x, y);
      if (distance.equal()) {
        equal.insert(item.of.name);
        continue;
      }
      DifferentValue found = described(item, x, y, distance);
      for (const Tensor& input : item.of.op().inputs()) {
        found.inputs.emplace_back(input.name(), equal.contains(input.name()));
      }
      found.equal_before = equal.size();
      found.as_without_fetches =
          session_a.variables() == after_a_ && session_b.variables() == after_b_;
      return found;
    }
    return std::nullopt;
  }

  DifferentValue described(const Item& item, const Array& x, const Array& y,
                           const ArrayDistance& distance) const {
    return {.name = item.of.name,
            .op = item.of.op().type(),
            .site = item.of.op().site(),
            .dtype = x.dtype(),
            .shape = x.shape(),
            .joined = item.of.axis.has_value(),
            .distance = distance,
            .a = report::element_text(x, distance.at),
            .b = report::element_text(y, distance.at),
            .tower_a = tower_at(item, item.of.a, x.shape(), distance.at, a_.tower),
            .tower_b = tower_at(item, item.of.b, y.shape(), distance.at, b_.tower)};
  }

  const ComparedRun &a_, &b_;
  const VariableValues &initial_, &after_a_, &after_b_;
  int step_;
  std::size_t bytes_;
  std::vector<Item> items_;
};

/// Returns the variables that differ, of those that both sides have.
std::vector<DifferentVariable> different(const VariableValues& a, const VariableValues& b) {
  std::vector<DifferentVariable> found;
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.dtype() != value.dtype() ||
        other->second.shape() != value.shape()) {
      continue;
    }
    const ArrayDistance distance = report::array_distance(value, other->second);
    if (!distance.equal()) found.push_back({name, distance});
  }
  return found;
}

/// Counts the variables of both sides, and lists the others.
void match_variables(const VariableValues& a, const VariableValues& b, Comparison& result) {
  const auto in = [](const VariableValues& values, const auto& one) {
    const auto other = values.find(one.first);
    return other != values.end() && other->second.dtype() == one.second.dtype() &&
           other->second.shape() == one.second.shape();
  };
  for (const auto& one : a) {
    if (in(b, one)) {
      ++result.variables;
    } else {
      result.only_a.push_back(one.first);
    }
  }
  for (const auto& one : b) {
    if (!in(a, one)) result.only_b.push_back(one.first);
  }
}

/// Returns the positions of the step's fetches that are comparable tensors.
std::vector<std::size_t> fetched_on_both(const ComparedRun& a, const ComparedRun& b) {
  std::vector<std::size_t> found;
  if (a.num_towers != b.num_towers || a.step.size() != b.step.size()) return found;
  for (std::size_t i = 0; i < a.step.size(); ++i) {
    if (a.step[i].slices() != nullptr || b.step[i].slices() != nullptr) continue;
    const auto &x = a.step[i].tensor(), &y = b.step[i].tensor();
    if (x && y && x->name() == y->name() && x->dtype() == y->dtype()) found.push_back(i);
  }
  return found;
}

}  // namespace

Comparison compare(const ComparedRun& a, const ComparedRun& b, const CompareOptions& options) {
  if (options.steps < 1 || a.step.empty() || b.step.empty()) {
    throw ValueError(fmt::format("compare: {} steps of {} and {} fetches", options.steps,
                                 a.step.size(), b.step.size()));
  }
  Comparison result{.steps = options.steps};
  VariableValues initial = ComparedSession(b, {}).variables();
  for (auto& [name, value] : ComparedSession(a, {}).variables()) initial[name] = value;
  ComparedSession session_a(a, initial), session_b(b, initial);
  match_variables(session_a.variables(), session_b.variables(), result);
  const std::vector<std::size_t> fetched = fetched_on_both(a, b);
  result.losses = fetched.size();
  VariableValues after_a, after_b;
  for (int step = 1; step <= options.steps; ++step) {
    const std::vector<Array> x = session_a.step(step), y = session_b.step(step);
    VariableValues now_a = session_a.variables(), now_b = session_b.variables();
    result.after = different(now_a, now_b);
    const bool same_fetches =
        std::all_of(fetched.begin(), fetched.end(), [&](std::size_t i) { return x[i] == y[i]; });
    if (!result.equal() || (result.after.empty() && same_fetches)) continue;
    result.first_step = step;
    after_a = std::move(now_a);
    after_b = std::move(now_b);
  }
  if (result.equal()) return result;
  result.first = Search(a, b, initial, after_a, after_b, result.first_step, options).first();
  return result;
}

}  // namespace towerflow
