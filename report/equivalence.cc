#include "report/equivalence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/array/indexed_slices.h"
#include "report/batch_dependence.h"
#include "report/compared_session.h"
#include "report/loss_terms.h"

namespace towerflow {
namespace {

using report::BatchDependence;
using report::TermGradients;
using Vector = std::vector<double>;

double length_of(const Vector& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

/// Returns the norm of a * factor - b relative to that of b; 0 if both are zero.
double apart(const Vector& a, const Vector& b, double factor = 1) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] * factor - b[i]) * (a[i] * factor - b[i]);
  return sum == 0 ? 0 : std::sqrt(sum) / length_of(b);
}

/// Returns the factor for which b times it is nearest to a.
double multiple(const Vector& a, const Vector& b) {
  double product = 0, square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
    square += b[i] * b[i];
  }
  return square == 0 ? 1 : product / square;
}

/// Appends the elements of a gradient, or zeros where it is absent.
void append(Vector& to, const Array* gradient, const Variable& variable) {
  const auto size = static_cast<std::size_t>(variable.shape().elements());
  if (gradient == nullptr) {
    to.insert(to.end(), size, 0.0);
    return;
  }
  const Array values = cast_elements(*gradient, float64);
  to.insert(to.end(), values.data<double>(), values.data<double>() + size);
}

/// Tensors to fetch, and their places among the fetched values.
class Fetches {
 public:
  std::size_t add(const Tensor& tensor) {
    all_.emplace_back(tensor);
    return all_.size() - 1;
  }
  const std::vector<Fetch>& all() const { return all_; }

 private:
  std::vector<Fetch> all_;
};

/// The gradients of one loss or term in every tower of one side, and where they are fetched.
class SideGradients {
 public:
  SideGradients(const std::vector<Tensor>& of_towers, const std::vector<Variable>& variables,
                const std::string& name, Fetches& fetches)
      : variables_(variables) {
    for (std::size_t tower = 0; tower < of_towers.size(); ++tower) {
      made_.push_back(report::add_term_gradients(
          of_towers[tower], variables, fmt::format("gradients_of_{}_in_tower_{}", name, tower)));
      std::vector<std::ptrdiff_t>& at = at_.emplace_back();
      for (const Tensor& gradient : made_.back().of) {
        at.push_back(gradient.valid() ? static_cast<std::ptrdiff_t>(fetches.add(gradient)) : -1);
      }
    }
  }

  /// Returns the sum over the towers of each one's gradient times its weight.
  Vector sum(const std::vector<Array>& fetched, const std::vector<double>& weights) const {
    Vector sum;
    for (std::size_t tower = 0; tower < at_.size(); ++tower) {
      Vector own;
      for (std::size_t i = 0; i < variables_.size(); ++i) {
        const std::ptrdiff_t at = at_[tower][i];
        append(own, at < 0 ? nullptr : &fetched[static_cast<std::size_t>(at)], variables_[i]);
      }
      if (sum.empty()) sum.assign(own.size(), 0.0);
      for (std::size_t i = 0; i < own.size(); ++i) sum[i] += weights[tower] * own[i];
    }
    return sum;
  }

  const std::vector<TermGradients>& made() const { return made_; }

 private:
  std::vector<Variable> variables_;
  std::vector<TermGradients> made_;
  std::vector<std::vector<std::ptrdiff_t>> at_;  // of each tower and variable; -1 if absent
};

/// One term, or a whole loss, on both sides.
struct Both {
  std::vector<Tensor> one_towers, many_towers;
  SideGradients one, many;
  std::size_t value_one = 0;               ///< where its value is fetched
  std::vector<std::size_t> values_many{};  ///< of each tower
};

void check_sides(const EquivalenceRun& one, const EquivalenceRun& many) {
  const auto fits = [](const EquivalenceRun& side) {
    return std::all_of(side.trained.begin(), side.trained.end(), [&](const TrainedLoss& loss) {
      return loss.losses.size() == side.tower_sizes.size();
    });
  };
  if (one.tower_sizes.size() == 1 && one.trained.size() == many.trained.size() &&
      !many.tower_sizes.empty() && fits(one) && fits(many)) {
    return;
  }
  throw ValueError(fmt::format(
      "equivalence: {} towers with {} losses against {} towers with {}; it compares one tower "
      "with several, which have the same losses, one in each tower",
      one.tower_sizes.size(), one.trained.size(), many.tower_sizes.size(), many.trained.size()));
}

