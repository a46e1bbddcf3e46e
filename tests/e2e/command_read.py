# SPDX-License-Identifier: Apache-2.0
"""Reading captures: report, info, export; whole files, cut files and files that are none."""
import json
import shutil
import subprocess

import programs
import record
import report_json
from ground import expect, test


def capture(ground):
    prog = ground.build("prog", """
#include <stdlib.h>
static void *kept[100];
__attribute__((noipa)) void big(int i) { kept[i] = malloc(10000); }
__attribute__((noipa)) void many(void) { free(malloc(8)); }
__attribute__((noipa)) void left(int i) { kept[i] = malloc(100); }
int main(void)
{
  for (int i = 0; i < 50; i++) big(i);
  for (int i = 0; i < 50; i++) free(kept[i]);
  for (int i = 0; i < 5000; i++) many();
  for (int i = 0; i < 20; i++) left(i);
  return 0;
}""")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return ground.scratch / "x.tide"


@test
def programs_by_the_name_they_are_called(ground):
    """One file may be several programs: Debian's redis-server is a link to redis-check-rdb."""
    file = ground.build("tool-of-many-names", "#include <stdlib.h>\n"
                        "int main(void) { free(malloc(1000)); return 0; }\n")
    link = ground.scratch / "one-of-them"
    link.symlink_to(file.name)
    done = ground.record("-f", "--", link)
    saved = [path.name for path in ground.tides()]
    expect(done.status == 0 and done.stderr.startswith("tidemark: one-of-them exited 0"),
           done.stderr)
    expect(len(saved) == 1 and saved[0].startswith("tidemark.one-of-them."), f"{saved}")
    image = ground.report(saved[0])["image"]
    expect(image["program"] == "one-of-them" and image["exe"] == str(file.resolve()), f"{image}")
    for words in (("report",), ("tree",)):
        text = ground.run(ground.tidemark, *words, saved[0]).stdout
        expect(text.startswith("one-of-them"), text)
    text = ground.run(ground.tidemark, "info", saved[0]).stdout
    expect(any(line.split()[:1] == ["program"] for line in text.splitlines()), text)
    # A script is its interpreter, by the name it has there.
    script = ground.scratch / "script"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    done = ground.record("-f", "-o", "y.tide", "--", script)
    expect(done.stderr.startswith("tidemark: sh exited 0"), done.stderr)


@test
def report_sorts(ground):
    tide = capture(ground)
    keys = {"peak": "peak_bytes", "live": "live_bytes", "total": "bytes", "count": "allocations",
            "temp": "temporary", "leak": "live_bytes"}
    tops = {"peak": "big", "live": "left", "total": "big", "count": "many", "temp": "many",
            "leak": "left"}
    for sort, key in keys.items():
        sites = [s for s in ground.report(tide, "--sort", sort)["sites"] if s["kind"] == "heap"]
        values = [site[key] for site in sites]
        expect(values == sorted(values, reverse=True), f"--sort {sort}: {values}")
        top = sites[0]["frames"][0]["function"]
        expect(top == tops[sort], f"--sort {sort}: {top} on top")
    expect(len(ground.report(tide, "-n", "1")["sites"]) == 1, "-n 1 shows more")
    done = ground.run(ground.tidemark, "report", "--sort", "colour", tide)
    expect(done.status not in (0, -11, -6) and "colour" in done.stderr, f"{done.stderr!r}")


@test
def report_text(ground):
    tide = capture(ground)
    done = ground.run(ground.tidemark, "report", tide)
    expect(done.status == 0 and done.stderr == "", f"status {done.status}: {done.stderr!r}")
    for word in ("peak", "big", "prog", "488.3 KiB"):
        expect(word in done.stdout, f"does not say {word!r}:\n{done.stdout}")
    expect(ground.run("sh", "-c", f'"{ground.tidemark}" report "{tide}" | head -n 1').stderr == "",
           "a reader that goes away is met with a complaint")


@test
def report_lines(ground):
    tide = capture(ground)
    frame = ground.report(tide)["sites"][0]["frames"][0]
    expect(frame["function"] == "big" and frame["line"] == 4, f"{frame}")


