# SPDX-License-Identifier: Apache-2.0
"""cargo build: every process is recorded, rustc too, which is large and loads LLVM, and what held
its memory has a name."""
import json
import shutil

import record

MAIN = """
use std::collections::BTreeMap;
fn main() {
    let words: BTreeMap<usize, String> = (0..42).map(|i| (i, i.to_string())).collect();
    println!("{}", words.len());
}
"""


def expect(condition, why):
    if not condition:
        raise record.Failure(why)


def cargo_build(stage):
    if not shutil.which("cargo"):
        raise record.Skip("no cargo here")
    crate = stage.scratch / "little"
    (crate / "src").mkdir(parents=True)
    (crate / "src/main.rs").write_text(MAIN)
    (crate / "Cargo.toml").write_text('[package]\nname = "little"\nversion = "0.1.0"\n'
                                      'edition = "2021"\n')
    done = record.run([stage.tidemark, "run", "-q", "-f", "-o", stage.tide, "--", "cargo", "build",
                       "--offline"], cwd=crate, env=stage.env, timeout=180)
    expect(done.status == 0, f"ended with {done.status}: {done.stderr[-300:]}")
    made = record.run([crate / "target/debug/little"], env=stage.env)
    expect(made.stdout == "42\n", f"what it built says {made.stdout!r}")
    done = record.run([stage.tidemark, "report", "--json", "--group", "function", stage.tide],
                      env=stage.env)
    expect(done.status == 0, done.stderr)
    found = json.loads(done.stdout)
    expect(found["image"]["program"] == "rustc", f"the largest is {found['image']['program']}")
    expect(found["totals"]["peak_bytes"] > 1 << 20, f"a peak of {found['totals']['peak_bytes']}")
    names = [group["function"] for group in found["groups"][:5]]
    expect(any("rustc" in (name or "") or "llvm" in (name or "") for name in names),
           f"nobody of rustc is among {names}")


TESTS = {"cargo_build": cargo_build}
