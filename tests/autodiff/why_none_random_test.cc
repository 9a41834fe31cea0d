// why_none against gradients() and against reachability computed from the recipe of each graph. The
// recipe knows what its ops do and consults neither the registry nor the graph.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <random>

#include "core/graph/graph.h"
#include "tests/support/random_cases.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

enum class Kind {
  storage,      // a variable: float
  read,         // its value: float
  placeholder,  // float
  integers,     // an integer placeholder
  add,          // float, float
  tanh,         // float
  gather,       // float, integer
  stop,         // stop_gradient: float
  floor,        // no gradient: float
  assign,       // storage, float -> float
  to_integer,   // float -> integer
  shape,        // float -> integer
  sum,          // integer, integer -> integer
  from_integer  // integer -> float
};

struct Step {
  Kind kind;
  std::vector<int> inputs;
  int control = -1;  // the step whose op must run before this one
  Tensor tensor{};
};

bool is_float(Kind kind) {
  return kind != Kind::integers && kind != Kind::to_integer && kind != Kind::shape &&
         kind != Kind::sum;
}

/// A random program of a few steps on one or two towers.
class Recipe {
 public:
  explicit Recipe(std::mt19937& random) : random_(random), towers_(pick(3) == 0 ? 2 : 1) {
    const int variables = 1 + pick(3);
    for (int i = 0; i < variables; ++i) {
      const Variable made(0.5f, {.validate_shape = false, .name = fmt::format("v{}", i)});
      variables_.push_back(made);
      steps.push_back({Kind::storage, {}, -1, made.ref()});
      steps.push_back({Kind::read, {2 * i}, -1, made.value()});
    }
    shared_ = static_cast<int>(steps.size());
    const unsigned seed = random_();
    const int length = 6 + pick(14);
    for (int tower = 0; tower < towers_; ++tower) {
      std::optional<NameScope> scope;
      if (towers_ > 1) {
        scope.emplace(get_default_graph(), fmt::format("tower_{}", tower), Site::current());
      };
      random_.seed(seed);  // the same steps in each tower
      first_ = static_cast<int>(steps.size());
      for (int i = 0; i < length; ++i) add_step(i);
    }
    random_.seed(seed + 1);
  }

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  int towers() const { return towers_; }
  int shared() const { return shared_; }
  int tower_size() const { return (static_cast<int>(steps.size()) - shared_) / towers_; }
  const std::vector<Variable>& variables() const { return variables_; }
  /// Picks one of the last floating-point steps of the first tower.
  int pick_y() {
    const int end = shared_ + tower_size();
    for (int i = end - 1 - pick(3); i > shared_; --i) {
      if (is_float(steps[static_cast<std::size_t>(i)].kind)) return i;
    }
    return 1;
  }
  const Step& at(int i) const { return steps[static_cast<std::size_t>(i)]; }

  std::vector<Step> steps;

 private:
  /// Picks a step to use as an input, floating-point or integer, of this tower or of the variables.
  /// Returns -1 if it finds none.
  int pick_input(bool wanted_float) {
    for (int tries = 0; tries < 20; ++tries) {
      const int here = static_cast<int>(steps.size()) - first_;
      const int n = pick(shared_ + here);
      const int i = n < shared_ ? n : first_ + n - shared_;
      if (at(i).kind != Kind::storage && is_float(at(i).kind) == wanted_float) return i;
    }
    return -1;
  }

  void add_step(int number) {
    static constexpr Kind kKinds[] = {
        Kind::placeholder, Kind::integers, Kind::add,          Kind::add,
        Kind::add,         Kind::tanh,     Kind::tanh,         Kind::gather,
        Kind::stop,        Kind::floor,    Kind::assign,       Kind::to_integer,
        Kind::shape,       Kind::sum,      Kind::from_integer, Kind::from_integer};
    Step step{number == 0 ? Kind::placeholder : kKinds[pick(std::size(kKinds))], {}};
    switch (step.kind) {
      case Kind::add:
        step.inputs = {pick_input(true), pick_input(true)};
        break;
      case Kind::gather:
        step.inputs = {pick_input(true), pick_input(false)};
        break;
      case Kind::sum:
        step.inputs = {pick_input(false), pick_input(false)};
        break;
      case Kind::from_integer:
        step.inputs = {pick_input(false)};
        break;
      case Kind::assign:
        step.inputs = {2 * pick(shared_ / 2), pick_input(true)};
        break;
      case Kind::placeholder:
      case Kind::integers:
        break;
      default:
        step.inputs = {pick_input(true)};
    }
    const bool missing = std::count(step.inputs.begin(), step.inputs.end(), -1) > 0;
    // A fully known shape is a constant and has no inputs.
    if (missing || (step.kind == Kind::shape && tensor(step, 0).shape().fully_known())) {
      step.kind = Kind::placeholder;
      step.inputs.clear();
    }
    if (pick(6) == 0) step.control = pick_input(true);
    if (step.control >= 0) {
      const auto before = control_dependencies({Fetch(at(step.control).tensor)});
      step.tensor = built(step);
    } else {
      step.tensor = built(step);
    }
    steps.push_back(step);
  }

