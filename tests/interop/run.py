#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our exports in the hands of the tools they are made for.

  tests/interop/run.py [--tidemark PATH] [--filter REGEX] [--only NAME] [--keep DIR]

A small program is recorded and exported; pprof (of the Go toolchain), pprof-format, speedscope and
the Firefox Profiler (of npm, pinned in npm/, speedscope in Chromium) read what came of it, and must
find the numbers of `tidemark report`. The picture is drawn by Chromium. A tool that is not here
means a skip, or with CI=true a failure. Ends with the counts.
"""
import argparse
import base64
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import export_decode  # noqa: E402
import record  # noqa: E402
import report_json  # noqa: E402

TYPES = {"alloc_objects": "allocations", "alloc_space": "bytes", "inuse_objects": "live_blocks",
         "inuse_space": "live_bytes", "peak_objects": "peak_blocks",
         "peak_space": "peak_bytes"}  # columns of pprof and the same in a report
ROW = re.compile(r"^\s*(-?\d+)B?\s+\S+%\s+\S+%\s+(-?\d+)B?\s+\S+%\s+(.*?)"
                 r"(?: \((?:partial-)?inline\))?$")  # flat, share, sum, cumulative, share, name


def expect(condition, text):
    if not condition:
        raise record.Failure(text)


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: {str(got)[:400]}, not {str(wanted)[:400]}")


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise record.Skip(f"no {tool} here")


def run(*command, timeout=120, **env):
    done = record.run(command, env=record.clean_environment(**env), timeout=timeout)
    expect(done.status == 0, f"{command[0]} {command[1]}: {done.stderr.strip()[-500:]}")
    return done.stdout


class Ground:
    """The recorded program, and what a report says of it."""

    def __init__(self, options, scratch):
        self.tidemark, self.scratch = options.tidemark, scratch
        self.program, self.tide = scratch / "program", scratch / "x.tide"
        run("cc", "-O2", "-g", "-fno-optimize-sibling-calls", "-o", self.program,
            HERE / "export_program.c")
        run(self.tidemark, "run", "-q", "-o", self.tide, "--", self.program)
        told = run(self.tidemark, "report", "--json", "--all", self.tide)
        self.sites = report_json.loads(told)["sites"]
        expect(len(self.sites) >= 4, "too few sites")

    def export(self, name, *words):
        path = self.scratch / name
        run(self.tidemark, "export", "-f", "-o", path, "--to", *words, self.tide)
        return path

    def total(self, what):
        return sum(site[what] for site in self.sites)

    def by_function(self, what):
        """(flat, cumulative) of each function; zeros left out."""
        flat, whole = collections.Counter(), collections.Counter()
        for site in self.sites:
            names = [frame["function"] for frame in site["frames"]]
            flat[names[0]] += site[what]
            for name in set(names):
                whole[name] += site[what]
        return {name: (flat[name], whole[name]) for name in whole if whole[name]}


def pprof(*words, **env):
    need("go")
    return run("go", "tool", "pprof", *words, timeout=300, **env)


def top(path, column, *words):
    text = pprof("-symbolize=none", *words, "-top", f"-sample_index={column}", "-nodefraction=0",
                 "-nodecount=100000", "-unit=B", path)
    rows = text.split("cum%\n", 1)[1].splitlines()
    found = {}
    for row in rows:
        match = ROW.match(row)
        expect(match, f"no row of pprof's: {row!r}")
        if int(match[1]) or int(match[2]):
            found[match[3]] = (int(match[1]), int(match[2]))
    return found, text


def pprof_top(ground):
    path = ground.export("x.pb.gz", "pprof")
    for column, what in TYPES.items():
        found, text = top(path, column)
        equal(found, ground.by_function(what), f"pprof -top of {column}")
        expect(f"of {ground.total(what)}B total" in text, f"total of {column}: {text[:300]}")
        expect("File: program" in text, "the program is not pprof's file")
    expect("innermost (inline)" in top(path, "alloc_space")[1], "innermost is not inlined")


def pprof_shows_first_what_the_report_does(ground):
    """Without a word of ours pprof's rows are those of the report: the peak."""
    path = ground.export("x.pb.gz", "pprof")
    text = pprof("-symbolize=none", "-top", "-nodefraction=0", "-nodecount=100000", "-unit=B", path)
    expect("Type: peak_space" in text, text[:300])
    rows = [ROW.match(row) for row in text.split("cum%\n", 1)[1].splitlines()]
    equal({row[3]: (int(row[1]), int(row[2])) for row in rows if int(row[1]) or int(row[2])},
          ground.by_function("peak_bytes"), "pprof -top")
    live = ground.export("live.pb.gz", "pprof", "--at", "end")
    text = pprof("-symbolize=none", "-top", "-unit=B", live)
    expect("Type: inuse_space" in text, text[:300])


