// Event files.
#include "core/graph/graph_def.h"
#include "data/event_summary.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"
#include "train/summary/event_reader.h"

namespace towerflow::fuzz {
namespace {

void read_events(std::string_view bytes) {
  const std::filesystem::path path = scratch_file("tfevents", bytes);
  summary::EventReader reader(path);
  succeeds([&] {
    while (const auto event = reader.next()) {
      const std::string written = summary::serialize(*event);
      require(summary::serialize(summary::parse_event(written)) == written,
              "an event that was written again is the same");
      if (event->graph_def) succeeds([&] { GraphDef::FromString(*event->graph_def); });
    }
  });
  const data::EventSummary seen = data::summarize_events(path);
  require(seen.tags.size() <= data::kMaxTags, "tags are bounded");
}

}  // namespace

const Target kEvents{"events", read_events, mutate_records};

}  // namespace towerflow::fuzz
