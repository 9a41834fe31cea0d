#include "models/mistakes/mistakes.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/graph/nearest.h"

namespace towerflow::models::mistakes {

const std::vector<Mistake>& all() {
  static const std::vector<Mistake> mistakes{
      {"reuse_under_another_name",
       "The second discriminator is to reuse the variables of the first, in a scope of another "
       "name.",
       "three-stage GAN", "models/mistakes/scopes.cc",
       "Build both in one scope, `discriminator`, the second time with `{.reuse = true}`.",
       reuse_under_another_name},
      {"scope_of_a_tower",
       "The variables are collected by the name of a tower, which is in no variable's name.",
       "three-stage GAN", "models/mistakes/scopes.cc",
       "Collect `discriminator`: all towers share these variables.", scope_of_a_tower},
      {"loop_not_wrapped",
       "`reuse_variables()` is called in the root scope and outlives the loop over towers, so that "
       "Adam finds no slots to reuse.",
       "VAE-GAN", "models/mistakes/scopes.cc",
       "Open `tf::variable_scope(tf::get_variable_scope())` around the loop. Without strict slots "
       "this library creates them.",
       loop_not_wrapped},
      {"variables_not_shared",
       "Each tower makes variables of its own, and the pairs of gradients and variables end with "
       "the first tower's. Nothing trains the second tower's, and nothing says so.",
       "multi_gpu_model", "models/mistakes/scopes.cc",
       "Create them with `tf::get_variable`, and reuse them from the second tower on. "
       "`tf::zip` throws for lists of different lengths.",
       variables_not_shared},
      {"absent_gradient_averaged",
       "The averager expands a gradient that is None, since the loss does not depend on the "
       "variable.",
       "three-stage GAN", "models/mistakes/gradients.cc",
       "`tf::average_gradients` averages the gradients that exist, and says with a policy how.",
       absent_gradient_averaged},
      {"slices_averaged",
       "The averager packs a list of gradients, of which those of an embedding are slices.",
       "multi_gpu_model", "models/mistakes/gradients.cc",
       "`tf::average_gradients` keeps slices as slices.", slices_averaged},
      {"function_zipped",
       "The function `average_gradients` is zipped with the variables, not the list "
       "`averaged_gradients`.",
       "multi_gpu_model", "models/mistakes/gradients.cc", "Pass the list.", function_zipped},
      {"optimizer_forgotten",
       "Two optimizers train two parts of the network; the train op of one is left out of the "
       "group.",
       "batch normalization over towers", "models/mistakes/gradients.cc",
       "`tf::group({train_op_conv, train_op_fc})`.", optimizer_forgotten},
      {"losses_of_all_towers",
       "The losses are collected without the scope of the tower, so that a tower adds those of the "
       "towers before it.",
       "CIFAR-10 on towers", "models/mistakes/collections.cc",
       "`tf::get_collection(\"losses\", scope)`.", losses_of_all_towers},
      {"updates_collected_twice",
       "In the loop, the list of update ops is extended by all that the collection holds so far.",
       "batch normalization over towers", "models/mistakes/collections.cc",
       "Collect with the scope of one tower, or once after the loop.", updates_collected_twice},
      {"updates_run_by_nobody",
       "The moving averages of a batch normalization are never updated; only an evaluation shows "
       "it.",
       "batch normalization over towers", "models/mistakes/collections.cc",
       "Let the train op wait for `tf::GraphKeys::UPDATE_OPS`, with `tf::control_dependencies`.",
       updates_run_by_nobody},
      {"tags_stripped",
       "The name of the tower is taken out of a summary's tag, and the open name scope puts it "
       "back.",
       "CIFAR-10 on towers", "models/mistakes/collections.cc",
       "Create the summaries of a tower after its scope has ended.", tags_stripped},
      {"relu_on_logits",
       "The last layer before the softmax has a ReLU: logits that are negative for all examples "
       "have no gradient, and nothing is learned.",
       "MNIST on several GPUs", "models/mistakes/numbers.cc", "Leave the logits linear.",
       relu_on_logits},
      {"steps_counted_three_times",
       "Three optimizers in a step each count it, so that schedules run three times as fast.",
       "VAE-GAN", "models/mistakes/numbers.cc", "Give `global_step` to one of them.",
       steps_counted_three_times},
      {"averages_not_ordered",
       "The moving average and the update of its variable are in one group, in no order.",
       "CIFAR-10 on towers", "models/mistakes/numbers.cc",
       "Open `tf::control_dependencies({update})` around `averages.apply`. Without it this "
       "library's plan runs both in a fixed order, and TensorFlow in either.",
       averages_not_ordered},
  };
  return mistakes;
}

const Mistake& find(const std::string& name) {
  std::vector<std::string> names;
  for (const Mistake& mistake : all()) {
    if (mistake.name == name) return mistake;
    names.push_back(mistake.name);
  }
  const std::string nearest = nearest_hint(name, names);
  throw ValueError(fmt::format("there is no mistake '{}'", name),
                   {.hint = nearest.empty() ? "`towerflow mistakes` lists all" : nearest});
}

std::string outcome(const Mistake& mistake) {
  Graph graph;
  const auto as_default = graph.as_default();
  try {
    std::string text = mistake.run();
    while (text.ends_with('\n')) text.pop_back();
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace towerflow::models::mistakes