def pprof_at_the_peak(ground):
    path = ground.export("peak.pb.gz", "pprof", "--sort", "peak")
    for column, what in (("inuse_space", "peak_bytes"), ("inuse_objects", "peak_blocks"),
                         ("alloc_space", "bytes")):
        equal(top(path, column)[0], ground.by_function(what), f"{column} at the peak")


def pprof_raw(ground):
    path = ground.export("x.pb.gz", "pprof")
    text = pprof("-symbolize=none", "-raw", path)
    expect("peak_space/bytes[dflt]" in text, f"types: {text[:300]}")
    expect(re.search(r"0x[0-9a-f]+ M=1 innermost .*export_program\.c:\d+", text), "no inner frame")
    build_id = re.search(r"^1: 0x0/0xf{16}/0x0 \S*/program ([0-9a-f]{40})", text, re.M)
    expect(build_id, "no mapping with a build id")
    notes = run("readelf", "-n", ground.program)
    expect(build_id[1] in notes, "another build id than the file's")


def pprof_finds_names_itself(ground):
    need("addr2line")
    path = ground.export("bare.pb.gz", "pprof", "--no-symbols")
    expect(not export_decode.Pprof(path.read_bytes()).functions, "names in spite of --no-symbols")
    text = pprof("-symbolize=local", "-raw", path)
    for name in ("fill", "recurse"):  # how it names what is inlined there depends on its helpers
        expect(re.search(rf"M=1 .*\b{name} .*export_program\.c:", text.replace("\n      ", " ")),
               f"{name} is not found by its address: {text[-1500:]}")


