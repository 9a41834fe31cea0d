// Checkpoints and the state file of a training folder.
#include "tests/fuzz/bundle.h"
#include "tests/fuzz/scratch.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/checkpoint_state.h"

namespace towerflow::fuzz {
namespace {

void read_checkpoint(std::string_view bytes) {
  const TensorBundleReader reader(scratch_bundle(split_bundle(bytes)));
  for (const TensorInfo& info : reader.tensors()) {
    require(&reader.info(info.name) == &info, "a tensor is found by its name");
    succeeds([&] {
      const Array value = reader.read(info.name);
      require(value.dtype() == info.dtype && value.shape() == info.shape,
              "a value is what the index says");
    });
  }
}

void read_state(std::string_view bytes) {
  scratch_file("checkpoint", bytes);
  const auto state = train::get_checkpoint_state(scratch_folder());
  require(!state || !state->model_checkpoint_path.empty(), "a state names a checkpoint");
  train::latest_checkpoint(scratch_folder());
}

void mutate_state(std::string& bytes, std::size_t most, Random&, const Mutate& plain) {
  plain(bytes, most);
}

}  // namespace

const Target kCheckpoint{"checkpoint", read_checkpoint, mutate_bundle};
const Target kState{"state", read_state, mutate_state};

}  // namespace towerflow::fuzz
