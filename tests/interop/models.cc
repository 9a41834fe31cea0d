// The models of the command on two towers, with batches in memory.
#include "models/models.h"

#include <filesystem>
#include <fstream>

#include "tests/interop/arrays.h"
#include "tests/interop/program.h"
#include "towerflow/tf.h"

namespace towerflow::interop {
namespace {

namespace fs = std::filesystem;

constexpr int kTowers = 2;
constexpr std::int64_t kBatchSize = 2;

/// A model's training graph in a graph of its own.
class BuiltModel {
 public:
  explicit BuiltModel(const models::Model& model) : guard_(graph_.as_default()) {
    tf::set_random_seed(1);
    const auto batch = [&] { return model.batch_in_memory(kBatchSize); };
    built_ = model.build({.num_towers = kTowers,
                          .learning_rate = model.learning_rate,
                          .batch_size = kBatchSize,
                          .examples = 1000},
                         [&] { return batch; });
    init_ = tf::global_variables_initializer();
    saver_.emplace();
  }

  const models::TrainingGraph& built() const { return built_; }
  train::Saver& saver() { return *saver_; }

  /// Runs `start` in a new session and then the losses of each stage; writes their values.
  void write_losses(const fs::path& folder, const std::function<void(Session&)>& start) {
    Session session(graph_, {.device_count = {{"CPU", kTowers}}, .allow_soft_placement = true});
    start(session);
    std::vector<NamedArray> arrays;
    for (const models::StageOps& stage : built_.stages) {
      const auto values = session.run(stage.losses);
      for (std::size_t i = 0; i < values.size(); ++i) {
        arrays.push_back({stage.losses[i].name(), values[i]});
      }
    }
    write_arrays(folder, arrays);
  }

  void initialize(Session& session) { session.run(init_); }

 private:
  Graph graph_;
  DefaultGraphGuard guard_;
  models::TrainingGraph built_;
  Operation init_;
  std::optional<train::Saver> saver_;
};

}  // namespace

/// For each model writes OUT/NAME: graph.meta, the checkpoint `ours` of initial values, the losses
/// from these, and the names of the stages' train ops.
void write_models(const Arguments& arguments) {
  for (const models::Model* model : models::all()) {
    const fs::path folder = fs::path(arguments[0]) / model->name;
    fs::create_directories(folder);
    BuiltModel built(*model);
    train::export_meta_graph((folder / "graph.meta").string(),
                             {.saver_def = built.saver().as_saver_def()});
    built.write_losses(folder / "losses", [&](Session& session) {
      built.initialize(session);
      built.saver().save(session, (folder / "ours").string());
    });
    std::ofstream ops(folder / "train_ops");
    for (const models::StageOps& stage : built.built().stages) ops << stage.train_op.name() << "\n";
  }
}

/// Restores a model from a checkpoint, and writes its losses.
void restore_model(const Arguments& arguments) {
  BuiltModel built(models::find(arguments[0]));
  built.write_losses(arguments[2],
                     [&](Session& session) { built.saver().restore(session, arguments[1]); });
}

}  // namespace towerflow::interop