  const Tensor& tensor(const Step& step, std::size_t i) const { return at(step.inputs[i]).tensor; }

  Tensor built(const Step& step) const {
    switch (step.kind) {
      case Kind::placeholder:
        return placeholder(DType::float32, {.shape = Shape{None}});
      case Kind::integers:
        return placeholder(DType::int32, {.shape = Shape{None}});
      case Kind::add:
        return tensor(step, 0) + tensor(step, 1);
      case Kind::tanh:
        return tf::tanh(tensor(step, 0));
      case Kind::gather:
        return tf::gather(tf::reshape(tensor(step, 0), {-1}), tensor(step, 1));
      case Kind::stop:
        return tf::stop_gradient(tensor(step, 0));
      case Kind::floor:
        return tf::floor(tensor(step, 0));
      case Kind::assign:
        return tf::assign(variables_[static_cast<std::size_t>(step.inputs[0] / 2)], tensor(step, 1),
                          {.validate_shape = false});
      case Kind::to_integer:
        return tf::cast(tensor(step, 0), DType::int32);
      case Kind::shape:
        return tf::shape(tensor(step, 0));
      case Kind::sum:
        return tensor(step, 0) + tensor(step, 1);
      case Kind::from_integer:
        return tf::cast(tensor(step, 0), DType::float32);
      case Kind::storage:
      case Kind::read:
        break;
    }
    return {};
  }

  std::mt19937& random_;
  const int towers_;
  int shared_ = 0, first_ = 0;
  std::vector<Variable> variables_;
};

/// The transitive closure of a relation, computed by brute force.
class Closure {
 public:
  explicit Closure(std::size_t n) : n_(n), reaches_(n * n, false) {
    for (std::size_t i = 0; i < n; ++i) reaches_[i * n + i] = true;
  }
  void add(int from, int to) { reaches_[index(from, to)] = true; }
  void close() {
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t i = 0; i < n_; ++i) {
        if (!reaches_[i * n_ + k]) continue;
        for (std::size_t j = 0; j < n_; ++j) {
          if (reaches_[k * n_ + j]) reaches_[i * n_ + j] = true;
        }
      }
    }
  }
  bool operator()(int from, int to) const { return reaches_[index(from, to)]; }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * n_ + static_cast<std::size_t>(to);
  }
  std::size_t n_;
  std::vector<bool> reaches_;
};

struct Verdict {
  NoneCause cause;
  int step = -1;  // the step whose op is named; -1 if that is not certain
};

/// Returns what blocks the gradient between an input and a step, or nullopt if nothing does.
std::optional<Verdict> barrier(const Recipe& recipe, int from, int to, int stopped) {
  if (!is_float(recipe.at(from).kind)) return Verdict{NoneCause::integer, from};
  if (to == stopped) return Verdict{NoneCause::stop_gradients_argument, to};
  switch (recipe.at(to).kind) {
    case Kind::stop:
      return Verdict{NoneCause::stop_gradient, to};
    case Kind::floor:
      return Verdict{NoneCause::no_gradient_op, to};
    case Kind::assign:
      return Verdict{NoneCause::assignment, to};
    case Kind::to_integer:
      return Verdict{NoneCause::integer, to};
    case Kind::shape:
      return Verdict{NoneCause::indices_or_shape, to};
    default:
      return std::nullopt;
  }
}