@test
def report_other_process(ground):
    prog = ground.build("prog", """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) void *small(void) { void *p = malloc(10); return p; }
__attribute__((noipa)) void *large(void) { void *p = malloc(100000); return p; }
int main(void) { if (!small()) return 1; if (fork() == 0) _exit(!large()); wait(0); return 0; }
""", "-fno-optimize-sibling-calls")
    ground.record("-q", "-o", "x.tide", "--", prog)
    shown = ground.report("x.tide")
    expect(len(shown["images"]) == 2 and shown["image"]["by_fork"], "not the largest is shown")
    first = next(image for image in shown["images"] if not image["by_fork"])
    for which in (first["pid"], first["index"]):
        report = ground.report("x.tide", "--process", str(which))
        expect(report["image"]["pid"] == first["pid"], f"--process {which}")
        expect(report["sites"][0]["frames"][0]["function"] == "small", "the wrong sites")
    text = ground.run(ground.tidemark, "report", "x.tide").stdout
    expect("--process" in text or str(first["pid"]) in text, "the other process is not named")
    done = ground.run(ground.tidemark, "report", "--process", "999999999", "x.tide")
    expect(done.status > 0 and "999999999" in done.stderr, f"{done.status} {done.stderr!r}")


@test
def info(ground):
    tide = capture(ground)
    done = ground.run(ground.tidemark, "info", tide)
    expect(done.status == 0 and "prog" in done.stdout, f"{done.status}: {done.stderr}")
    done = ground.run(ground.tidemark, "info", "--json", tide)
    expect(done.status == 0 and "schema" in json.loads(done.stdout), f"{done.stderr}")


@test
def export_dhat(ground):
    tide = capture(ground)
    done = ground.run(ground.tidemark, "export", "--to", "dhat", "-o", "x.json", tide)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    dhat = json.loads((ground.scratch / "x.json").read_text())
    expect(dhat["dhatFileVersion"] == 2, "version")
    expect(sum(point["tbk"] for point in dhat["pps"]) == 5070, "blocks")
    expect(sum(point["tb"] for point in dhat["pps"]) == 50 * 10000 + 5000 * 8 + 2000, "bytes")
    expect(sum(point["gb"] for point in dhat["pps"]) == 500000, "bytes at the peak")
    expect(sum(point["eb"] for point in dhat["pps"]) == 2000, "bytes at the end")
    top = max(dhat["pps"], key=lambda point: point["gb"])
    expect("big" in dhat["ftbl"][top["fs"][0]], "names")
    done = ground.run(ground.tidemark, "export", "--to", "dhat", "-o", "x.json", tide)
    expect(done.status != 0 and "x.json" in done.stderr, "overwrote x.json without being asked")


@test
def export_to_what_is_no_file(ground):
    tide = capture(ground)
    link = ground.scratch / "full"  # a way to /dev/full that may be lost
    link.symlink_to("/dev/full")
    done = ground.run(ground.tidemark, "export", "--to", "dhat", "-f", "-o", link, tide)
    expect(done.status == 1 and "full" in done.stderr, f"{done.status}: {done.stderr!r}")
    expect(link.is_symlink(), "a failed export removed what was no file of its own")


