"""`towerflow devices` and `--version`: the devices that a session would use.

$TOWERFLOW_COMMAND is the executable.
"""

import json
import os
import resource
import subprocess
import sys
import unittest

COMMAND = os.environ["TOWERFLOW_COMMAND"]
PREFIX = "/job:localhost/replica:0/task:0"


def run(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=50, check=False,
                          **options)


class Devices(unittest.TestCase):
    def devices(self, *more, **options):
        result = run("devices", "--json", *more, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        *lines, last = result.stdout.splitlines()
        return "\n".join(lines), json.loads(last)

    def test_one_logical_cpu(self):
        text, found = self.devices()
        self.assertEqual([(one["name"], one["type"]) for one in found["devices"]],
                         [(PREFIX + "/device:CPU:0", "CPU")])
        self.assertIn(PREFIX + "/device:CPU:0", text)
        self.assertEqual([(one["asked"], one["given"]) for one in found["placements"]],
                         [("/device:CPU:0", PREFIX + "/device:CPU:0"),
                          ("/device:GPU:0", PREFIX + "/device:CPU:0"),
                          ("/device:GPU:1", PREFIX + "/device:CPU:0")])
        machine = found["machine"]
        self.assertEqual(machine["cores"], len(os.sched_getaffinity(0)))
        self.assertEqual(machine["memory_bytes"],
                         os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE"))
        self.assertRegex(machine["instruction_set"], r"\A(x86-64-v[234]|generic)\Z")
        self.assertRegex(machine["onednn"], r"\A\d+\.\d+\.\d+\Z")

    def test_several(self):
        _, found = self.devices("--devices", "cpu:3", "--threads", 2)
        self.assertEqual(len(found["devices"]), 3)
        self.assertEqual(found["machine"]["threads"], 2)
        self.assertEqual([one["given"][-1] for one in found["placements"]], list("00120"))
        text, found = self.devices("--devices", "sim:2,memory=64MiB,bandwidth=8GB/s,slow=1:2")
        simulated = [one for one in found["devices"] if one["type"] == "SIM"]
        self.assertEqual([one["name"] for one in simulated],
                         [PREFIX + "/device:SIM:0", PREFIX + "/device:SIM:1"])
        self.assertEqual([one["memory_bytes"] for one in simulated], [64 << 20] * 2)
        self.assertIn("simulated accelerator, 64.0 MiB", text)
        self.assertEqual([one["given"].removeprefix(PREFIX) for one in found["placements"]],
                         ["/device:CPU:0", "/device:SIM:0", "/device:SIM:1", "/device:CPU:0"])

    def test_gpus(self):
        _, found = self.devices()
        missing = found["machine"]["cuda_missing"]
        if missing:
            result = run("devices", "--devices", "cuda:1")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(f"there are no GPUs to use: {missing}", result.stderr)
        if "built without CUDA" in missing:
            return
        text, found = self.devices("--devices", "cuda-host:2,memory=64M")
        gpus = [one for one in found["devices"] if one["type"] == "GPU"]
        self.assertEqual([one["name"] for one in gpus],
                         [PREFIX + "/device:GPU:0", PREFIX + "/device:GPU:1"])
        self.assertEqual([one["memory_bytes"] for one in gpus], [64 << 20] * 2)
        self.assertIn("host emulation of CUDA: emulated GPU 1, 0.1 GiB", text)
        self.assertEqual([one["given"].removeprefix(PREFIX) for one in found["placements"]],
                         ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1", "/device:CPU:0"])

    def test_copies_between_gpus(self):
        if "built without CUDA" in self.devices()[1]["machine"]["cuda_missing"]:
            return
        text, found = self.devices("--devices", "cuda-host:4,share=2", "--probe")
        self.assertEqual(len(found["links"]), 12)
        self.assertEqual([link["way"] for link in found["links"][:3]],
                         ["on one card", "between cards", "between cards"])
        for link in found["links"]:
            self.assertEqual(link["wrong"], "")
            self.assertGreater(link["bytes_per_second"], 0)
        self.assertIn("Copies between GPUs", text)
        self.assertNotIn("links", self.devices("--devices", "cuda-host:2")[1])
        result = run("devices", "--probe")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there are no GPUs to probe", result.stderr)

    def test_locked_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
        _, found = self.devices(preexec_fn=limit)
        with open("/proc/self/status", encoding="ascii") as status:
            rights = int(next(line for line in status if line.startswith("CapEff:"))[7:], 16)
        self.assertEqual(found["machine"]["lock_limit_bytes"],
                         None if rights >> 14 & 1 else 65536)

    def test_mistakes(self):
        for value in ("cpu:0", "gpu:1", "sim:2,speed=3", "cuda:0", "cuda-host:1,speed=3"):
            result = run("devices", "--devices", value)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("--devices", result.stderr)


class Version(unittest.TestCase):
    def test_version(self):
        result = run("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout,
                         r"\Atowerflow \d+\.\d+\.\d+\n"
                         r"compiler: +(g\+\+|clang\+\+) \d+\.\d+\.\d+, [^\n]+\n"
                         r"oneDNN: +\d+\.\d+\.\d+\n"
                         r"instruction set: +(x86-64-v[234]|generic)\n"
                         r"system: +Linux [^\n]+\n\Z")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
