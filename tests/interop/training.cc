// Trains the MNIST net on towers with fed batches, from given values or from a checkpoint.
#include <map>

#include "models/digits.h"
#include "models/mnist.h"
#include "tests/interop/arrays.h"
#include "tests/interop/program.h"
#include "towerflow/tf.h"

namespace towerflow::interop {

/// IN has images/STEP/TOWER, labels/STEP/TOWER and, unless a checkpoint is given, the value of each
/// trained variable under its name. Writes the losses [steps, towers] to OUT and the trained model
/// to the checkpoint OUT/model.ckpt-STEP.
void train(const Arguments& arguments) {
  std::map<std::string, Array> in;
  for (NamedArray& array : read_arrays(arguments[0])) in.emplace(array.name, array.value);
  int count = 0;
  while (in.contains("images/0/" + std::to_string(count))) ++count;
  const std::int64_t batch = in.at("images/0/0").shape().sizes()[0];

  Graph graph;
  const auto guard = graph.as_default();
  std::vector<Tensor> images, labels;
  const auto towers = models::mnist::build_towers(
      {.num_towers = count, .learning_rate = 0.01, .momentum = 0.9}, [&] {
        images.push_back(placeholder(float32, {.shape = Shape{batch, models::kImagePixels}}));
        labels.push_back(placeholder(int32, {.shape = Shape{batch}}));
        return models::Batch{images.back(), labels.back()};
      });
  train::Saver saver;
  Session session(ConfigProto{.device_count = {{"CPU", count}}, .allow_soft_placement = true});
  if (arguments.size() > 2) {
    saver.restore(session, arguments[2]);
  } else {
    session.run(towers.init);
    for (const Variable& variable : trainable_variables()) {
      session.run(variable.initializer(),
                  {{variable.initial_value(), in.at(variable.op().name())}});
    }
  }

  std::vector<Fetch> fetches(towers.losses.begin(), towers.losses.end());
  fetches.emplace_back(towers.train_op);
  std::vector<float> losses;
  std::int64_t steps = 0;
  for (; in.contains("images/" + std::to_string(steps) + "/0"); ++steps) {
    Feeds feeds;
    for (std::size_t t = 0; t < images.size(); ++t) {
      const std::string place = std::to_string(steps) + "/" + std::to_string(t);
      feeds.emplace_back(images[t], in.at("images/" + place));
      feeds.emplace_back(labels[t], in.at("labels/" + place));
    }
    const std::vector<Array> got = session.run(std::span<const Fetch>(fetches), feeds);
    for (std::size_t t = 0; t < images.size(); ++t) losses.push_back(got[t].item<float>());
  }
  write_arrays(arguments[1],
               {{"losses", Array::of<float>(Shape{steps, std::int64_t{count}}, losses)}});
  const auto step = static_cast<std::int64_t>(session.run(towers.global_step).item<float>());
  saver.save(session, arguments[1] + "/model.ckpt", {.global_step = step});
}

}  // namespace towerflow::interop
