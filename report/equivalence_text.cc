#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/equivalence.h"

namespace towerflow::types {
namespace {

bool near(double a, double b) { return std::abs(a - b) < 1e-3 * std::abs(b); }

bool is_uneven(const std::vector<std::int64_t>& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t one) { return one != sizes[0]; });
}

/// Returns why a term differs, in lines that begin with four spaces.
std::string reasons(const EquivalenceTerm& term, const std::vector<std::int64_t>& sizes) {
  const auto towers = static_cast<double>(sizes.size());
  std::string text;
  for (const EquivalenceCause& cause : term.causes) {
    text += fmt::format(
        "    {}: {} operations, first {}; with the results of the whole batch {:.2g} is left\n",
        cause.what, cause.count, cause.first, cause.left);
  }
  if (term.causes.size() > 1) {
    text += fmt::format("    with the results of the whole batch in all of these {:.2g} is left\n",
                        term.left);
  }
  if (near(term.value * towers, 1)) {
    text += fmt::format("    a sum over the batch: the mean over {} towers is 1/{} of it\n",
                        sizes.size(), sizes.size());
  } else if (is_uneven(sizes) && term.weighted < 0.5 * term.difference) {
    text += fmt::format(
        "    uneven batches: a mean of means; weighted by examples the difference is {:.2g}\n",
        term.weighted);
  }
  return text.empty() ? "    no operation was found whose results depend on the towers\n" : text;
}

std::string update_text(const EquivalenceUpdate& update, std::size_t towers) {
  const bool differs = update.applied > kEquivalenceRounding;
  std::string text =
      fmt::format("  {}: what is applied differs by {:.2g}", update.loss, update.applied);
  if (differs && near(update.factor, static_cast<double>(towers))) {
    return text + fmt::format(
                      "; it is {} times that of one tower: gradients are added up, weight "
                      "decay too\n",
                      towers);
  }
  text += fmt::format(", the gradients by {:.2g}", update.gradients);
  const bool changed = !near(update.kept_one, 1) || !near(update.kept_many, 1);
  if (!changed) return text + "; nothing changes them in between\n";
  text += fmt::format("; clipping or scaling leaves {:.4g} of the norm in one tower, {:.4g} in {}",
                      update.kept_one, update.kept_many, towers);
  if (differs && update.gradients <= kEquivalenceRounding) {
    text += ", since it is not done after the mean";
  }
  return text + "\n";
}

}  // namespace

bool EquivalenceTerm::equal() const { return difference <= kEquivalenceRounding; }

bool Equivalence::equal() const {
  return std::all_of(terms.begin(), terms.end(),
                     [](const EquivalenceTerm& term) { return term.equal(); }) &&
         std::all_of(updates.begin(), updates.end(), [](const EquivalenceUpdate& update) {
           return update.applied <= kEquivalenceRounding;
         });
}

std::string Equivalence::text() const {
  double most = 0;
  for (const EquivalenceTerm& term : terms) most = std::max(most, term.difference);
  for (const EquivalenceUpdate& update : updates) most = std::max(most, update.applied);
  std::string text = equal()
                         ? fmt::format(
                               "The towers train as one big batch does: no difference exceeds the "
                               "rounding of float32, {:.2g}.\n",
                               most)
                         : std::string("The towers do not train as one big batch does.\n");
  text += "\nTerms of the losses; norms of gradients, relative to the big batch\n";
  text += fmt::format("  {:>8}  {:>10}  {:>8}  {}\n", "of loss", "difference", "factor", "term");
  for (const EquivalenceTerm& term : terms) {
    text += fmt::format("  {:>8.2g}  {:>10.2g}  {:>8.4g}  {}: {}, made at {}\n", term.share,
                        term.difference, term.factor, term.loss, term.name, term.site.text());
    if (!term.equal()) text += reasons(term, tower_sizes);
  }
  text += "\nFrom the gradients to the update\n";
  for (const EquivalenceUpdate& update : updates) text += update_text(update, tower_sizes.size());
  return text;
}

}  // namespace towerflow::types