@test
def cut_files(ground):
    tide = capture(ground)
    whole = tide.read_bytes()
    expect(ground.report(tide)["capture"]["note"] is None, "a whole file with a note")
    n_read = 0
    for part in range(0, 20):
        cut = ground.scratch / f"cut-{part}.tide"
        cut.write_bytes(whole[:len(whole) * part // 20])
        done = ground.run(ground.tidemark, "report", "--json", cut)
        expect(done.status >= 0, f"cut at {part}/20: killed by signal {-done.status}")
        if done.status == 0:
            n_read += 1
            facts = json.loads(done.stdout)["capture"]
            expect(facts["note"] and not facts["complete"], f"cut at {part}/20 and no word of it")
        else:
            expect(done.stderr.startswith("tidemark:"), f"cut at {part}/20: {done.stderr!r}")
    cut.write_bytes(whole[:-1])
    facts = ground.report(cut)["capture"]
    expect(facts["note"] and not facts["complete"], "the last byte is gone and nobody noticed")


@test
def damaged_files(ground):
    tide = capture(ground)
    whole = tide.read_bytes()
    bad = ground.scratch / "bad.tide"
    for part in range(1, 40):
        at = len(whole) * part // 40
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        done = ground.run(ground.tidemark, "report", "--json", bad)
        expect(done.status >= 0, f"byte {at}: killed by signal {-done.status}")
        if done.status == 0:
            facts = json.loads(done.stdout)["capture"]
            expect(facts["note"], f"byte {at} is wrong and nobody noticed")
        else:
            expect(done.stderr.startswith("tidemark:"), f"byte {at}: {done.stderr!r}")


@test
def standard_input(ground):
    """A pipe is as good as a file, whatever comes out of it."""
    tide = capture(ground)
    folded = ground.run(ground.tidemark, "export", "--to", "folded", tide).stdout
    wanted = ground.report(tide)["totals"]
    for data, key in ((tide.read_bytes(), "allocations"), (folded.encode(), "live_bytes")):
        done = subprocess.run([ground.tidemark, "report", "--json", "-"], input=data,
                              capture_output=True, timeout=60)
        expect(done.returncode == 0, done.stderr)
        found = json.loads(done.stdout)["totals"][key]
        most = wanted["peak_bytes" if key == "live_bytes" else key]  # folded: of the peak
        expect(found == most, f"{key}: {found}, not {most}")


@test
def not_a_capture(ground):
    for name, content in (("empty", b""), ("text", b"hello\n" * 100), ("zeros", bytes(10000))):
        (ground.scratch / name).write_bytes(content)
        for words in (["report"], ["report", "--json"], ["info"], ["export", "--to", "dhat"]):
            done = ground.run(ground.tidemark, *words, name)
            expect(done.status in (1, 2), f"{words} {name}: status {done.status}")
            expect(name in done.stderr, f"{words} {name}: says {done.stderr!r}")
    done = ground.run(ground.tidemark, "report", "no-such-file.tide")
    expect(done.status in (1, 2) and "no-such-file.tide" in done.stderr, f"{done.stderr!r}")


@test
def help_and_version(ground):
    for words in (["--help"], ["help"], ["help", "run"], ["run", "--help"], ["--version"]):
        done = ground.run(ground.tidemark, *words)
        expect(done.status == 0 and done.stdout and not done.stderr, f"{words}: {done.stderr!r}")
    done = ground.run(ground.tidemark, "reprot", "x.tide")
    expect(done.status != 0 and "report" in done.stderr, f"no suggestion: {done.stderr!r}")


def blamed(ground, source, *compiler):
    """The first screen's places for a program under tests/programs, as one text."""
    if not shutil.which(compiler[0]):
        raise record.Skip(f"no {compiler[0]} here")
    built = subprocess.run([*compiler, programs.SOURCES / source, "-o", "prog"],
                           cwd=ground.scratch, capture_output=True, text=True)
    expect(built.returncode == 0, built.stderr[-200:])
    ground.record("-q", "-o", "x.tide", "--", "./prog")
    text = ground.run(ground.tidemark, "report", "--sort", "count", "x.tide").stdout
    return text.partition("top by")[2].partition("complete")[0]


@test
def blame_in_rust(ground):
    places = blamed(ground, "rust_std.rs", "rustc", "-O", "-g", "--crate-name", "shop")
    first = places.splitlines()[1]
    expect("shop::hold_boxes" in first and "rust_std.rs:" in first, f"blamed: {first}")
    for word in ("shop::make_strings", "shop::grow_vector", "shop::fill_map"):
        expect(word in places, f"{word} is not among\n{places}")
    expect("alloc::" not in places and "_R" not in places, f"the library is blamed\n{places}")


@test
def blame_in_cxx(ground):
    places = blamed(ground, "cxx_containers.cpp", "g++", "-O1", "-g")
    for word in ("fill_list", "long_strings", "fill_vector", "shared", "cxx_containers.cpp:"):
        expect(word in places, f"{word} is not among\n{places}")
    expect("operator new" not in places and "std::" not in places, f"library blamed\n{places}")


@test
def rules_of_the_user(ground):
    tide = capture(ground)
    rules = ground.scratch / "config/tidemark/rules"
    rules.parent.mkdir(parents=True)
    rules.write_text("# the wrappers\nfold function big\nfold function left\n")
    other = ground.scratch / "other"
    other.write_text("fold module prog\n")
    usual = dict(XDG_CONFIG_HOME=str(ground.scratch / "config"))

    def first(*options, **env):
        ground.env.update(env)
        done = ground.run(ground.tidemark, "report", *options, tide)
        expect(done.status == 0, f"{options}: {done.stderr!r}")
        return done.stdout.partition("top at the peak")[2].splitlines()[1]

    nowhere = dict(XDG_CONFIG_HOME=str(ground.scratch / "none"), HOME="/nonexistent")
    expect("big " in first(**nowhere), "without rules big is not to blame")
    expect("main " in first(**usual), "the usual place is not read")
    expect("big " in first("--rules", "/dev/null"), "--rules does not go before the usual place")
    expect("big " in first(TIDEMARK_RULES=str(other)), "where all is folded, the first is blamed")
    frames = ground.report(tide)["sites"][0]["frames"]
    expect([f["folded"] for f in frames if f["function"] in ("big", "main")] == [True, True],
           f"not folded: {frames}")
    rules.write_text("fold function big\n\nfold big\n")
    for verb in (["report", "--rules", rules, tide], ["run", "--rules", rules, "--", "echo", "no"]):
        done = ground.run(ground.tidemark, *verb)
        expect(done.status not in (0, -11, -6) and done.stdout == "", f"{verb}: {done.stdout!r}")
        expect(f"{rules}:3: " in done.stderr, f"{verb}: does not name the line: {done.stderr!r}")


@test
def all_frames(ground):
    tide = capture(ground)
    some = ground.run(ground.tidemark, "report", "--stacks", tide).stdout
    every = ground.run(ground.tidemark, "report", "--all-frames", tide).stdout
    expect("runtime frame" in some and "_start" not in some, f"--stacks shows too much:\n{some}")
    expect("runtime frame" not in every and "_start" in every and "main" in every,
           f"--all-frames hides some:\n{every}")
    done = ground.run(ground.tidemark, "report", "--all-frames", "--csv", tide)
    expect(done.status == 2 or done.status == 1, f"--all-frames --csv: status {done.status}")


def part_starts(data):
    """Where the parts of a .tide file begin (docs/tide-format.md)."""
    at, starts = 16, []
    while at < len(data):
        starts.append(at)
        at += 40 + int.from_bytes(data[at + 24:at + 32], "little")
    return starts


@test
def cut_files_tell_the_truth(ground):
    """Cut at every part and around it: what is told is as in the whole file, or not told."""
    prog = ground.program("for (int i = 0; i < 50; i++) free(kept[i]);\n"
                          "if (fork() == 0) { free(malloc(700)); _exit(0); }\n"
                          "usleep(100000); return 0;")
    ground.record("-q", "-o", "x.tide", "--", prog)
    whole, data = ground.report("x.tide"), (ground.scratch / "x.tide").read_bytes()
    sites = {(site["peak_bytes"], tuple(frame["address"] for frame in site["frames"])): site
             for site in whole["sites"]}
    images = {image["index"]: image for image in whole["images"]}
    starts, n_read = part_starts(data), 0
    for at in sorted({start + more for start in starts for more in (0, 39, 41)}):
        if at >= len(data):
            continue
        cut = ground.scratch / "cut.tide"
        cut.write_bytes(data[:at])
        done = ground.run(ground.tidemark, "report", "--json", "--all", "-p", "#0", cut)
        if done.status:
            expect(at <= starts[2] and "tidemark:" in done.stderr, f"{at}: {done.stderr}")
            continue
        n_read += 1
        report = report_json.loads(done.stdout)
        expect(report["totals"]["peak_bytes"] == whole["totals"]["peak_bytes"], f"{at}: the peak")
        for key, value in report["totals"].items():
            expect(value == whole["totals"][key], f"cut at {at}: {key} is {value}")
        for image in report["images"]:
            for key in ("peak_bytes", "allocations"):
                expect(image.get(key, images[image["index"]][key]) == images[image["index"]][key],
                       f"cut at {at}: {image}")
        for site in report["sites"]:
            key = site["peak_bytes"], tuple(frame["address"] for frame in site["frames"])
            expect(key in sites and all(site[name] == sites[key][name] for name in site
                                        if name not in ("frames", "culprit", "weight", "stack")),
                   f"cut at {at}: {site}")
        for words in (("report",), ("report", "--details"), ("report", "--csv"), ("info",),
                      ("info", "--json"), ("tree",), ("report", "--sort", "leak")):
            done = ground.run(ground.tidemark, *words, cut)
            text = done.stdout
            expect(done.status == 0 or str(cut) in done.stderr, f"{at} {words}: {done.stderr}")
            for lie in (" 0 allocations", "184467", "nothing was allocated",
                        "every block was freed", "complete: every event (0)",
                        "B with the recorder", ", with the recorder"):
                expect(lie not in text, f"cut at {at}, {words}: '{lie}' in\n{text}")
            expect(words[0] == "tree" or words[-1] in ("--csv", "leak") or "cut at byte" in text,
                   f"cut at {at}, {words}: no word of it in\n{text}")
    expect(n_read > 20, f"{n_read} of the cuts could be read")


@test
def temporaries_are_told_by_order(ground):
    """Within one further allocation, however long that takes: no word of time for it."""
    prog = ground.build("slow", """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  for (int i = 0; i < 3; i++) { void *p = malloc(100); usleep(100000); free(p); }
  return 0;
}""")
    ground.record("-q", "-o", "x.tide", "--", prog)
    totals = ground.report("x.tide")["totals"]
    expect(totals["temporary"] == 3, f"{totals['temporary']} temporary")
    for words in ((), ("--details",), ("--sort", "temp"), ("--sort", "temp", "--md")):
        shown = ground.run(ground.tidemark, "report", *words, "x.tide").stdout
        expect("at once" not in shown and "temporary" in shown, shown)
    shown = ground.run(ground.tidemark, "report", "--sort", "temp", "x.tide").stdout
    expect("temporary: freed within one further allocation" in shown, shown)
