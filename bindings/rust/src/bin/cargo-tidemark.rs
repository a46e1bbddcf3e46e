// SPDX-License-Identifier: Apache-2.0
//
//! `cargo tidemark run|test|bench|nextest`: cargo's own command, with Tidemark as the runner of
//! every program that it starts.
use std::env;
use std::os::unix::process::CommandExt;
use std::process::{exit, Command};

const USAGE: &str = "\
usage: cargo tidemark [OPTIONS] run|test|bench|nextest [ARGUMENTS]

Runs cargo's command with every program that it starts recorded by tidemark.
OPTIONS are those of 'tidemark run' (-o FILE, --sample, --serve ADDRESS, ...), or
with a budget those of 'tidemark check' (--max-peak 64MiB, --max-leaked 0,
--budget FILE, ...), which then fails the program that breaks it. ARGUMENTS are
cargo's. With nextest every test is a program, and so has a budget of its own.

  cargo tidemark run --release
  cargo tidemark --max-peak 64MiB --max-leaked 0 test
  cargo tidemark --max-allocs 10000 nextest run

TIDEMARK names another tidemark than the one in PATH.
";

fn fail(why: &str) -> ! {
    eprintln!("cargo-tidemark: {why}\nTry 'cargo tidemark --help'.");
    exit(125)
}

fn is_budget(word: &str) -> bool {
    ["--max-", "--budget", "--baseline"].iter().any(|option| word.starts_with(option))
}

/// A string of TOML.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                text.push_str(&format!("\\u{:04x}", c as u32))
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// What cargo is told to put before every program. nextest has test programs list their tests, too,
/// through the runner, and reads what they print: verdicts go to standard error there.
fn runner(tidemark: &str, options: &[String], is_nextest: bool) -> String {
    let has_budget = options.iter().any(|word| is_budget(word));
    let has_result = options.iter().any(|word| word.starts_with("--result"));
    let aside: &[&str] =
        if has_budget && is_nextest && !has_result { &["--result=/dev/stderr"] } else { &[] };
    let words: Vec<String> = [tidemark, if has_budget { "check" } else { "run" }]
        .into_iter()
        .chain(aside.iter().copied())
        .chain(options.iter().map(String::as_str))
        .chain(["--"])
        .map(quoted)
        .collect();
    format!("target.'cfg(all())'.runner = [{}]", words.join(", "))
}

fn main() {
    let mut words: Vec<String> = env::args_os()
        .skip(1)
        .map(|word| {
            word.into_string().unwrap_or_else(|word| fail(&format!("{word:?} is not UTF-8")))
        })
        .collect();
    if words.first().is_some_and(|word| word == "tidemark") {
        words.remove(0); // cargo puts it there
    }
    if words.is_empty() || words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        exit(if words.is_empty() { 125 } else { 0 });
    }
    let Some(at) =
        words.iter().position(|word| ["run", "test", "bench", "nextest"].contains(&word.as_str()))
    else {
        fail("none of run, test, bench and nextest was given");
    };
    let (options, arguments) = words.split_at(at);
    let tidemark = env::var("TIDEMARK").unwrap_or_else(|_| "tidemark".into());
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let config = runner(&tidemark, options, arguments[0] == "nextest");
    let error = Command::new(&cargo).arg("--config").arg(config).args(arguments).exec();
    fail(&format!("{} cannot be run: {error}", cargo.to_string_lossy()))
}
