// SPDX-License-Identifier: Apache-2.0
//
//! With the feature `link`: where libtidemark.so is, by TIDEMARK_LIB_DIR or pkg-config.
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The directory of the library; why not.
fn library_dir() -> Result<PathBuf, String> {
    if let Some(dir) = env::var_os("TIDEMARK_LIB_DIR") {
        let dir = PathBuf::from(dir);
        return match dir.join("libtidemark.so").exists() {
            true => Ok(dir),
            false => Err(format!("TIDEMARK_LIB_DIR: no libtidemark.so in {}", dir.display())),
        };
    }
    let pkg_config = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let told = Command::new(&pkg_config)
        .args(["--libs-only-L", "tidemark"])
        .output()
        .map_err(|error| format!("{}: {error}", pkg_config.to_string_lossy()))?;
    if !told.status.success() {
        return Err(String::from_utf8_lossy(&told.stderr).trim().to_owned());
    }
    let told = String::from_utf8_lossy(&told.stdout);
    told.split_whitespace()
        .filter_map(|word| word.strip_prefix("-L"))
        .map(PathBuf::from)
        .find(|dir| dir.join("libtidemark.so").exists())
        .ok_or_else(|| format!("pkg-config names no directory with libtidemark.so: {told}"))
}

/// What cargo links from its own directories it also finds there when it runs programs and tests.
fn place_in_reach(library_dir: &Path) -> io::Result<PathBuf> {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let link = out.join("libtidemark.so");
    match fs::remove_file(&link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => symlink(fs::canonicalize(library_dir.join("libtidemark.so"))?, link)?,
    }
    Ok(out)
}

fn main() {
    for name in ["TIDEMARK_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_LINK").is_none() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    let placed = library_dir().and_then(|dir| match place_in_reach(&dir) {
        Ok(out) => Ok((dir, out)),
        Err(error) => Err(error.to_string()),
    });
    match placed {
        Ok((dir, out)) => {
            println!("cargo:rustc-link-search=native={}", out.display());
            println!("cargo:rustc-link-lib=dylib=tidemark");
            println!("cargo:lib_dir={}", dir.display()); // DEP_TIDEMARK_LIB_DIR of dependents
        }
        Err(why) => {
            eprintln!(
                "tidemark: the feature `link` needs libtidemark.so: {why}\n\
                 Install Tidemark, or set TIDEMARK_LIB_DIR to the directory of libtidemark.so."
            );
            std::process::exit(1);
        }
    }
}
