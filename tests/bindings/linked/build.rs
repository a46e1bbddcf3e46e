// SPDX-License-Identifier: Apache-2.0
//
//! As the crate's README has it: the program finds the library where it was linked.
fn main() {
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", std::env::var("DEP_TIDEMARK_LIB_DIR").unwrap());
}