Verdict expected(const Recipe& recipe, int y, int x, int stopped) {
  const std::size_t n = recipe.steps.size();
  Closure data(n), open(n), assigned(n), ordered(n), integers(n);
  for (int to = 0; to < static_cast<int>(n); ++to) {
    const Step& step = recipe.at(to);
    for (const int from : step.inputs) {
      for (Closure* all : {&data, &assigned, &ordered}) all->add(from, to);
      if (!barrier(recipe, from, to, stopped)) open.add(from, to);
      if (!is_float(recipe.at(from).kind) && !is_float(step.kind)) integers.add(from, to);
    }
    if (step.kind == Kind::assign) {
      assigned.add(to, step.inputs[0]);
      ordered.add(to, step.inputs[0]);
    }
    if (step.control >= 0) ordered.add(step.control, to);
  }
  for (Closure* each : {&data, &open, &assigned, &ordered, &integers}) each->close();
  if (open(x, y)) return {NoneCause::connected, y};
  if (data(x, y)) {
    std::optional<Verdict> best;
    for (int to = 0; to < static_cast<int>(n); ++to) {
      for (const int from : recipe.at(to).inputs) {
        if (!data(to, y)) continue;
        std::optional<Verdict> here;
        if (is_float(recipe.at(x).kind)) {
          if (open(x, from)) here = barrier(recipe, from, to, stopped);
        } else if (integers(x, from) && is_float(recipe.at(to).kind)) {
          const bool cast = recipe.at(to).kind == Kind::from_integer;
          if (best) continue;  // why_none names the first one
          here = Verdict{cast ? NoneCause::integer : NoneCause::indices_or_shape, to};
        }
        if (here && (!best || here->cause < best->cause)) best = here;
      }
    }
    return best.value();
  }
  const int size = recipe.tower_size(), second = recipe.shared() + size;
  if (x >= second && y >= recipe.shared() && x - size != y && data(x - size, y)) {
    return {NoneCause::other_tower, x};
  }
  if (assigned(x, y)) return {NoneCause::assignment};
  if (ordered(x, y)) return {NoneCause::control_edge};
  for (int i = 0; i < recipe.shared(); i += 2) {
    if (data(i, y)) return {NoneCause::no_path, x};
  }
  return {NoneCause::y_unconnected, y};
}

}  // namespace

TEST_CASE("why_none agrees with gradients and with brute force on 10,000 random graphs") {
  std::mt19937 random(4);
  std::map<NoneCause, int> seen;
  for (int trial = 0; trial < testing::random_cases(10'000); ++trial) {
    Graph graph;
    const auto guard = graph.as_default();
    Recipe recipe(random);
    const int y = recipe.pick_y();
    const int x = recipe.pick(static_cast<int>(recipe.steps.size()));
    const int stopped = recipe.pick(5) == 0 ? recipe.pick(y + 1) : -1;
    const Tensor ty = recipe.at(y).tensor, tx = recipe.at(x).tensor;
    WhyNoneOptions options;
    if (stopped >= 0) options.stop_gradients = {recipe.at(stopped).tensor};

    Verdict wanted = expected(recipe, y, x, stopped);
    bool same_call = true;  // whether gradients() can be asked the same (it has no var_list)
    if (recipe.pick(10) == 0) {
      options.var_list = std::vector<Variable>{recipe.variables()[0]};
      if (recipe.at(x).kind == Kind::storage && x != 0) {
        wanted = {NoneCause::not_in_var_list, x};
        same_call = false;
      }
    }
    const std::size_t before = graph.size();
    const WhyNone why = why_none(ty, tx, options);
    REQUIRE(graph.size() == before);
    ++seen[why.cause];
    INFO("graph ", trial, ": ", why.text, "; brute force says ", cause_name(wanted.cause));
    REQUIRE(why.cause == wanted.cause);
    if (wanted.step >= 0) REQUIRE(why.node == recipe.at(wanted.step).tensor.op());
    REQUIRE(!why.text.empty());
    if (!same_call) continue;
    const auto found = gradients({ty}, {tx}, {.stop_gradients = options.stop_gradients});
    REQUIRE(found[0].has_value() == why.connected());
  }
  // Each cause that such graphs can have must have occurred often.
  for (const NoneCause cause :
       {NoneCause::connected, NoneCause::not_in_var_list, NoneCause::stop_gradients_argument,
        NoneCause::stop_gradient, NoneCause::integer, NoneCause::no_gradient_op,
        NoneCause::assignment, NoneCause::indices_or_shape, NoneCause::other_tower,
        NoneCause::control_edge, NoneCause::no_path, NoneCause::y_unconnected}) {
    CAPTURE(cause_name(cause));
    CHECK(seen[cause] > testing::random_cases(20));
  }
}
