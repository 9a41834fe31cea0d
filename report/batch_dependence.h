#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/compared_session.h"
#include "report/counterparts.h"
#include "report/equivalence.h"

namespace towerflow::report {

/// Finds the operations whose results depend on how a batch is divided among towers, and computes
/// what the towers would without that.
class BatchDependence {
 public:
  /// Operations of one kind: of one op and last name.
  struct Cause {
    std::string what;            ///< "batch normalization", "random numbers", or the op
    std::vector<Tensor> of_one;  ///< their outputs in the one tower, in tape order
    std::vector<Counterparts> outputs;
  };

  /// Runs the fetches of both sides from the initial values of `one`.
  BatchDependence(const EquivalenceRun& one, const EquivalenceRun& many,
                  const std::vector<Fetch>& fetches_one, const std::vector<Fetch>& fetches_many);

  const std::vector<Array>& one() const { return fetched_one_; }
  /// Returns the fetched values of the towers as they are.
  const std::vector<Array>& many() const { return fetched_many_; }
  /// Returns them with the results of causes replaced by those for the whole batch, and those of
  /// their gradients in the scopes of a term's gradients.
  std::vector<Array> many_without(const std::vector<Cause>& causes, const std::string& scope_one,
                                  const std::vector<std::string>& scopes_many) const;

  const std::vector<Cause>& causes();
  /// Returns the number of operations of the cause on which a value depends.
  std::size_t count(const Cause& cause, const Tensor& value) const;

 private:
  std::vector<Array> run(const ComparedRun& side, const std::vector<Fetch>& fetches,
                         const Feeds& feeds) const;
  /// Adds feeds of the towers' values of an output, cut from that of the one tower.
  void replace(const Counterparts& both, const Array& whole, Feeds& feeds) const;
  /// Returns the first value whose inputs agree and which does not, with these feeds; nullptr if
  /// there is none.
  const Counterparts* first_dependent(const Feeds& feeds) const;
  Cause cause_of(const Counterparts& first) const;
  void add_gradient_feeds(const Cause& cause, const std::string& scope_one,
                          const std::vector<std::string>& scopes_many, Feeds& feeds) const;

  const EquivalenceRun &one_, &many_;
  std::vector<Fetch> fetches_one_, fetches_many_;
  VariableValues initial_;
  std::vector<Counterparts> both_;  ///< forward values that are joined over towers
  std::vector<Array> values_one_;   ///< of these, in the one tower
  std::vector<Array> fetched_one_, fetched_many_;
  std::vector<Cause> causes_;
  bool looked_ = false;
};

}  // namespace towerflow::report
