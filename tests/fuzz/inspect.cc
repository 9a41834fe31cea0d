// `towerflow inspect` on files of any kind.
#include "tools/inspect.h"

#include <array>

#include "tests/fuzz/bundle.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/scratch.h"

namespace towerflow::fuzz {
namespace {

void read_inspected(std::string_view bytes) {
  const std::filesystem::path path =
      is_bundle(bytes) ? scratch_bundle(split_bundle(bytes)) : scratch_file("inspected", bytes);
  const SilentOutput silent;
  const tools::Findings findings =
      tools::inspect_file(path.string(), {.values = true, .all = bytes.size() % 2 == 0});
  const std::string json =
      findings.json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  require(json.starts_with("{\"file\":"), "what is found is said to programs too");
}

void mutate_inspected(std::string& bytes, std::size_t most, Random& random, const Mutate& plain) {
  if (is_bundle(bytes)) return mutate_bundle(bytes, most, random, plain);
  mutate_records(bytes, most, random, plain);
}

}  // namespace

const Target kInspect{"inspect", read_inspected, mutate_inspected};

}  // namespace towerflow::fuzz