/// The variables that a loss trains, with what is applied to them on both sides.
struct TrainedVariables {
  std::vector<Variable> one, many;
  std::vector<OptionalGradient> applied_one, applied_many;
};

TrainedVariables trained_variables(const EquivalenceRun& one, const EquivalenceRun& many,
                                   std::size_t loss, const WhoTrains& who) {
  TrainedVariables found;
  for (std::size_t i = 0; i < who.variables.size(); ++i) {
    const VariableTraining& training = who.losses[loss][i];
    if (training.towers[0].kind != Training::dense && training.towers[0].kind != Training::slices) {
      continue;
    }
    const auto named = [&](const GradAndVar& pair) {
      return pair.var.name() == who.variables[i].name();
    };
    const auto x = std::find_if(one.run.grads.begin(), one.run.grads.end(), named);
    const auto y = std::find_if(many.run.grads.begin(), many.run.grads.end(), named);
    if (x == one.run.grads.end() || y == many.run.grads.end()) continue;
    found.one.push_back(x->var);
    found.many.push_back(y->var);
    found.applied_one.push_back(x->grad);
    found.applied_many.push_back(y->grad);
  }
  return found;
}

/// What is applied to the variables of a loss on one side.
class Applied {
 public:
  Applied(const std::vector<OptionalGradient>& grads, const std::vector<Variable>& variables,
          Fetches& fetches)
      : variables_(variables) {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      at_.push_back(-1);
      if (!grads[i]) continue;
      const auto default_graph = variables[i].graph().as_default();
      at_.back() =
          static_cast<std::ptrdiff_t>(fetches.add(dense_gradient(grads[i], Site::current())));
    }
  }

  Vector values(const std::vector<Array>& fetched) const {
    Vector all;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      append(all, at_[i] < 0 ? nullptr : &fetched[static_cast<std::size_t>(at_[i])], variables_[i]);
    }
    return all;
  }

 private:
  std::vector<Variable> variables_;
  std::vector<std::ptrdiff_t> at_;
};

/// A loss with its terms.
struct MeasuredLoss {
  std::string name;
  Both whole;
  std::vector<Both> terms;
  Applied applied_one, applied_many;
};

/// Measures one term. `size` is a norm to which differences are relative.
EquivalenceTerm measured(const Both& term, const std::vector<Array>& one,
                         const std::vector<Array>& many,
                         const std::vector<std::int64_t>& tower_sizes) {
  const auto towers = static_cast<double>(tower_sizes.size());
  double examples = 0;
  for (const std::int64_t size : tower_sizes) examples += static_cast<double>(size);
  std::vector<double> by_examples;
  for (const std::int64_t size : tower_sizes) {
    by_examples.push_back(static_cast<double>(size) / examples);
  }
  const Vector a = term.one.sum(one, {1.0});
  const Vector mean = term.many.sum(many, std::vector<double>(tower_sizes.size(), 1 / towers));
  EquivalenceTerm found{.name = term.one_towers[0].op().name(),
                        .site = term.one_towers[0].op().site(),
                        .share = length_of(a)};
  found.difference = apart(mean, a);
  found.factor = multiple(mean, a);
  found.beside = found.factor == 0 ? 1 : apart(mean, a, 1 / found.factor);
  found.weighted = apart(term.many.sum(many, by_examples), a);
  return found;
}

/// Returns the mean of the towers' values, relative to that of one tower.
double value_factor(const Both& term, const std::vector<Array>& one,
                    const std::vector<Array>& many) {
  const auto number = [](const Array& value) {
    return cast_elements(value, float64).item<double>();
  };
  double sum = 0;
  for (const std::size_t at : term.values_many) sum += number(many[at]);
  const double whole = number(one[term.value_one]);
  return whole == 0 ? 1 : sum / static_cast<double>(term.values_many.size()) / whole;
}