def pprof_serves(ground):
    need("go")
    path = ground.export("x.pb.gz", "pprof")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with subprocess.Popen(["go", "tool", "pprof", "-symbolize=none", f"-http={address}",
                           "-no_browser", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as server:
        try:
            page, end = "", time.monotonic() + 60
            while not page and time.monotonic() < end and server.poll() is None:
                try:
                    with urllib.request.urlopen(f"http://{address}/ui/top", timeout=5) as answer:
                        page = answer.read().decode()
                except OSError:
                    time.sleep(0.2)
            expect("inlined_twice" in page, "pprof -http does not show the profile")
        finally:
            os.killpg(server.pid, 15)


def node_modules():
    """The pinned packages, below the build directory."""
    need("node", "npm")
    place = ROOT / "build/interop-npm"
    lock = (HERE / "npm/package-lock.json").read_text()
    if not (place / "done").exists() or (place / "done").read_text() != lock:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(HERE / "npm", place)
        run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", place,
            timeout=300)
        (place / "done").write_text(lock)
    return place / "node_modules"


def pprof_format(ground):
    path = ground.export("x.pb.gz", "pprof")
    found = json.loads(run("node", HERE / "node_decode.mjs", node_modules(), path))
    equal(found["sums"], {column: ground.total(what) for column, what in TYPES.items()},
          "sums of pprof-format")
    expect("inlined_twice" in found["names"] and found["period"] == 1, "names or period")


@contextlib.contextmanager
def profiler_session(command, path, home):
    """The profiler's server on a file, started by hand: `load` gives it half a second to come up,
    which no busy machine keeps."""
    with subprocess.Popen([*map(str, command), "--daemon", str(path), "--session", "ours"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=dict(os.environ, **home)) as server:
        try:
            end = time.monotonic() + 120
            while True:
                try:
                    run(*command, "profile", "info", "--session", "ours", **home)
                    break
                except record.Failure:  # not up, or not loaded yet
                    if time.monotonic() > end or server.poll() is not None:
                        raise
                    time.sleep(0.2)
            yield
        finally:
            server.kill()


def firefox_profiler(ground):
    """Our DHAT files in the Firefox Profiler, by the command of its own makers."""
    command = [node_modules() / ".bin/profiler-cli"]
    if int(run("node", "--version")[1:].split(".")[0]) < 20:
        raise record.Excused("the Firefox Profiler's command needs Node 20")
    home = {"HOME": str(ground.scratch)}
    with profiler_session(command, ground.export("x.dhat.json", "dhat"), home):
        for handle, thread, what in (("t-0", "Total Bytes", "bytes"),
                                     ("t-2", "Bytes at Global Max", "peak_bytes"),
                                     ("t-3", "Bytes at End", "live_bytes")):
            found = json.loads(run(*command, "thread", "functions", "--json", "--limit", "0",
                                   "--thread", handle, "--session", "ours", **home))
            equal((found["friendlyThreadName"], found["weightType"]), (thread, "bytes"), "thread")
            flat = collections.Counter()
            for function in found["functions"]:  # one for each place in a function
                flat[function["name"]] += function["selfSamples"]
            wanted = {name: pair[0] for name, pair in ground.by_function(what).items() if pair[0]}
            equal({name: n for name, n in flat.items() if n}, wanted, f"{thread} by function")


def chromium(ground, *words):
    need("chromium")
    profile = ground.scratch / "chromium"
    return run("chromium", "--headless", "--no-sandbox", "--disable-gpu",
               f"--user-data-dir={profile}", *words, timeout=120, HOME=str(ground.scratch))


# Loaded by speedscope as its own command's files are: hands it the profile, then has it save what
# it understood, and leaves that in the page.
LOADER = """(function () {
  speedscope.loadFileFromBase64("x.speedscope.json", "%s");
  var done = false;
  URL.createObjectURL = function (blob) {
    blob.text().then(function (text) {
      if (done) return;
      done = true;
      var place = document.createElement("pre");
      place.id = "saved";
      place.textContent = btoa(unescape(encodeURIComponent(text)));
      document.body.appendChild(place);
    });
    return "about:blank";
  };
  HTMLAnchorElement.prototype.click = function () {};
  var timer = setInterval(function () {
    if (done) clearInterval(timer);
    else window.dispatchEvent(new KeyboardEvent("keydown", {key: "s", ctrlKey: true}));
  }, 200);
})();
"""


def replay(profile, names):
    """Weight of each stack, of a profile as speedscope saves it: frames opened and closed."""
    stacks, open_frames, last = collections.Counter(), [], profile["startValue"]
    for event in profile["events"]:
        if event["at"] > last and open_frames:
            stacks[tuple(open_frames)] += event["at"] - last
        last = event["at"]
        if event["type"] == "O":
            open_frames.append(names[event["frame"]])
        else:
            equal(open_frames.pop(), names[event["frame"]], "frame closed")
    return stacks


def speedscope(ground):
    need("chromium")
    viewer = node_modules() / "speedscope/dist/release/index.html"
    path = ground.export("x.json", "speedscope")
    loader = ground.scratch / "loader.js"
    loader.write_text(LOADER % base64.b64encode(path.read_bytes()).decode())
    page = chromium(ground, "--allow-file-access-from-files", "--virtual-time-budget=20000",
                    "--dump-dom", f"file://{viewer}#localProfilePath={loader}")
    saved = re.search(r'<pre id="saved">([^<]*)', page)
    expect(saved, "speedscope understood nothing")
    data = json.loads(base64.b64decode(saved[1]))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    sums = {profile["name"]: sum(replay(profile, names).values()) for profile in data["profiles"]}
    live, total, count = (ground.total(what) for what in ("live_bytes", "bytes", "allocations"))
    equal(sums, {"bytes held at the peak": ground.total("peak_bytes"),
                 "bytes held at the end": live,
                 "bytes held at the end, in order of allocation": live,
                 "bytes allocated": total, "bytes allocated, over time": total,
                 "blocks allocated": count, "blocks allocated, over time": count,
                 "temporary blocks": ground.total("temporary")}, "sums of speedscope")
    ours = export_decode.speedscope(path.read_text())
    for profile in data["profiles"]:
        wanted = collections.Counter()
        for stack, weight in ours[profile["name"]]:
            wanted[stack] += weight
        equal(replay(profile, names), wanted, f"stacks of {profile['name']}")
        whole, _, is_in_parts = profile["name"].partition(", ")
        if is_in_parts:
            merged = collections.Counter()
            for stack, weight in ours[whole]:
                merged[stack] += weight
            for stack, weight in wanted.items():
                merged[stack[1:]] -= weight
            equal(set(merged.values()), {0}, f"parts of {whole}")
            expect(len({stack[0] for stack in wanted}) > 1, f"{profile['name']}: but one part")


def folded(ground):
    for sort, what in (("peak", "peak_bytes"), ("total", "bytes"), ("count", "allocations"),
                       ("leak", "live_bytes")):
        text = ground.export("x.folded", "folded", "--sort", sort).read_text()
        wanted = collections.Counter()
        for site in ground.sites:
            wanted[tuple(frame["function"] for frame in reversed(site["frames"]))] += site[what]
        equal(dict(export_decode.folded(text)), {k: v for k, v in wanted.items() if v}, sort)


CLICK = """[].filter.call(document.querySelectorAll("g.b"), function (g) {
  return /^churn/.test(g.querySelector("title").textContent);
})[0].dispatchEvent(new MouseEvent("click"));
"""


def svg(ground):
    path = ground.export("x.svg", "svg", "--sort", "total")
    boxes = export_decode.svg(path.read_text())
    export_decode.check_places(boxes)
    expect(any(box.title[0] == "inlined_twice" for box in boxes), "no box of a function inlined")
    expect(any("8 calls deep" in "".join(box.title) for box in boxes), "no recursion")
    picture = ground.scratch / "x.png"
    page = ground.scratch / "x.html"  # the picture without its script, as in an <img>
    page.write_text(f'<body style="margin:0"><img src="{path}">')
    chromium(ground, f"--screenshot={picture}", "--window-size=1200,400", f"file://{page}")
    script = path.read_text().replace("]]></script>", CLICK + "]]></script>")
    (ground.scratch / "clicked.svg").write_text(script)
    page = chromium(ground, "--dump-dom", f"file://{ground.scratch / 'clicked.svg'}")
    wide = r"<title>churn\n[^<]*</title><rect class=\"\w+\" x=\"10\" width=\"1180\""
    expect(re.search(wide, page), f"a click does not make a box wide: {page[-1500:]}")
    expect(picture.read_bytes()[:4] == b"\x89PNG" and picture.stat().st_size > 5000,
           "Chromium draws nothing")


CASES = (pprof_top, pprof_shows_first_what_the_report_does, pprof_at_the_peak, pprof_raw,
         pprof_finds_names_itself, pprof_serves,
         pprof_format, firefox_profiler, speedscope, folded, svg)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--tidemark", type=pathlib.Path, default=ROOT / "build/tidemark")
    parser.add_argument("--keep", help="leave the files in this directory")
    options = parser.parse_args()
    options.tidemark = options.tidemark.resolve()
    tally = record.Tally()
    with tempfile.TemporaryDirectory(prefix="tidemark-interop-") as scratch:
        top_dir = pathlib.Path(options.keep or scratch).resolve()
        top_dir.mkdir(exist_ok=True)
        ground = Ground(options, top_dir)
        for case in CASES:
            if record.is_chosen(options, case.__name__):
                tally.run(case.__name__, lambda c=case: c(ground))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
