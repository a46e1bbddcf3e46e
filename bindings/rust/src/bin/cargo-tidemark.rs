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
cargo's. With nextest every test is a program, and so has a budget and a capture
of its own (-o needs %p in its FILE: the process id).

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

/// What cargo is told to put before every program. nextest reads what test programs print when they
/// list their tests: verdicts go to standard error there, and this program stands before tidemark.
fn runner(tidemark: &str, options: &[String], is_nextest: bool) -> String {
    let has_budget = options.iter().any(|word| is_budget(word));
    let has_result = options.iter().any(|word| word.starts_with("--result"));
    let mut words = vec![tidemark.into(), if has_budget { "check" } else { "run" }.into()];
    if has_budget && is_nextest && !has_result {
        words.push("--result=/dev/stderr".into());
    }
    words.extend_from_slice(options);
    words.push("--".into());
    if is_nextest {
        let own = env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
        let own = own.unwrap_or_else(|| fail("the path of this program is not UTF-8"));
        words.splice(0..0, [own, AS_RUNNER.into()]);
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("target.'cfg(all())'.runner = [{}]", words.join(", "))
}

/// The first word where this program is nextest's runner: then come tidemark's and the program's.
const AS_RUNNER: &str = "--as-runner";

/// Tests are recorded. A program that only lists its tests is run as it is: it has no budget.
fn run_for_nextest(words: &[String]) -> ! {
    let program = words.iter().position(|word| word == "--").map_or(0, |at| at + 1);
    let is_list = words.get(program + 1).is_some_and(|word| word == "--list");
    let command = if is_list { &words[program..] } else { words };
    let Some((name, arguments)) = command.split_first() else {
        fail("--as-runner is for nextest alone");
    };
    let error = Command::new(name).args(arguments).exec();
    fail(&format!("{name} cannot be run: {error}"))
}

/// Options that name a file. It is meant from here, and cargo starts tests in the directory of
/// their package.
const WITH_FILE: [&str; 9] = [
    "-o",
    "--output",
    "--baseline",
    "--budget",
    "--debug-dir",
    "--push-token-file",
    "--result",
    "--rules",
    "--token-file",
];

fn from_here(file: &str) -> String {
    match env::current_dir() {
        Ok(here) if file != "-" => here.join(file).to_string_lossy().into_owned(),
        _ => file.into(),
    }
}

/// Options with a file as two words each, and that file from here.
fn with_whole_paths(options: &[String]) -> Vec<String> {
    let mut whole = Vec::new();
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let (name, file) = match word.split_once('=') {
            Some((name, file)) => (name, Some(file)),
            None if word.starts_with("-o") => (&word[..2], Some(&word[2..])),
            None => (word.as_str(), None),
        };
        if !WITH_FILE.contains(&name) {
            whole.push(word.clone());
            continue;
        }
        whole.push(name.into());
        let file = file.filter(|file| !file.is_empty());
        whole.extend(file.or_else(|| words.next().map(String::as_str)).map(from_here));
    }
    whole
}

/// The file that all tests would write, if one was asked for.
fn one_output(options: &[String]) -> Option<&str> {
    let asked = options.windows(2).find(|pair| ["-o", "--output"].contains(&pair[0].as_str()))?;
    Some(asked[1].as_str()).filter(|file| !file.contains("%p"))
}

/// Where among cargo's words. Cargo tells its own commands what it is told before them, and others
/// nothing: nextest has an option of that name itself, which may be anywhere before "--".
fn place_of_config(arguments: &[String], is_nextest: bool) -> usize {
    if !is_nextest {
        return 0;
    }
    arguments.iter().position(|word| word == "--").unwrap_or(arguments.len())
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
    if words.first().is_some_and(|word| word == AS_RUNNER) {
        run_for_nextest(&words[1..]);
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
    let options = &with_whole_paths(options);
    let tidemark = match env::var("TIDEMARK") {
        Ok(path) if path.contains('/') => from_here(&path),
        Ok(name) => name,
        Err(_) => "tidemark".into(),
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let is_nextest = arguments[0] == "nextest";
    if let (true, Some(file)) = (is_nextest, one_output(options)) {
        fail(&format!(
            "-o {file}: with nextest every test has a capture of its own; put %p into its name, \
             which stands for the process id"
        ));
    }
    let config = ["--config".into(), runner(&tidemark, options, is_nextest)];
    let (before, after) = arguments.split_at(place_of_config(arguments, is_nextest));
    let error = Command::new(&cargo).args(before).args(config).args(after).exec();
    fail(&format!("{} cannot be run: {error}", cargo.to_string_lossy()))
}
