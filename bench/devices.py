# SPDX-License-Identifier: Apache-2.0
"""What each adaptive device of the recorder gains: instructions with it and without it.

Instructions of the recorder alone are counted (callgrind), so a busy machine changes nothing. The
programs are those of the other tables, smaller; no supervisor watches them. What a device spares in
waiting for memory does not show here, nor what it is for beside speed.
"""
import collections
import pathlib
import re
import shutil
import subprocess

import measure

DEVICES = [  # as in src/rt/cost.h, in the order of its bits
    "pairs", "foresight", "growth",
]
SOCKET = "devices.sock"


def build(bench, root, name, bits):
    place = bench.scratch / f"device-{name}"
    flags = f"-Dc_args=-DTIDE_DEVICES_OFF={bits} -DTIDE_BEAT_ASSUMED=1"
    for argv in (["meson", "setup", str(place), str(root), "-Drecorder_only=true", flags],
                 ["ninja", "-C", str(place), "libtidemark.so"]):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise measure.Failed(f"{' '.join(argv)}: {done.stdout[-300:]}")
    return place / "libtidemark.so"


def instructions_in(path, library):
    """Of a file of callgrind's: each function's own instructions, summed over one object."""
    names, inside, called, total = {}, False, False, 0
    for line in path.read_text().splitlines():
        if line.startswith(("ob=", "cob=")):
            number, name = re.match(r"c?ob=(\(\d+\))(?: (.*))?", line).groups()
            names[number] = name or names[number]
            if line.startswith("ob="):
                inside = pathlib.Path(names[number]).name == library
        elif line.startswith("calls="):
            called = True  # the next line is what the callee spent
        elif line and line[0] in "0123456789+-*":
            words = line.split()
            total += int(words[1]) if inside and not called and len(words) > 1 else 0
            called = False
    return total


def load_redis(bench, server):
    path = str(bench.scratch / SOCKET)
    measure.wait_for_socket(path, server)
    measure.run(["redis-benchmark", "-s", path, "-q", "-n", bench.size("3000", "100"), "-r", "1000",
                 "-d", "100", "-P", "8", "-t", "set,get,lpush,lpop,sadd,hset"])
    measure.run(["redis-cli", "-s", path, "shutdown", "nosave"], check=False)


def loader_of(program):
    """Asked to preload the recorder into the program alone: by LD_PRELOAD it would be in valgrind's
    launcher, too, where it may keep out of what that starts, a static program."""
    headers = measure.run(["readelf", "-lW", shutil.which(program)])["stdout"]
    return re.search(r"interpreter: (.*)\]", headers).group(1)


def count(bench, library, argv, env, stdin):
    output = bench.scratch / "callgrind.out"
    stores = bench.scratch / "device-stores"
    shutil.rmtree(stores, ignore_errors=True)
    stores.mkdir()
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", loader_of(argv[0]),
             "--preload", str(library), shutil.which(argv[0]), *argv[1:]]
    with subprocess.Popen(words, env=measure.environment(env), stdin=subprocess.PIPE, cwd=stores,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          text=True) as child:
        if argv[0] == "redis-server":
            load_redis(bench, child)
        child.communicate(stdin)
    shutil.rmtree(stores, ignore_errors=True)
    if child.returncode:
        raise measure.Failed(f"callgrind {' '.join(argv)}: status {child.returncode}")
    counted = instructions_in(output, library.name)
    if not counted:
        raise measure.Failed(f"callgrind {' '.join(argv)}: the recorder was not in it")
    return counted


def workloads(bench, root):
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True)
    source = bench.scratch / "devices.i"
    work = root / "bench/workloads"
    lines = measure.run(["python3", str(work / "c_source.py"), bench.size("60", "4")])["stdout"]
    source.write_text(lines)
    script = (work / "table_work.sql").read_text().replace("200000", bench.size("10000", "100"))
    json_work = bench.scratch / "json_work.py"
    rows = bench.size("1500", "50")
    json_work.write_text((work / "json_work.py").read_text().replace("12000", rows))
    pairs = bench.size("20000", "200")
    return [
        ("CPython, json", ["/usr/bin/python3", str(json_work), "2"],
         {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}, None),
        ("cc1 -O2", [cc1.stdout.strip(), "-quiet", "-O2", str(source), "-o", "/dev/null"],
         {}, None),
        ("perl, hashes", ["perl", str(work / "hash_work.pl"), bench.size("8000", "100")],
         {"PERL_HASH_SEED": "0"}, None),
        ("sqlite3, in memory", ["sqlite3", ":memory:"], {}, script),
        ("redis-server under redis-benchmark",
         ["redis-server", "--port", "0", "--unixsocket", str(bench.scratch / SOCKET), "--save", "",
          "--daemonize", "no"], {}, None),
        ("readelf -Wa, in UTF-8", ["readelf", "-Wa", "/bin/bash"],
         {"LC_ALL": "C.UTF-8"}, None),
        *((f"pairs, {mode}", [bench.pairs, mode, "-d", "20", "-n", pairs], {}, None)
          for mode in ("hot", "fresh", "random")),
    ]


def devices(bench, root, say):
    if not shutil.which("valgrind"):
        say("devices: left out: valgrind is not there")
        return []
    say("devices: building")
    libraries = {"": build(bench, root, "all", 0)}
    for bit, name in enumerate(DEVICES):
        libraries[name] = build(bench, root, name, 1 << bit)
    rows = []
    for name, argv, env, stdin in workloads(bench, root):
        if not re.search(bench.chosen, name) or not shutil.which(argv[0]):
            continue
        say(f"devices: {name}")
        counted = collections.OrderedDict(
            (device, count(bench, library, argv, env, stdin))
            for device, library in libraries.items())
        rows.append({"workload": name, "instructions": counted.pop(""), "without": counted})
    return rows
