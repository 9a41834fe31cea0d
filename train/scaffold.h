#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/runtime/session.h"
#include "train/saver.h"

namespace towerflow::train::types {

class Scaffold;

/// The parts of a Scaffold; one that is not given is made by `Scaffold::finalize`.
struct ScaffoldOptions {
  std::optional<Fetch> init_op{};  ///< by default initializes all global variables
  Feeds init_feed_dict{};          ///< fed to init_op
  std::function<void(Scaffold&, Session&)> init_fn{};  ///< called after init_op
  std::optional<Tensor> ready_op{};                    ///< names of variables that lack a value
  std::optional<Tensor> ready_for_local_init_op{};     ///< of those that local_init_op reads
  std::optional<Fetch> local_init_op{};          ///< by default initializes all local variables
  std::optional<Tensor> summary_op{};            ///< by default all summaries of the graph, if any
  std::optional<Saver> saver{};                  ///< by default one of all global variables
  const Scaffold* copy_from_scaffold = nullptr;  ///< whose parts are used where none is given
  Feeds local_init_feed_dict{};                  ///< fed to local_init_op
};

/// What a MonitoredTrainingSession needs of a graph: how to initialize it, how to tell whether that
/// is done, how to save it and its summaries. (tf.train.Scaffold)
class Scaffold {
 public:
  explicit Scaffold(ScaffoldOptions options = {});

  /// Takes missing parts from the collections INIT_OP, READY_OP, "ready_for_local_init_op",
  /// LOCAL_INIT_OP, SUMMARY_OP and SAVERS, or else makes them and adds them there. Then forbids
  /// changes of the graph. Throws RuntimeError if a collection has more than one item.
  Scaffold& finalize(Site site = Site::current());

  const std::optional<Fetch>& init_op() const { return options_.init_op; }
  const Feeds& init_feed_dict() const { return options_.init_feed_dict; }
  const std::function<void(Scaffold&, Session&)>& init_fn() const { return options_.init_fn; }
  const std::optional<Tensor>& ready_op() const { return options_.ready_op; }
  const std::optional<Tensor>& ready_for_local_init_op() const {
    return options_.ready_for_local_init_op;
  }
  const std::optional<Fetch>& local_init_op() const { return options_.local_init_op; }
  const Feeds& local_init_feed_dict() const { return options_.local_init_feed_dict; }
  const std::optional<Tensor>& summary_op() const { return options_.summary_op; }
  const std::optional<Saver>& saver() const { return options_.saver; }

 private:
  ScaffoldOptions options_;
};

}  // namespace towerflow::train::types