/// Measures a term without each of the causes on which it depends, and without all of them.
void find_causes(const Both& term, BatchDependence& dependence,
                 const std::vector<std::int64_t>& tower_sizes, EquivalenceTerm& found) {
  const std::string& scope_one = term.one.made()[0].scope;
  std::vector<std::string> scopes_many;
  for (const TermGradients& made : term.many.made()) scopes_many.push_back(made.scope);
  std::vector<BatchDependence::Cause> all;
  for (const BatchDependence::Cause& cause : dependence.causes()) {
    const std::size_t count = dependence.count(cause, term.one_towers[0]);
    if (count == 0) continue;
    const std::vector<Array> without = dependence.many_without({cause}, scope_one, scopes_many);
    found.causes.push_back(
        {.what = cause.what,
         .first = cause.of_one.front().op().name(),
         .count = count,
         .left = measured(term, dependence.one(), without, tower_sizes).difference});
    all.push_back(cause);
  }
  const std::vector<Array> without =
      all.empty() ? dependence.many() : dependence.many_without(all, scope_one, scopes_many);
  found.value = value_factor(term, dependence.one(), without);
  found.left = measured(term, dependence.one(), without, tower_sizes).difference;
}

}  // namespace

Equivalence equivalence(const EquivalenceRun& one, const EquivalenceRun& many) {
  check_sides(one, many);
  const WhoTrains who = who_trains_what(one.trained);
  Fetches fetches_one, fetches_many;
  std::vector<MeasuredLoss> losses;
  for (std::size_t i = 0; i < one.trained.size(); ++i) {
    const TrainedVariables variables = trained_variables(one, many, i, who);
    const auto both = [&](std::vector<Tensor> x, std::vector<Tensor> y, const std::string& name) {
      SideGradients of_one(x, variables.one, name, fetches_one);
      SideGradients of_many(y, variables.many, name, fetches_many);
      Both made{std::move(x), std::move(y), std::move(of_one), std::move(of_many)};
      made.value_one = fetches_one.add(made.one_towers[0]);
      for (const Tensor& tower : made.many_towers) {
        made.values_many.push_back(fetches_many.add(tower));
      }
      return made;
    };
    MeasuredLoss loss{
        .name = one.trained[i].name,
        .whole = both(one.trained[i].losses, many.trained[i].losses, fmt::format("loss_{}", i)),
        .terms = {},
        .applied_one = Applied(variables.applied_one, variables.one, fetches_one),
        .applied_many = Applied(variables.applied_many, variables.many, fetches_many)};
    std::vector<std::vector<Tensor>> terms_one{report::terms_of(one.trained[i].losses[0])};
    std::vector<std::vector<Tensor>> terms_many;
    bool alike = true;
    for (const Tensor& tower : many.trained[i].losses) {
      terms_many.push_back(report::terms_of(tower));
      alike &= terms_many.back().size() == terms_one[0].size();
    }
    for (std::size_t k = 0; alike && k < terms_one[0].size(); ++k) {
      std::vector<Tensor> of_towers;
      for (const auto& terms : terms_many) of_towers.push_back(terms[k]);
      loss.terms.push_back(
          both({terms_one[0][k]}, std::move(of_towers), fmt::format("loss_{}_term_{}", i, k)));
    }
    if (!alike) {
      loss.terms.push_back(
          both(one.trained[i].losses, many.trained[i].losses, fmt::format("loss_{}_term", i)));
    }
    losses.push_back(std::move(loss));
  }

  BatchDependence dependence(one, many, fetches_one.all(), fetches_many.all());
  const std::vector<Array>& at_one = dependence.one();
  const std::vector<Array> at_many = dependence.many();
  Equivalence result{.tower_sizes = many.tower_sizes, .terms = {}, .updates = {}};
  for (const MeasuredLoss& loss : losses) {
    const EquivalenceTerm whole = measured(loss.whole, at_one, at_many, many.tower_sizes);
    for (const Both& term : loss.terms) {
      EquivalenceTerm found = measured(term, at_one, at_many, many.tower_sizes);
      found.loss = loss.name;
      found.share = whole.share == 0 ? 0 : found.share / whole.share;
      if (found.difference > kEquivalenceRounding) {
        find_causes(term, dependence, many.tower_sizes, found);
      }
      result.terms.push_back(std::move(found));
    }
    const Vector applied_one = loss.applied_one.values(at_one);
    const Vector applied_many = loss.applied_many.values(at_many);
    const auto towers = many.tower_sizes.size();
    const double mean_norm = length_of(
        loss.whole.many.sum(at_many, std::vector<double>(towers, 1 / static_cast<double>(towers))));
    result.updates.push_back({.loss = loss.name,
                              .gradients = whole.difference,
                              .applied = apart(applied_many, applied_one),
                              .factor = multiple(applied_many, applied_one),
                              .kept_one = length_of(applied_one) / whole.share,
                              .kept_many = length_of(applied_many) / mean_norm});
  }
  return result;
}

}  // namespace towerflow
