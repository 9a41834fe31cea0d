// `towerflow devices`: lists the devices that a session would have.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/device/backend_registry.h"
#include "core/device/link_probe.h"
#include "report/step_report.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/machine.h"
#include "tools/options.h"
#include "tools/text.h"
#include "towerflow/towerflow.h"

namespace towerflow::tools {
namespace {

using nlohmann::ordered_json;

constexpr const char* kDevicesHelp =
    "Opens a session as a training would and lists its devices by the names that TensorFlow gives\n"
    "them, then shows where /gpu:0, /gpu:1, ... are placed (without a GPU on a simulated\n"
    "accelerator, or with soft placement on a logical CPU), and what the machine has: cores,\n"
    "memory, the limit of locked memory, instruction set.\n"
    "\n"
    "Example: towerflow devices --devices sim:2,bandwidth=8GB/s,memory=2GiB\n"
    "Example: towerflow devices --devices cuda-host:2\n"
    "Example: towerflow devices --devices cuda:4 --probe";

struct DevicesArguments {
  int cpus = 1;
  SimulatedDevices simulated;
  CudaDevices cuda;
  std::optional<std::int64_t> threads;
  bool probe = false;
  bool json = false;
};

/// Returns where the session places nodes that request the devices `asked`, and why.
std::vector<Placement> placements(Graph& graph, Session& session,
                                  const std::vector<std::string>& asked) {
  std::vector<Fetch> fetches;
  {
    const auto guard = graph.as_default();
    for (const std::string& name : asked) {
      const auto device = towerflow::device(name);
      fetches.emplace_back(constant(1.0F));
    }
  }
  return session.placements(fetches);
}

/// Returns the host and one accelerator more than exist, to show how that one is placed.
std::vector<std::string> devices_to_request(const DevicesArguments& arguments) {
  constexpr int kMost = 8;
  const int accelerators = std::max(arguments.simulated.count, arguments.cuda.count);
  const int there = accelerators > 0 ? accelerators : arguments.cpus;
  std::vector<std::string> asked{"/cpu:0"};
  for (int i = 0; i <= std::min(there, kMost); ++i) asked.push_back("/gpu:" + std::to_string(i));
  return asked;
}

std::string lock_text(const Machine& machine) {
  if (!machine.lock_limit) return "unlimited";
  return fmt::format("{} (ulimit -l): variables beyond it are not locked",
                     size_text(*machine.lock_limit));
}

void print_machine(const Machine& machine, std::int64_t threads, const std::string& cuda) {
  TextTable table("ll");
  table.add({"", ""});  // no heading: ends the line "This machine"
  table.add({"cores", std::to_string(machine.cores)});
  table.add({"compute threads", std::to_string(threads)});
  table.add({"memory", machine.memory_free > 0
                           ? fmt::format("{}, {} of it free", size_text(machine.memory),
                                         size_text(machine.memory_free))
                           : size_text(machine.memory)});
  table.add({"locked memory", lock_text(machine)});
  table.add({"instruction set", machine.instruction_set});
  table.add({"oneDNN", machine.onednn});
  table.add({"CUDA", cuda});
  fmt::print("\nThis machine{}", table.text());
}

ordered_json machine_json(const Machine& machine, std::int64_t threads) {
  ordered_json json;
  json["cores"] = machine.cores;
  json["threads"] = threads;
  json["memory_bytes"] = machine.memory;
  json["memory_free_bytes"] = machine.memory_free;
  json["lock_limit_bytes"] = nullptr;
  if (machine.lock_limit) json["lock_limit_bytes"] = *machine.lock_limit;
  json["locked_bytes"] = machine.locked;
  json["instruction_set"] = machine.instruction_set;
  json["onednn"] = machine.onednn;
  return json;
}

/// Returns "SIM" for ".../device:SIM:0".
std::string type_of(const std::string& device) {
  const std::string name = report::short_device_name(device);
  const std::size_t begin = name.find(':') + 1;
  return name.substr(begin, name.find(':', begin) - begin);
}

/// Returns the bytes of a device of a type; null for those of a card, which its description tells.
ordered_json memory_of(const std::string& type, const DevicesArguments& arguments,
                       const Machine& machine) {
  if (type == "SIM") return arguments.simulated.memory;
  if (type != "GPU") return machine.memory;
  return arguments.cuda.emulated ? ordered_json(arguments.cuda.memory) : ordered_json();
}

/// Returns what copies between the GPUs showed.
std::vector<LinkProbe> probe_links(const DevicesArguments& arguments) {
  constexpr double kSeconds = 5;
  ConfigProto config;
  config.cuda = arguments.cuda;
  return probe_cuda_links(config, kSeconds);
}

void print_links(const std::vector<LinkProbe>& links) {
  TextTable table("lllr");
  table.add({"from", "to", "copies go", "GB/s"});
  for (const LinkProbe& link : links) {
    const std::string found = link.wrong.empty()
                                  ? fmt::format("{:.1f}", link.bytes_per_second / 1e9)
                                  : "WRONG: " + link.wrong;
    table.add({link.from, link.to, link.way, found});
  }
  fmt::print("\nCopies between GPUs\n{}", table.text());
}

void list_devices(const DevicesArguments& arguments) {
  Graph graph;
  Session session(graph,
                  {.device_count = {{"CPU", arguments.cpus}},
                   .intra_op_parallelism_threads = static_cast<int>(arguments.threads.value_or(0)),
                   .allow_soft_placement = true,
                   .simulated = arguments.simulated,
                   .cuda = arguments.cuda});
  const auto asked = placements(graph, session, devices_to_request(arguments));
  const auto devices = session.device_holdings(std::vector<Fetch>{});
  const Machine machine = this_machine();
  const std::int64_t threads = arguments.threads.value_or(machine.cores);
  const std::string missing = what_cuda_misses();
  const std::string cuda = missing.empty() ? "ready" : "not here: " + missing;

  TextTable names("ll"), placed("lll");
  names.add({"device", "what it is"});
  for (const DeviceHolding& device : devices) names.add({device.name, device.description});
  placed.add({"asked", "given", "why"});
  for (const Placement& one : asked)
    placed.add({one.asked, report::short_device_name(one.given), one.why});
  fmt::print("Devices of a session\n{}\nWhere a request goes, with soft placement\n{}",
             names.text(), placed.text());
  print_machine(machine, threads, cuda);
  std::vector<LinkProbe> links;
  if (arguments.probe) print_links(links = probe_links(arguments));
  if (!arguments.json) return;

  ordered_json line;
  line["devices"] = ordered_json::array();
  for (const DeviceHolding& device : devices) {
    const std::string type = type_of(device.name);
    line["devices"].push_back({{"name", device.name},
                               {"type", type},
                               {"memory_bytes", memory_of(type, arguments, machine)},
                               {"description", device.description}});
  }
  line["placements"] = ordered_json::array();
  for (const Placement& one : asked) {
    line["placements"].push_back({{"asked", one.asked}, {"given", one.given}, {"why", one.why}});
  }
  line["machine"] = machine_json(machine, threads);
  line["machine"]["cuda_missing"] = missing;
  if (arguments.probe) line["links"] = ordered_json::array();
  for (const LinkProbe& link : links) {
    line["links"].push_back({{"from", link.from},
                             {"to", link.to},
                             {"way", link.way},
                             {"bytes_per_second", link.bytes_per_second},
                             {"wrong", link.wrong}});
  }
  fmt::print("{}\n", json_line(line));
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App& devices =
      add_subcommand(app, "devices", "list the devices that a session would have", kDevicesHelp);
  const auto arguments = std::make_shared<DevicesArguments>();
  add_devices(devices, "--devices", arguments->cpus, arguments->simulated, arguments->cuda);
  add_threads(devices, arguments->threads);
  add_flag(devices, "--probe", arguments->probe,
           "copy between each two GPUs, compare the bytes and show the rate");
  add_json(devices, arguments->json);
  set_action(devices, [arguments] { list_devices(*arguments); });
}

}  // namespace towerflow::tools
