#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/arguments.h"
#include "core/runtime/session.h"
#include "train/saver.h"

namespace towerflow::train::types {

/// Is told of checkpoints. (tf.train.CheckpointSaverListener)
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener();
  virtual void before_save(Session& /*session*/, std::int64_t /*global_step*/) {}
  virtual void after_save(Session& /*session*/, std::int64_t /*global_step*/) {}
};

struct TrainingFolderOptions {
  /// Train anew where the folder has a checkpoint, which stays the newest until the first save.
  bool restart = false;
};

/// A folder that a training keeps its checkpoints in, and where it goes on from; made if it is not
/// there. No other training gets it before the last copy of this handle is gone. Empty when
/// default-constructed: nothing is kept then.
///
/// errors   UnavailableError: another training has the folder (its message says who); what making a
///          folder or a file throws
class TrainingFolder {
 public:
  TrainingFolder() = default;
  template <TextValue T>
  TrainingFolder(const T& path) : TrainingFolder(Text(path), TrainingFolderOptions()) {}  // NOLINT
  TrainingFolder(const Text& path, TrainingFolderOptions options);

  explicit operator bool() const { return state_ != nullptr; }
  const std::string& path() const;
  /// Path prefix of the checkpoint that the training goes on from; empty where it begins anew.
  const std::string& continued_from() const;
  /// Whether there is a checkpoint that it does not go on from: until the first save.
  bool replaces() const;
  /// Path prefix of the newest checkpoint that was restored or saved; empty before there is one.
  const std::string& checkpoint() const;

  /// Makes `saver`, or one of all variables of the default graph and the position of its input, the
  /// one that saves here; it takes over the checkpoints that lie here. Once.
  void use(std::optional<Saver> saver = std::nullopt);
  /// Sets variables and the position of the input to what the checkpoint to go on from holds. Where
  /// it is of fewer queues, or of other files than `input_files` (unless that is empty), the
  /// variables go on and the input starts over, which a warning says.
  void restore(Session& session, std::span<const std::string> input_files = {});
  /// Saves "PATH/model.ckpt-STEP" and returns its prefix.
  std::string save(Session& session, std::int64_t global_step,
                   std::span<const std::shared_ptr<CheckpointSaverListener>> listeners = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace towerflow::train::types
