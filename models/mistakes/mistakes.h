#pragma once

#include <string>
#include <vector>

namespace towerflow::models::mistakes {

/// Mistakes in programs with towers, as they were published or asked about: small programs that
/// fail or mislead as the original does.

struct Mistake {
  std::string name;     ///< "reuse_under_another_name": also the function in models/mistakes/
  std::string title;    ///< what the program does wrong, in a sentence
  std::string seen_in;  ///< the kind of program that has it
  std::string file;     ///< "models/mistakes/scopes.cc"
  std::string instead;  ///< what to write instead
  /// Builds and runs the program in the default graph; returns what it shows, or throws.
  std::string (*run)();
};

/// Returns all mistakes, in the order in which a program meets them.
const std::vector<Mistake>& all();

/// Returns the mistake of that name. Throws ValueError with the nearest name if there is none.
const Mistake& find(const std::string& name);

/// Runs the mistake in a graph of its own. Returns what it shows, or the text of its error.
std::string outcome(const Mistake& mistake);

// Scopes and variables: scopes.cc
std::string reuse_under_another_name();
std::string scope_of_a_tower();
std::string loop_not_wrapped();
std::string variables_not_shared();
// Gradients: gradients.cc
std::string absent_gradient_averaged();
std::string slices_averaged();
std::string function_zipped();
std::string optimizer_forgotten();
// Collections: collections.cc
std::string losses_of_all_towers();
std::string updates_collected_twice();
std::string updates_run_by_nobody();
std::string tags_stripped();
// Numbers: numbers.cc
std::string relu_on_logits();
std::string steps_counted_three_times();
std::string averages_not_ordered();

}  // namespace towerflow::models::mistakes
